"""The tables of a study as Markdown and CSV, to be pasted and computed with."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence

from pseudoshot.studies.claims import Finding
from pseudoshot.studies.results import Results
from pseudoshot.studies.statistics import Estimate
from pseudoshot.studies.study import Study
from pseudoshot.studies.tables import (
    QUANTITY_HEADINGS,
    QUANTITY_LEAD,
    SEVERAL_KINDS,
    Cell,
    Cost,
    Line,
    Table,
    cost_table,
    heading,
    in_digits,
    quantity_table,
)

# of every CSV file, in this order; those of each seed and of other quantities come after them
COLUMNS = (
    *("study", "row", "shots", "accuracy", "interval", "seeds", "paper"),
    *("difference", "difference_interval", "steps", "cpu_seconds", "note", "reason"),
    *("data", "backbone", "budget", "measured_on", "way", "query", "tasks"),
)


def to_markdown(
    study: Study,
    results: Results,
    tables: tuple[Table, Table],
    findings: Sequence[Finding],
    changes: Sequence[str],
    command: str,
) -> str:
    """The study on a page of text: its accuracies and differences, claims, and what it cost."""
    about = ". ".join(words for words in (study.where, study.asks) if words)
    lines = [f"## {study.title}", "", about, "", f"`{command}`", ""]
    lines += [f"- {change}" for change in changes]
    table, differences = tables
    beside = ""
    if table.papers is not None:
        beside = f" (in brackets the paper's: {table.papers.data}, {table.papers.backbone})"
    lines += ["", f"Accuracy in percent{beside}:", "", *_markdown(table)]
    if gaps := [f"- {line.name}: {line.reason}" for line in table.lines if line.reason]:
        lines += ["", "What is missing:", "", *gaps]
    if differences.lines:
        lines += ["", f"What each has more than {study.reference_row}, in points:", ""]
        lines += _markdown(differences, sign="+")
    if findings:
        lines += ["", *claims_markdown(findings)]
    if quantities := quantity_table(study, results):
        lines += ["", QUANTITY_LEAD, "", *_quantity_markdown(quantities)]
    if results.runs:
        lines += ["", "What each run cost, on one thread:", "", *_cost_markdown(results)]
        if results.of_several_kinds:
            lines += ["", SEVERAL_KINDS]
    if results.records:
        lines += ["", f"Measured with {results.versions} on:", ""]
        lines += [f"- {protocol}" for protocol in results.measured_on]
    return "\n".join(lines) + "\n"


def _markdown(table: Table, sign: str = "") -> list[str]:
    rows = [
        (_name(line), *(_in_brackets(cell, sign) for cell in line.cells)) for line in table.lines
    ]
    return _rows(("", *map(heading, table.columns)), rows)


def _rows(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of Markdown."""
    cells = [[f" {cell}".replace("|", "\\|").rstrip() for cell in row] for row in (names, *rows)]
    first, *others = ["|" + "".join(f"{cell} |" for cell in row) for row in cells]
    return [first, "|---" * len(names) + "|", *others]


def _name(line: Line) -> str:
    return f"{line.name} ({line.note})" if line.note else line.name


def _in_brackets(cell: Cell, sign: str) -> str:
    printed = "" if cell.paper is None else f"({cell.paper:{sign}.2f})"
    return f"{cell.words(sign)} {printed}".strip() or "-"


def claims_markdown(findings: Sequence[Finding]) -> list[str]:
    names = ("claim", "verdict", "difference", "paper's", "judged by", "between")
    rows = []
    for finding in findings:
        note = f": {finding.note}" if finding.note else ""
        verdict = f"**{finding.judgement}**{note}"
        figures = (finding.figure, finding.papers_figure, finding.judged)
        rows.append((finding.claim.says, verdict, *figures, finding.between))
    return _rows(names, rows)


def _quantity_markdown(quantities: Mapping[str, Mapping[str, Estimate | None]]) -> list[str]:
    names = [QUANTITY_HEADINGS[name] for name in next(iter(quantities.values()))]
    rows = [(run, *map(in_digits, of_run.values())) for run, of_run in quantities.items()]
    return _rows(("", *names), rows)


def _cost_markdown(results: Results) -> list[str]:
    names = ("run", "steps", "CPU time of a step", "CPU seconds of each seed")
    return _rows(names, [cost[: Cost._fields.index("folders")] for cost in cost_table(results)])


def to_csv(study: Study, results: Results, tables: tuple[Table, Table], budget: str) -> str:
    """One row per figure, with what it has more than the reference, what each seed gave, and what
    it was measured on."""
    differences = {
        (line.name, column): cell
        for line in tables[1].lines
        for column, cell in zip(tables[1].columns, line.cells, strict=True)
    }
    rows = []
    for line in tables[0].lines:
        of_row = _of_run(study, results, line.name)
        of_row |= {"study": study.name, "row": line.name, "budget": budget}
        of_row |= {"note": line.note, "reason": line.reason}
        for column, cell in zip(tables[0].columns, line.cells, strict=True):
            value, interval = _figures(cell)
            more, more_interval = _figures(differences.get((line.name, column)))
            of_cell = {"shots": column, "accuracy": value, "interval": interval}
            of_cell |= {"difference": more, "difference_interval": more_interval}
            of_cell["seeds"] = cell.ours.seeds if cell.ours else 0
            of_cell["paper"] = "" if cell.paper is None else f"{cell.paper:.2f}"
            by_seed = results.accuracies.get((line.name, column), {})
            of_seeds = {f"seed_{seed}": f"{found:.4f}" for seed, found in by_seed.items()}
            rows.append({**of_row, **of_cell, **of_seeds})
    names = dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)])
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(names), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _of_run(study: Study, results: Results, row: str) -> dict[str, object]:
    """What all figures of a row share: its run, the tasks, and what the run gave besides."""
    run = next((r.run for r in study.rows if r.name == row), "")
    trained = list(results.runs.get(run, {}).values())
    found: dict[str, object] = {}
    if trained:
        spent = sum(one.cpu_seconds for one in trained)
        found |= {"data": results.data, "backbone": trained[0].settings.backbone.name}
        found |= {"steps": trained[0].steps, "cpu_seconds": f"{spent:.1f}"}
    if row in results.protocols:
        protocol = results.protocols[row]
        found |= {"measured_on": protocol.data, "way": protocol.way}
        found |= {"query": protocol.query, "tasks": protocol.tasks}
    for name, estimate in quantity_table(study, results).get(run, {}).items():
        if estimate is not None:
            known = math.isfinite(estimate.interval)
            found[name] = f"{estimate.value:.6g}"
            found[f"{name}_interval"] = f"{estimate.interval:.6g}" if known else ""
    return found


def _figures(cell: Cell | None) -> tuple[str, str]:
    """A value and its interval; with one seed, over tasks."""
    if cell is None or cell.ours is None:
        return "", ""
    interval = cell.ours.interval if math.isfinite(cell.ours.interval) else cell.over_tasks
    return f"{cell.ours.value:.4f}", "" if interval is None else f"{interval:.4f}"
