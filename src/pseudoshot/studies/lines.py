"""Accuracy along an option that the runs of a study differ in by number, as the paper draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pseudoshot.report.markup import text
from pseudoshot.report.plots import GRAY, colour, new_plot
from pseudoshot.studies.drawing import as_figure, interval_of, legend, value_of
from pseudoshot.studies.study import Study
from pseudoshot.studies.tables import Cell, Table, heading

MANY = 8  # numbers along the axis: more are turned


def lines_along(study: Study, table: Table, from_paper: bool) -> str:
    """Ours, or the paper's: a line per shot; where runs are fine-tuned, one per start."""
    tuned = any("start" in options for options in study.runs.values())
    return (_by_start if tuned else _by_shot)(study, table, from_paper)


def _by_shot(study: Study, table: Table, from_paper: bool) -> str:
    """Dashed, the rows without the option."""
    given = {row.name: study.options(row.run).get(study.along) for row in study.rows}
    along = [line for line in table.lines if given.get(line.name) is not None]
    others = [line for line in table.lines if line.name in given and given[line.name] is None]
    plot, axes = new_plot(6.4, 3.0)
    for number, column in enumerate(table.columns):
        cells = {place: line.cells[number] for place, line in enumerate(along)}
        if _draw(axes, heading(column), cells, colour(number), from_paper):
            _dashed(axes, [line.cells[number] for line in others], colour(number), from_paper)
    if not axes.lines:
        return ""
    axes.set_ylabel("accuracy, %", color=GRAY)
    legend(plot, axes, len(table.columns))
    numbers = [f"{given[line.name]:g}" for line in along]
    return _finished(plot, axes, study, numbers, [line.name for line in others], from_paper)


def _by_start(study: Study, table: Table, from_paper: bool) -> str:
    """At the fewest shots, a start itself at 0; dashed, the runs that nothing starts from."""
    cells = {line.name: line.cells[0] for line in table.lines}
    begun: dict[str, dict[float, str]] = {}  # by start: the run of each number
    for run, options in study.runs.items():
        if {"start", study.along} <= options.keys():
            of_start = begun.setdefault(options["start"], {0: options["start"]})
            of_start[options[study.along]] = run
    numbers = sorted({number for of_start in begun.values() for number in of_start})
    plot, axes = new_plot(6.4, 3.0)
    for position, (start, of_start) in enumerate(begun.items()):
        of_line = {numbers.index(n): cells[run] for n, run in sorted(of_start.items())}
        _draw(axes, start, of_line, colour(position), from_paper)
    shown = {run for of_start in begun.values() for run in of_start.values()}
    others = [run for run in study.runs if run not in shown]
    _dashed(axes, [cells[run] for run in others], GRAY, from_paper)
    if not axes.lines:
        return ""
    axes.set_ylabel(f"accuracy, {heading(table.columns[0])}, %", color=GRAY)
    legend(plot, axes, len(begun))
    return _finished(plot, axes, study, [f"{n:g}" for n in numbers], others, from_paper)


def _draw(axes: Any, name: str, cells: Mapping[int, Cell], ink: str, from_paper: bool) -> bool:
    """A line through what there is, by place; False where there is nothing."""
    drawn = {n: v for n, cell in cells.items() if (v := value_of(cell, from_paper)) is not None}
    errors = [0.0 if from_paper else interval_of(cells[n]) for n in drawn]
    look: dict[str, Any] = {"marker": "o", "markersize": 4, "color": ink, "capsize": 3}
    if drawn:
        axes.errorbar([*drawn], [*drawn.values()], errors, label=name, **look)
    return bool(drawn)


def _dashed(axes: Any, cells: Sequence[Cell], ink: str, from_paper: bool) -> None:
    for cell in cells:
        value = value_of(cell, from_paper)
        if value is not None:
            axes.axhline(value, color=ink, linestyle="--", linewidth=1)


def _finished(
    plot: Any,
    axes: Any,
    study: Study,
    numbers: Sequence[str],
    others: Sequence[str],
    from_paper: bool,
) -> str:
    axes.set_xticks(range(len(numbers)), numbers)
    if len(numbers) > MANY:
        axes.tick_params(axis="x", labelrotation=60)
    axes.set_xlabel(study.along, color=GRAY)
    dashed = f" Dashed: {text(', '.join(others))}." if others else ""
    title = "The paper's" if from_paper else "Ours"
    return as_figure(plot, f"{title} by {study.along}", f"<strong>{title}.</strong>{dashed}")
