"""The tables of a study as Markdown and CSV, which can be pasted and reckoned with."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence

from pseudoshot.studies.claims import Finding
from pseudoshot.studies.results import Results
from pseudoshot.studies.statistics import Estimate
from pseudoshot.studies.study import Study
from pseudoshot.studies.tables import (
    QUANTITY_HEADINGS,
    QUANTITY_LEAD,
    Cell,
    Cost,
    Line,
    Table,
    cost_table,
    heading,
    in_digits,
    quantity_table,
)


def to_markdown(
    study: Study,
    results: Results,
    tables: tuple[Table, Table],
    findings: Sequence[Finding],
    told: Sequence[str],
    command: str,
) -> str:
    """The study on a page of text: its accuracies and differences, claims, and what it cost."""
    lines = [f"## {study.title}", "", f"{study.where}. {study.asks}", "", f"`{command}`", ""]
    lines += [f"- {change}" for change in told]
    table, differences = tables
    beside = ""
    if table.papers is not None:
        beside = f" (in brackets the paper's: {table.papers.data}, {table.papers.backbone})"
    lines += ["", f"Accuracy in percent{beside}:", "", *_markdown(table)]
    if differences.lines:
        reference = study.reference or study.rows[0].name
        lines += ["", f"What each has more than {reference}, in points:", ""]
        lines += _markdown(differences, sign="+")
    if findings:
        lines += ["", *claims_markdown(findings)]
    if quantities := quantity_table(study, results):
        lines += ["", QUANTITY_LEAD, "", *_quantity_markdown(quantities)]
    if results.runs:
        lines += ["", "What each run cost, on one thread:", "", *_cost_markdown(results)]
    return "\n".join(lines) + "\n"


def _markdown(table: Table, sign: str = "") -> list[str]:
    lines = ["| |" + "".join(f" {heading(c)} |" for c in table.columns)]
    lines += ["|---|" + "---|" * len(table.columns)]
    for line in table.lines:
        cells = [_in_brackets(cell, sign) for cell in line.cells]
        lines.append(f"| {_name(line)} |" + "".join(f" {cell} |" for cell in cells))
    return lines


def _name(line: Line) -> str:
    return f"{line.name} ({line.note})" if line.note else line.name


def _in_brackets(cell: Cell, sign: str) -> str:
    printed = "" if cell.paper is None else f"({cell.paper:{sign}.2f})"
    return f"{cell.words(sign)} {printed}".strip() or "-"


def claims_markdown(findings: Sequence[Finding]) -> list[str]:
    names = ("claim", "verdict", "difference", "paper's", "judged by", "between")
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for finding in findings:
        note = f": {finding.note}" if finding.note else ""
        verdict = f"**{finding.judgement}**{note}"
        figures = (finding.figure, finding.papers_figure, finding.judged)
        cells = (finding.claim.says, verdict, *figures, finding.between)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _quantity_markdown(quantities: Mapping[str, Mapping[str, Estimate | None]]) -> list[str]:
    names = [QUANTITY_HEADINGS[name] for name in next(iter(quantities.values()))]
    rows = [(run, *map(in_digits, of_run.values())) for run, of_run in quantities.items()]
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    return [*lines, *("| " + " | ".join(cells) + " |" for cells in rows)]


def _cost_markdown(results: Results) -> list[str]:
    lines = ["| run | steps | CPU time of a step | CPU seconds of each seed |", "|---|---|---|---|"]
    shown = [cost[: Cost._fields.index("folders")] for cost in cost_table(results)]
    return [*lines, *("| " + " | ".join(cells) + " |" for cells in shown)]


def to_csv(study: Study, results: Results, tables: tuple[Table, Table]) -> str:
    """One row per figure, with what it has more than the reference."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = ("study", "row", "shots", "accuracy", "interval", "seeds", "paper")
    tail = ("difference", "difference_interval", "steps", "cpu_seconds", "note", "reason")
    writer.writerow((*head, *tail))
    runs = {row.name: row.run for row in study.rows}
    differences = {
        (line.name, column): cell
        for line in tables[1].lines
        for column, cell in zip(tables[1].columns, line.cells, strict=True)
    }
    for line in tables[0].lines:
        trained = list(results.runs.get(runs.get(line.name, ""), {}).values())
        steps = trained[0].steps if trained else ""
        spent = f"{sum(t.cpu_seconds for t in trained):.1f}" if trained else ""
        for column, cell in zip(tables[0].columns, line.cells, strict=True):
            seeds = cell.ours.seeds if cell.ours else 0
            paper = "" if cell.paper is None else f"{cell.paper:.2f}"
            more = _figures(differences.get((line.name, column)))
            figures = (*_figures(cell), seeds, paper, *more, steps, spent)
            writer.writerow((study.name, line.name, column, *figures, line.note, line.reason))
    return stream.getvalue()


def _figures(cell: Cell | None) -> tuple[str, str]:
    """A value and its interval; with one seed, over tasks."""
    if cell is None or cell.ours is None:
        return "", ""
    interval = cell.ours.interval if math.isfinite(cell.ours.interval) else cell.over_tasks
    return f"{cell.ours.value:.4f}", "" if interval is None else f"{interval:.4f}"
