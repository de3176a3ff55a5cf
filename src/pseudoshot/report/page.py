"""The page: what was trained, then a section for each part that is there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from pseudoshot.data import ImageSet
from pseudoshot.embedders.embedder import load
from pseudoshot.evaluation.few_shot import Evaluation
from pseudoshot.report.curves import curves_section
from pseudoshot.report.markup import Section, sections_of, short_name, text
from pseudoshot.report.novel import Novel, task_section
from pseudoshot.report.samples import samples_section
from pseudoshot.report.scores import accuracy_sections
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.files import write_text
from pseudoshot.training.run_folder import RunFolder

_ORDER = ("views", "task", "accuracy", "curves")


def write_report(
    folder: RunFolder,
    images: ImageSet | None = None,
    evaluations: Mapping[str, Sequence[Evaluation]] = {},
    novel: Novel | None = None,
) -> Path:
    """Write `report.html` into a run folder: one page without scripts or outside resources.

    `images` are those trained on, `evaluations` what was measured, by the name of what was measured
    (several names are compared), `novel` the images that one task is drawn from. What is not given
    stays as an earlier report of the run has it, so that scoring a run adds to its page.

    >>> write_report(RunFolder(Path("runs/demo")))  # doctest: +SKIP
    PosixPath('runs/demo/report.html')
    """
    path = folder.path / "report.html"
    settings, records = folder.read_settings(), folder.read_log()
    earlier = (
        sections_of(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else []
    )
    fresh = [
        samples_section(images, settings.views) if images is not None else None,
        task_section(novel, load(folder.path).card.similarity, settings.views)
        if novel is not None
        else None,
        *accuracy_sections(evaluations),
        curves_section(records),
    ]
    if not any(part and part.kind == "accuracy" for part in [*earlier, *fresh]):
        fresh.append(_how_to_score(folder))
    write_text(path, _page(folder, settings, records, _merged(earlier, fresh)))
    return path


def _merged(earlier: Sequence[Section], fresh: Sequence[Section | None]) -> list[Section]:
    """All sections in the page's order, the fresh ones in place of those they renew."""
    by_id = {part.id: part for part in earlier if part.kind in _ORDER}
    by_id.update({part.id: part for part in fresh if part is not None})
    return sorted(by_id.values(), key=lambda part: _ORDER.index(part.kind))


def _page(
    folder: RunFolder,
    settings: RunSettings,
    records: Sequence[dict[str, Any]],
    sections: Sequence[Section],
) -> str:
    files = resources.files("pseudoshot.report")
    return Template((files / "page.html").read_text(encoding="utf-8")).substitute(
        style=(files / "page.css").read_text(encoding="utf-8"),
        title=text(short_name(settings.data.name)),
        facts=_facts(settings, records),
        settings=_settings_tables(folder, settings),
        sections="\n".join(part.html for part in sections),
    )


def _facts(settings: RunSettings, records: Sequence[dict[str, Any]]) -> str:
    last = records[-1] if records else {}
    done = min(float(last.get("epoch", 0)), settings.optimisation.epochs)
    epochs = str(settings.optimisation.epochs)
    if done < settings.optimisation.epochs:
        epochs = f"{done:.1f} of {settings.optimisation.epochs}"
    facts = {
        "Images": settings.data.name,
        "Method": settings.method.name,
        "Network": settings.backbone.name,
        "Epochs": epochs,
        "Training time": _duration(float(last.get("seconds", 0))),
    }
    return "".join(f"<div><dt>{k}</dt><dd>{text(v)}</dd></div>" for k, v in facts.items())


def _duration(seconds: float) -> str:
    """
    >>> _duration(42.4), _duration(171), _duration(7384)
    ('42 s', '2 min 51 s', '2 h 3 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _settings_tables(folder: RunFolder, settings: RunSettings) -> str:
    versions = json.loads(folder.settings_path.read_text(encoding="utf-8")).get("versions", {})
    tree = settings.model_dump()
    parts = {name: value for name, value in tree.items() if isinstance(value, dict)}
    run = {name: value for name, value in tree.items() if name not in parts}
    tables = {"run": run, **parts, "versions": versions}
    return "".join(_table(title, values) for title, values in tables.items() if values)


def _table(title: str, values: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{text(_shown(value))}</td></tr>'
        for name, value in values.items()
    )
    caption = text(title.replace("_", " ").capitalize())
    return f"<table><caption>{caption}</caption><tbody>{rows}</tbody></table>"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "default" if value is None else str(value)


def _how_to_score(folder: RunFolder) -> Section:
    """Stands where the accuracies would; not a section of the page, so never kept beside them."""
    return Section(
        "accuracy",
        '<p class="hint">How well does it recognise new classes? With a folder DATA that has one '
        "subfolder of images for each class, this adds the answer to this page: "
        f"<code>pseudoshot evaluate {text(shlex.quote(str(folder.path)))} DATA</code></p>",
    )
