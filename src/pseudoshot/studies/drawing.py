"""Bars and curves of a study, as the paper draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pseudoshot.report.curves import CURVES
from pseudoshot.report.markup import figure, image, text
from pseudoshot.report.pictures import data_uri
from pseudoshot.report.plots import GRAY, as_svg, colour, new_plot
from pseudoshot.runs.mapping import MAP
from pseudoshot.studies.results import Results
from pseudoshot.studies.study import Study
from pseudoshot.studies.tables import Cell, Line, Table, heading

_Numbers: TypeAlias = npt.NDArray[np.float64]
_POINTS = 100  # of a curve
_MOST_BARS = 12  # side by side; more rows are drawn one below the other


def bars(table: Table, from_paper: bool) -> str:
    """Accuracies of all rows, by shot; ours, or the paper's."""
    lines = [
        line
        for line in table.lines
        if any(value_of(cell, from_paper) is not None for cell in line.cells)
    ]
    shown = [
        number
        for number in range(len(table.columns))
        if any(value_of(line.cells[number], from_paper) is not None for line in lines)
    ]
    if not shown:
        return ""
    if len(table.lines) > _MOST_BARS:
        return _dots(table, lines, shown, from_paper)
    plot, axes = new_plot(6.4, 3.0)
    width = 0.84 / len(lines)
    for position, line in enumerate(lines):
        _bar_row(axes, line, shown, position, width, len(lines), from_paper)
    cells = [line.cells[n] for line in lines for n in shown]
    ends = [_ends(cell, from_paper) for cell in cells if value_of(cell, from_paper) is not None]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    room = max(1.0, high - low)
    axes.set_ylim(max(0, low - 0.25 * room), min(100, high + 0.05 * room))
    axes.set_xticks(range(len(shown)), [heading(table.columns[n]) for n in shown])
    axes.set_ylabel("accuracy, %", color=GRAY)
    legend(plot, axes, len(lines))
    title = "The paper's" if from_paper else "Ours"
    caption = f"<strong>{title}.</strong> The axis does not begin at 0."
    return as_figure(plot, f"{title}: accuracy by shot", caption)


def _bar_row(
    axes: Any,
    line: Line,
    shown: Sequence[int],
    position: int,
    width: float,
    of: int,
    from_paper: bool,
) -> None:
    places, heights, errors = [], [], []
    for place, number in enumerate(shown):
        cell = line.cells[number]
        value = value_of(cell, from_paper)
        if value is not None:
            places.append(place + (position - (of - 1) / 2) * width)
            heights.append(value)
            errors.append(0.0 if from_paper else interval_of(cell))
    axes.bar(
        places,
        heights,
        0.92 * width,
        yerr=None if from_paper else errors,
        color=colour(position),
        label=line.name,
        alpha=0.6 if from_paper else 1,
        error_kw={"elinewidth": 1, "ecolor": "#333"},
    )


def _dots(table: Table, lines: Sequence[Line], shown: Sequence[int], from_paper: bool) -> str:
    """A row each, and in it a dot per shot."""
    plot, axes = new_plot(6.4, 0.6 + 0.21 * len(lines))
    for position, number in enumerate(shown):
        cells = {place: line.cells[number] for place, line in enumerate(lines)}
        drawn = {n: v for n, cell in cells.items() if (v := value_of(cell, from_paper)) is not None}
        errors = None if from_paper else [interval_of(cells[n]) for n in drawn]
        look: dict[str, Any] = {"fmt": "o", "markersize": 4, "elinewidth": 1}
        look |= {"color": colour(position), "label": heading(table.columns[number])}
        axes.errorbar([*drawn.values()], [*drawn], xerr=errors, **look)
    axes.set_yticks(range(len(lines)), [line.name for line in lines], fontsize=8)
    axes.invert_yaxis()
    left, right = axes.get_xlim()
    axes.set_xlim(max(0, left), min(101, right))  # intervals of few seeds go beyond
    axes.set_xlabel("accuracy, %", color=GRAY)
    legend(plot, axes, len(shown))
    title = "The paper's" if from_paper else "Ours"
    return as_figure(plot, f"{title}: accuracy by shot", f"<strong>{title}.</strong>")


