"""The sections of a study's page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pseudoshot.report.markup import section, text
from pseudoshot.studies.claims import Finding
from pseudoshot.studies.drawing import bars, curves, maps
from pseudoshot.studies.lines import lines_along
from pseudoshot.studies.results import Results
from pseudoshot.studies.study import Study
from pseudoshot.studies.tables import (
    QUANTITY_HEADINGS,
    QUANTITY_LEAD,
    SEVERAL_KINDS,
    Cell,
    Table,
    cost_table,
    heading,
    in_digits,
    quantity_table,
)


def claims_section(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    lead = (
        "Each claim is a difference, taken within every seed, on the same tasks where nothing else "
        "is noted; ± is its 95 % interval over seeds and tasks. <em>Held</em>: the interval lies "
        "where the claim says; <em>not held</em>: it lies on the other side, where several rows or "
        "shots are compared a wider one for all of them; <em>undecided</em>: it does not tell at "
        "this budget, as one seed never does. Of several rows that one is compared with, and of "
        "every number of shots, the one shown is nearest to refuting the claim. The paper's "
        "difference is of the same shots, as far as it has them."
    )
    rows = [_claim_row(finding) for finding in findings]
    names = ("claim", "verdict", "difference", "paper's", "judged by", "between")
    return section("Claims", lead, wide_table(names, rows))


def _claim_row(finding: Finding) -> str:
    style = finding.judgement.replace(" ", "-")
    note = f" <small>{text(finding.note)}</small>" if finding.note else ""
    return (
        f'<tr><th scope="row">{text(finding.claim.says)}</th>'
        f'<td><span class="verdict {style}">{finding.judgement}</span>{note}</td>'
        f'<td class="number">{text(finding.figure)}</td>'
        f'<td class="number">{finding.papers_figure}</td>'
        f"<td>{text(finding.judged)}</td><td>{text(finding.between)}</td></tr>"
    )


def accuracy_section(table: Table, seeds: int) -> str:
    lead = "Accuracy in percent, mean over seeds and tasks ± 95 % interval over both."
    if seeds == 1:
        lead = (
            "Accuracy in percent, mean over tasks ± 95 % interval. Another seed of the training "
            "may well lie outside."
        )
    if table.papers is not None:
        lead += (
            f" Below ours, the paper's: {text(table.papers.data)} with "
            f"{text(table.papers.backbone)}, at its own length of training."
        )
    title = "Ours beside the paper's" if table.papers else "Accuracy"
    return section(title, lead, _table(table, signed=False))


def difference_section(study: Study, table: Table) -> str:
    if not table.lines:
        return ""
    lead = (
        f"What each row has more than <em>{text(study.reference_row)}</em>, in points, by the same "
        f"tasks of every seed where the protocol is the same."
    )
    if table.papers is not None:
        lead += (
            " Below ours, what the paper's figures differ by: differences can be compared across "
            "sets and budgets where accuracies cannot."
        )
    return section("Differences", lead, _table(table, signed=True))


def quantity_section(study: Study, results: Results) -> str:
    table = quantity_table(study, results)
    if not table:
        return ""
    names = [QUANTITY_HEADINGS[name] for name in next(iter(table.values()))]
    rows = [_number_row(run, map(in_digits, of_run.values())) for run, of_run in table.items()]
    return section("Beside accuracy", QUANTITY_LEAD, wide_table(("", *names), rows))


def _number_row(name: str, values: Iterable[str]) -> str:
    cells = "".join(f'<td class="number">{text(value)}</td>' for value in values)
    return f'<tr><th scope="row">{text(name)}</th>{cells}</tr>'


def wide_table(names: Sequence[str], rows: Sequence[str]) -> str:
    """Columns of these names over rows of HTML; scrolled where a screen is narrow."""
    cells = "".join(f'<th scope="col">{text(name)}</th>' for name in names)
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _table(table: Table, signed: bool) -> str:
    best = {} if signed else _best(table)
    rows = []
    for line in table.lines:
        remarks = ", ".join(word for word in (line.note, line.reason) if word)
        small = f"<small>{text(remarks)}</small>" if remarks else ""
        cells = "".join(
            _cell(cell, signed, best.get(number) == line.name)
            for number, cell in enumerate(line.cells)
        )
        rows.append(f'<tr><th scope="row">{text(line.name)} {small}</th>{cells}</tr>')
    return wide_table(("", *map(heading, table.columns)), rows)


def _best(table: Table) -> dict[int, str]:
    """The name of the best row of ours in each column, of those that compare."""
    found = {}
    for number in range(len(table.columns)):
        there = [(line.cells[number].ours, line.name) for line in table.lines if not line.note]
        values = {name: ours.value for ours, name in there if ours is not None}
        if values:
            found[number] = max(values, key=values.__getitem__)
    return found


def _cell(cell: Cell, signed: bool, best: bool) -> str:
    sign = "+" if signed else ""
    paper = "" if cell.paper is None else f'<span class="paper">{cell.paper:{sign}.2f}</span>'
    style = ' class="number best"' if best else ' class="number"'
    return f"<td{style}>{cell.words(sign) or '-'}{paper}</td>"


def plots_section(study: Study, results: Results, table: Table) -> str:
    mapped = any(evaluation.get("tsne") for evaluation in study.evaluations.values())
    plots = maps(results) if mapped else []
    for from_paper in (False, True):
        drawn = lines_along(study, table, from_paper) if study.along else bars(table, from_paper)
        plots.append(drawn)
    plots += curves(study, results)
    shown = "\n".join(plot for plot in plots if plot)
    if not shown:
        return ""
    lead = "Bars, dots and lines have 95 % intervals; curves are means over seeds."
    if mapped:
        lead += (
            " On maps, circles are images of classes that were trained on, crosses of new ones; a "
            "colour is a class, a star its centre."
        )
    return section("Figures", lead, f'<div class="plots">{shown}</div>')


def cost_section(results: Results) -> str:
    if not results.runs:
        return ""
    rows = [_number_row(name, values) for name, *values in cost_table(results)]
    names = ("run", "steps", "CPU time of a step", "CPU seconds of each seed", "run folders")
    lead = (
        "Time of the processor, on one thread, over all resumptions; what was lost when a process "
        "was killed and was done again is counted once. Run folders lie in <code>runs/</code>; a "
        "run that several studies need is trained once."
    )
    lead += f" {SEVERAL_KINDS}" if results.of_several_kinds else ""
    return section("Cost", lead, wide_table(names, rows))


def made_section(results: Results, changes: Sequence[str], command: str) -> str:
    body = f"<p>Differs from the paper's in:</p>{_list(changes)}" if changes else ""
    if results.records:
        body += (
            "<p>Measured on, every seed with tasks of its own, which all rows of a protocol share:"
            f'</p>{_list(results.measured_on)}<p class="small">{text(results.versions)}</p>'
        )
    lead = f"Repeat it: <code>{text(command)}</code>"
    return section("How this was made", lead, body)


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>"
