"""The tables of a study: ours beside the paper's, as figures that page, Markdown and CSV show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pseudoshot.studies.results import Column, Results
from pseudoshot.studies.statistics import Estimate, over_seeds
from pseudoshot.studies.study import LINEAR, PaperFigures, Study


@dataclass(frozen=True)
class Cell:
    """One figure of ours, of the paper's, or of both."""

    ours: Estimate | None
    over_tasks: float | None  # the interval over tasks, which is all there is with one seed
    paper: float | None

    def words(self, sign: str = "") -> str:
        """Ours.

        >>> Cell(Estimate(50.0, 1.5, 3), None, None).words("+")
        '+50.00 ± 1.50'
        """
        return "" if self.ours is None else with_interval(self.ours, self.over_tasks, sign)


@dataclass(frozen=True)
class Line:
    name: str
    cells: tuple[Cell, ...]
    reason: str = ""  # why something of ours is missing
    note: str = ""  # why it cannot be compared with the others


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    papers: PaperFigures | None  # whose figures stand beside ours


def with_interval(estimate: Estimate, over_tasks: float | None = None, sign: str = "") -> str:
    value = f"{estimate.value:{sign}.2f}"
    interval = estimate.interval if math.isfinite(estimate.interval) else over_tasks
    return value if interval is None else f"{value} ± {interval:.2f}"


def heading(column: Column) -> str:
    """
    >>> heading(1), heading(20)
    ('1 shot', '20 shots')
    """
    if column == LINEAR:
        return "linear"
    return f"{column} shot" + ("" if column == 1 else "s")


def nearest_figures(study: Study, data: str, backbone: str) -> PaperFigures | None:
    """Of the sets and networks that the paper has figures of, what is most like this."""
    name = data.partition(":")[0]
    return max(study.paper, key=lambda p: (p.data == name, p.backbone == backbone), default=None)


def accuracy_table(study: Study, results: Results, papers: PaperFigures | None) -> Table:
    """A line per row of the study, and of those that the paper alone has."""
    columns: list[Column] = results.columns()
    if papers is not None:
        shots = [c for c in columns if c != LINEAR]
        columns = [*sorted({*shots, *papers.shots}, key=int), *(c for c in columns if c == LINEAR)]
    names = [row.name for row in study.rows]
    lines = [
        Line(
            name,
            _cells(name, columns, results, papers),
            results.reason(name),
            results.notes.get(name, ""),
        )
        for name in names
    ]
    others = [name for name in (papers.figures if papers else ()) if name not in names]
    missing = "no run of this study"
    lines += [Line(name, _cells(name, columns, results, papers), missing) for name in others]
    return Table(tuple(columns), tuple(lines), papers)


def _cells(
    row: str, columns: Sequence[Column], results: Results, papers: PaperFigures | None
) -> tuple[Cell, ...]:
    printed = papers.of(row) if papers else {}
    return tuple(
        Cell(results.accuracy(row, column), results.over_tasks(row, column), printed.get(column))
        for column in columns
    )


def difference_table(study: Study, results: Results, papers: PaperFigures | None) -> Table:
    """What each row has more than the reference, ours by the same tasks of every seed."""
    columns = results.columns()
    reference = study.reference_row
    before = _cells(reference, columns, results, papers)
    lines = []
    for row in study.rows:
        if row.name == reference or row.name in results.reasons:
            continue
        cells = []
        after = _cells(row.name, columns, results, papers)
        for column, first, other in zip(columns, before, after, strict=True):
            ours = results.values(row.name, "accuracy", [column])
            theirs = results.values(reference, "accuracy", [column])
            found = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
            printed = None
            if first.paper is not None and other.paper is not None:
                printed = other.paper - first.paper
            interval = results.over_tasks(row.name, column, reference)
            cells.append(Cell(over_seeds(found) if found else None, interval, printed))
        lines.append(Line(row.name, tuple(cells), note=results.notes.get(row.name, "")))
    return Table(tuple(columns), tuple(lines), papers)


QUANTITY_HEADINGS = {
    "loss": "loss",
    "pseudo_accuracy": "validation accuracy without labels, %",
    "norm_mean": "length of the embeddings",
    "gradient_norm": "length of their gradients",
    "step_seconds": "CPU seconds of a step",
}


QUANTITY_LEAD = (
    "Mean over seeds ± 95 % interval: of curves over the last fifth of the training, of a step the "
    "median over the training."
)


def quantity_table(study: Study, results: Results) -> dict[str, dict[str, Estimate | None]]:
    """By run, all that is claimed about beside accuracy."""
    names = dict.fromkeys(claim.of for claim in study.claims if claim.of != "accuracy")
    if not names:
        return {}
    return {run: {name: results.quantity(run, name) for name in names} for run in results.runs}


def in_digits(estimate: Estimate | None) -> str:
    """Of any size.

    >>> in_digits(Estimate(0.012345, 0.00123, 3)), in_digits(Estimate(12345.6, math.inf, 1))
    ('0.01235 ± 0.0012', '1.235e+04')
    """
    if estimate is None:
        return "-"
    interval = f" ± {estimate.interval:.2g}" if math.isfinite(estimate.interval) else ""
    return f"{estimate.value:.4g}{interval}"


class Cost(NamedTuple):
    """Of a run, in words."""

    run: str
    steps: str
    step: str
    cpu_seconds: str  # of each seed
    folders: str


SEVERAL_KINDS = (
    "Machines of several kinds took part: the time of a step is told as on the first, seconds are "
    "those that were spent."
)


def cost_table(results: Results) -> list[Cost]:
    rows = []
    for name, by_seed in results.runs.items():
        runs = list(by_seed.values())
        step = runs[0].quantity("step_seconds")
        rows.append(
            Cost(
                name,
                f"{runs[0].steps:,}",
                "-" if step is None else f"{1000 * step:.0f} ms",
                ", ".join(f"{run.cpu_seconds:.0f}" for run in runs),
                ", ".join(run.folder.name for run in runs),
            )
        )
    return rows
