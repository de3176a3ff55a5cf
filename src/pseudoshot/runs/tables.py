"""Results as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pseudoshot.data import SourceInfo, SplitCount
from pseudoshot.data.cache import cache_folder
from pseudoshot.evaluation import Accuracy, Evaluation
from pseudoshot.methods import METHODS, Method, TaskSettings
from pseudoshot.settings.describe import default_text, own_fields
from pseudoshot.settings.resolve import dashed
from pseudoshot.tools.console import shown
from pseudoshot.tools.registry import PartSettings

if TYPE_CHECKING:  # scikit-learn takes seconds to import, and most tables need none of it
    from pseudoshot.runs.comparing import Comparison
    from pseudoshot.runs.kept import Cleared, Kept
    from pseudoshot.sorting.table import Sorted

_output = Console(highlight=False)
_LISTED = 20  # files that could not be read


def print_evaluation(evaluation: Evaluation) -> None:
    """One row per shot."""
    how = f"{evaluation.classifier} ({evaluation.setting}), {evaluation.reading} reading"
    title = f"{_protocol(evaluation)}, {how}"
    table = Table("examples per class", "accuracy (95 % interval)", title=title, title_style="")
    for result in evaluation.results:
        table.add_row(str(result.shot), _with_interval(result))
    _output.print(table)
    _print_pretrained(evaluation)


def _print_pretrained(evaluation: Evaluation, run: str = "") -> None:
    """A warning beside figures that labels were behind."""
    if evaluation.pretrained_labels:
        whose = f"{shown(run)}: " if run else ""
        _output.print(
            f"{whose}pre-trained with labels ({shown(evaluation.pretrained_labels)}): "
            f"not comparable with unsupervised figures",
            markup=False,
            soft_wrap=True,
        )


def _protocol(evaluation: Evaluation) -> str:
    """What the tasks were."""
    told = f"{evaluation.data}, {evaluation.way}-way, {evaluation.query} queries per class, "
    note = f", {evaluation.note}" if evaluation.note else ""
    return escape(shown(f"{told}{evaluation.tasks:,} tasks{note}"))


def _with_interval(result: Accuracy) -> str:
    return f"{result.accuracy:.2f} ± {result.interval:.2f}"


def print_comparison(title: str, rows: Mapping[str, Sequence[Evaluation]]) -> None:
    """One row per name, one column per evaluation: first shots only."""
    columns = [f"{e.way}-way {e.results[0].shot}-shot" for e in next(iter(rows.values()))]
    table = Table("", *columns, title=title, title_style="")
    for name, evaluations in rows.items():
        firsts = [evaluation.results[0] for evaluation in evaluations]
        table.add_row(name, *map(_with_interval, firsts))
    _output.print(table)


def print_compared_runs(comparison: Comparison) -> None:
    """One row per run and shot, the runs of a shot together."""
    first = comparison.runs[0].evaluation
    table = Table(
        *("shot", "run", "classifier", "accuracy", "difference to the first"),
        title=_protocol(first),
        title_style="",
        caption="± 95 % interval; *: that of the difference excludes 0",
    )
    table.columns[1].overflow = "fold"  # a name cut short may be that of another run
    for number, result in enumerate(first.results):
        table.add_section()
        for position, compared in enumerate(comparison.runs):
            evaluation = compared.evaluation
            row = [escape(shown(compared.run)), evaluation.classifier]
            row.append(_with_interval(evaluation.results[number]))
            if position:
                found = compared.differences[number]
                mark = " *" if found.excludes_zero else ""
                row.append(f"{found.difference:+.2f} ± {found.interval:.2f}{mark}")
            table.add_row("" if position else str(result.shot), *row)
    _output.print(table)
    for compared in comparison.runs:
        _print_pretrained(compared.evaluation, compared.run)


def print_sorting(result: Sorted) -> None:
    """How many images each class got, and what could not be read."""
    table = Table("class", "images", "mean confidence", title=None)
    confidences = np.array(result.confidences)
    labels = np.array(result.labels)
    for label, count in result.counts().most_common():
        mean = confidences[labels == label].mean()
        table.add_row(escape(shown(label)), f"{count:,}", f"{mean:.2f}")
    _output.print(table)
    if result.quality:
        _output.print(shown(result.quality), markup=False, soft_wrap=True)
    for reason in result.skipped[:_LISTED]:
        _output.print(f"not read: {shown(reason)}", markup=False, soft_wrap=True)
    if len(result.skipped) > _LISTED:
        _output.print(f"and {len(result.skipped) - _LISTED:,} more files were not read")


def print_kept(kept: Sequence[Kept]) -> None:
    """One row per thing that is kept."""
    table = Table("kept", "name", "of", "images", "size", "last used")
    table.columns[1].overflow = table.columns[2].overflow = "fold"  # a name is to be typed again
    for one in kept:
        images = "" if one.images is None else f"{one.images:,}"
        used = datetime.fromtimestamp(one.used).strftime("%Y-%m-%d %H:%M")
        where = one.of or str(one.path)
        row = (one.kind, one.name, where, images, _bytes(one.disk), used)
        table.add_row(*(escape(shown(cell)) for cell in row))
    _output.print(table)
    total = _bytes(sum(one.disk for one in kept))
    _output.print(shown(f"{total} in all; the cache is {cache_folder()}"), soft_wrap=True)
    _output.print("Clear it: pseudoshot cache --clear decoded, compiled, all or a name")


def print_cleared(cleared: Sequence[Cleared]) -> None:
    """What was left and why, and how much room there is now."""
    for one in cleared:
        if one.left:
            _output.print(shown(f"left: {one.kept.name} ({one.left})"), markup=False)
    gone = [one.kept for one in cleared if not one.left]
    freed = _bytes(sum(kept.disk for kept in gone))
    _output.print(f"cleared: {len(gone)} of {len(cleared)}, {freed} freed")


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"


def print_sources(sources: Sequence[SourceInfo]) -> None:
    """One row per set: here or not, how large, and what to do about a missing one."""
    table = Table("set", "splits: classes, images", "where", show_lines=True)
    for source in sources:
        here = source.place is not None
        splits = "\n".join(_split_line(count, here) for count in source.splits)
        where = f"here: {source.place}" if here else f"missing: get {source.how_to_get}"
        table.add_row(source.name, splits, where)
    _output.print(table)
    _output.print("Any folder of images will do as well: pseudoshot train FOLDER --out RUN")


def _split_line(count: SplitCount, here: bool) -> str:
    partly = here and count.present != count.classes
    classes = f"{count.present} of {count.classes}" if partly else str(count.classes)
    images = "" if count.images is None else f", {count.images:,}"
    return f"{count.split}: {classes}{images}{' published' if count.published else ''}"


def print_methods() -> None:
    """One row per method; the settings that most of them share are told once."""
    table = Table("method", "what it does", "its own settings", "in the paper", show_lines=True)
    for name, method in METHODS.items():
        own = own_fields(method.Settings, TaskSettings)
        rows = [f"{dashed(field)} {default_text(info)}".strip() for field, info in own.items()]
        table.add_row(name, _first_line(method), "\n".join(rows), method.described)
    _output.print(table)
    shared = ", ".join(map(dashed, own_fields(TaskSettings, PartSettings)))
    _output.print(f"Methods that make tasks have also: {shared}.")
    _output.print("Settings are given as --name value. One method: pseudoshot methods NAME")


def print_method(name: str) -> None:
    """Everything there is to set in one method."""
    method = METHODS[name]
    _output.print(f"{name}: {_first_line(method)}\nIn the paper: {method.described}")
    if method.defaults:
        preferred = ", ".join(f"--{dashed(key)} {value}" for key, value in method.defaults.items())
        _output.print(f"Where not given: {preferred}")
    table = Table("setting", "default", "meaning")
    for field, info in own_fields(method.Settings, PartSettings).items():
        table.add_row(f"--{dashed(field)}", default_text(info) or "-", info.description)
    _output.print(table)


def _first_line(method: type[Method]) -> str:
    return (method.__doc__ or "").splitlines()[0]