def curves(study: Study, results: Results) -> list[str]:
    """Of every run, the mean over its seeds, along the training."""
    return [drawn for key in study.curves if (drawn := _curve(key, results))]


def _curve(key: str, results: Results) -> str:
    curve = next(curve for curve in CURVES if curve.key == key)
    plot, axes = new_plot(6.4, 3.0)
    for position, (name, by_seed) in enumerate(results.runs.items()):
        logs = [trained.log for trained in by_seed.values()]
        steps, mean = _mean_curve(logs, key)
        if not len(steps):
            continue
        axes.plot(steps, mean, color=colour(position), linewidth=1.6, label=name)
        around, deviation = _mean_curve(logs, curve.band)
        if len(around):
            deviation = np.interp(steps, around, deviation)
            low, high = mean - deviation, mean + deviation
            axes.fill_between(steps, low, high, color=colour(position), alpha=0.15, linewidth=0)
    if not axes.lines:
        return ""
    if key in ("norm_mean", "gradient_norm"):
        axes.set_yscale("log")
    axes.set_xlabel("steps", color=GRAY)
    axes.set_ylabel(curve.axis, color=GRAY)
    legend(plot, axes, len(results.runs))
    return as_figure(plot, curve.title, f"<strong>{curve.title}.</strong> {curve.meaning}")


def _mean_curve(logs: Sequence[Sequence[dict[str, Any]]], key: str) -> tuple[_Numbers, _Numbers]:
    """Steps, and the mean over seeds there; nothing where no log has it."""
    points = [found for log in logs if len(found := _points(log, key))]
    if not points:
        return np.empty(0), np.empty(0)
    end = min(float(p[-1, 0]) for p in points)
    steps = np.linspace(max(float(p[0, 0]) for p in points), end, _POINTS)
    return steps, np.mean([np.interp(steps, p[:, 0], p[:, 1]) for p in points], 0)


def maps(results: Results) -> list[str]:
    """The t-SNE pictures that the runs of seed 0 have."""
    found = []
    for name, by_seed in results.runs.items():
        path = by_seed[0].folder / "report" / MAP if 0 in by_seed else None
        if path is not None and path.is_file():
            uri = data_uri("image/svg+xml", path.read_bytes())
            found.append(
                figure(image(uri, f"t-SNE of {name}"), f"<strong>{text(name)}</strong>", "plot")
            )
    return found


def _points(log: Sequence[dict[str, Any]], key: str) -> _Numbers:
    rows = [(r["step"], r[key]) for r in log if isinstance(r.get(key), int | float)]
    return np.array([row for row in rows if math.isfinite(row[1])], float).reshape(-1, 2)


def value_of(cell: Cell, from_paper: bool) -> float | None:
    if from_paper:
        return cell.paper
    return None if cell.ours is None else cell.ours.value


def _ends(cell: Cell, from_paper: bool) -> tuple[float, float]:
    """Of what is drawn."""
    value, interval = value_of(cell, from_paper) or 0.0, 0.0 if from_paper else interval_of(cell)
    return value - interval, value + interval


def interval_of(cell: Cell) -> float:
    assert cell.ours is not None
    known = cell.ours.interval if math.isfinite(cell.ours.interval) else cell.over_tasks
    return known or 0.0


def legend(plot: Any, axes: Any, entries: int) -> None:
    if entries > 1:
        columns = 1 if entries <= 12 else 2
        plot.legend(
            *axes.get_legend_handles_labels(),
            loc="outside right upper",
            fontsize=8 if entries <= 12 else 6,
            frameon=False,
            ncols=columns,
        )


def as_figure(plot: Any, alt: str, caption: str) -> str:
    return figure(image(data_uri("image/svg+xml", as_svg(plot)), alt), caption, "plot")
