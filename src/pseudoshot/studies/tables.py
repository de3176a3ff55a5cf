"""The tables of a study: ours beside the paper's, as figures that page, Markdown and CSV show."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from pseudoshot.studies.claims import Finding
from pseudoshot.studies.results import Column, Results
from pseudoshot.studies.statistics import Estimate, over_seeds
from pseudoshot.studies.study import LINEAR, PaperFigures, Study


@dataclass(frozen=True)
class Cell:
    """One figure of ours, of the paper's, or of both."""

    ours: Estimate | None
    over_tasks: float | None  # the interval over tasks, which is all there is with one seed
    paper: float | None

    @property
    def told(self) -> str:
        """
        >>> Cell(Estimate(50.0, 1.5, 3), None, None).told
        '50.00 ± 1.50'
        """
        return "" if self.ours is None else with_interval(self.ours, self.over_tasks)


@dataclass(frozen=True)
class Line:
    name: str
    cells: tuple[Cell, ...]
    reason: str = ""  # why there is nothing of ours


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
        Line(name, _cells(name, columns, results, papers), results.reasons.get(name, ""))
        for name in names
    ]
    others = [name for name in (papers.figures if papers else ()) if name not in names]
    missing = "this version does not have the method"
    lines += [Line(name, _cells(name, columns, results, papers), missing) for name in others]
    return Table(tuple(columns), tuple(lines), papers)


def _cells(
    row: str, columns: Sequence[Column], results: Results, papers: PaperFigures | None
) -> tuple[Cell, ...]:
    figures = papers.figures.get(row, ()) if papers else ()
    printed = dict(zip(papers.shots if papers else (), figures, strict=False))
    return tuple(
        Cell(
            results.accuracy(row, column),
            results.over_tasks(row, column),
            printed.get(column) if isinstance(column, int) else None,
        )
        for column in columns
    )


def difference_table(study: Study, results: Results, papers: PaperFigures | None) -> Table:
    """What each row has more than the reference, ours by the same tasks of every seed."""
    columns = results.columns()
    reference = study.reference or study.rows[0].name
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
        lines.append(Line(row.name, tuple(cells)))
    return Table(tuple(columns), tuple(lines), papers)


def to_markdown(
    study: Study, table: Table, findings: Sequence[Finding], told: Sequence[str], command: str
) -> str:
    """The study on a page of text."""
    lines = [f"## {study.title}", "", f"{study.where}. {study.asks}", "", f"`{command}`", ""]
    lines += [f"- {change}" for change in told]
    beside = ""
    if table.papers is not None:
        beside = f" (in brackets the paper's: {table.papers.data}, {table.papers.backbone})"
    lines += ["", f"Accuracy in percent{beside}:", ""]
    lines += ["| |" + "".join(f" {heading(c)} |" for c in table.columns)]
    lines += ["|---|" + "---|" * len(table.columns)]
    for line in table.lines:
        cells = [_in_brackets(cell) for cell in line.cells]
        lines.append(f"| {line.name} |" + "".join(f" {cell} |" for cell in cells))
    if findings:
        lines += ["", *claims_markdown(findings)]
    return "\n".join(lines) + "\n"


def _in_brackets(cell: Cell) -> str:
    printed = "" if cell.paper is None else f"({cell.paper:.2f})"
    return f"{cell.told} {printed}".strip() or "-"


def claims_markdown(findings: Sequence[Finding]) -> list[str]:
    lines = ["| claim | verdict | difference | against |", "|---|---|---|---|"]
    for finding in findings:
        note = f" ({finding.note})" if finding.note else ""
        cells = (finding.claim.says, f"**{finding.judgement}**{note}", finding.figure)
        lines.append("| " + " | ".join((*cells, finding.against)) + " |")
    return lines


def to_csv(study: Study, results: Results, table: Table) -> str:
    """One row per figure."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = ("study", "row", "shots", "accuracy", "interval", "seeds", "paper", "steps")
    writer.writerow((*head, "cpu_seconds", "reason"))
    runs = {row.name: row.run for row in study.rows}
    for line in table.lines:
        trained = list(results.runs.get(runs.get(line.name, ""), {}).values())
        steps = trained[0].steps if trained else ""
        spent = f"{sum(t.cpu_seconds for t in trained):.1f}" if trained else ""
        for column, cell in zip(table.columns, line.cells, strict=True):
            value = interval = ""
            if cell.ours is not None:
                value = f"{cell.ours.value:.4f}"
                known = math.isfinite(cell.ours.interval)
                interval = f"{cell.ours.interval:.4f}" if known else ""
            seeds = cell.ours.seeds if cell.ours else 0
            paper = "" if cell.paper is None else f"{cell.paper:.2f}"
            figures = (value, interval, seeds, paper, steps, spent)
            writer.writerow((study.name, line.name, column, *figures, line.reason))
    return stream.getvalue()
