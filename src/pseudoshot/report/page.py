"""The page: what was trained, then a section for each part that is there.

Figures are drawn from what the run folder keeps: its log and the records of its evaluations.
Pictures need images that may not be at hand later, so each of their sections is kept as a file in
the folder `report`, from which any later page takes it.
"""

from __future__ import annotations

import json
import shlex
import zlib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from pseudoshot.data import ImageSet
from pseudoshot.evaluation.records import read_records
from pseudoshot.report.adapting import adapting_section
from pseudoshot.report.curves import curves_section
from pseudoshot.report.markup import short_name, text
from pseudoshot.report.novel import Novel, task_section
from pseudoshot.report.samples import samples_section
from pseudoshot.report.scores import accuracy_sections
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.console import console
from pseudoshot.tools.files import write_text
from pseudoshot.training.run_folder import RunFolder


def write_report(
    folder: RunFolder, images: ImageSet | None = None, novel: Novel | None = None
) -> Path:
    """Write `report.html` into a run folder: one page without scripts or outside resources.

    `images` are those trained on, `novel` the images that one task is drawn from. Pictures of what
    is not given stay as they were.

    >>> write_report(RunFolder(Path("runs/demo")))  # doctest: +SKIP
    PosixPath('runs/demo/report.html')
    """
    path, fragments = folder.path / "report.html", folder.path / "report"
    settings, log = folder.read_settings(), folder.read_log()
    if not fragments.is_dir():
        _keep_earlier(path)
        fragments.mkdir()
    if images is not None:
        section = samples_section(images, settings.views)
        _keep(fragments / "views.html", section)
    if novel is not None:
        name = novel.images.name.encode(errors="surrogatepass")
        section = task_section(novel, settings.method.test_similarity, settings.views)
        _keep(fragments / f"task-{zlib.crc32(name):08x}.html", section)
    names = ("views.html", "task-*.html", "t-sne.html")
    pictures = [part for name in names for part in sorted(fragments.glob(name))]
    sections = [
        *(part.read_text(encoding="utf-8", errors="replace") for part in pictures),
        adapting_section(folder.read_verdict()),
        *(accuracy_sections(read_records(folder.path)) or [_how_to_score(folder)]),
        curves_section(log),
    ]
    write_text(path, _page(folder, settings, log, sections))
    return path


def _keep(fragment: Path, section: str) -> None:
    if section:
        write_text(fragment, section)


def _keep_earlier(path: Path) -> None:
    """A page without fragments is of a version that kept accuracies nowhere else."""
    earlier = path.with_name("report-earlier.html")
    if path.is_file() and not earlier.exists():
        path.replace(earlier)
        console.print(f"the report so far is kept as {earlier}", markup=False, soft_wrap=True)


def _page(
    folder: RunFolder,
    settings: RunSettings,
    log: Sequence[dict[str, Any]],
    sections: Sequence[str],
) -> str:
    files = resources.files("pseudoshot.report")
    return Template((files / "page.html").read_text(encoding="utf-8")).substitute(
        style=(files / "page.css").read_text(encoding="utf-8"),
        title=text(short_name(settings.data.name)),
        facts=_facts(settings, log),
        settings=_settings_tables(folder, settings),
        sections="\n".join(sections),
    )


def _facts(settings: RunSettings, log: Sequence[dict[str, Any]]) -> str:
    last = log[-1] if log else {}
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


def _how_to_score(folder: RunFolder) -> str:
    """Stands where the accuracies would."""
    return (
        '<p class="hint">How well does it recognise new classes? With a folder DATA that has one '
        "subfolder of images for each class, this adds the answer to this page: "
        f"<code>pseudoshot evaluate {text(shlex.quote(str(folder.path)))} DATA</code></p>"
    )
