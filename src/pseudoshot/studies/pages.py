"""A page per study, with its tables as Markdown and CSV beside it; of several, an index as well.

Nothing is kept in them: they are drawn from the records and logs of the runs, as often as asked.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from pseudoshot.report.markup import section, short_name, text
from pseudoshot.studies.changes import changes
from pseudoshot.studies.claims import Finding, judge
from pseudoshot.studies.drawing import bars, curves, lines_along, maps
from pseudoshot.studies.order import Order
from pseudoshot.studies.plan import Plan
from pseudoshot.studies.results import Results, read_results
from pseudoshot.studies.shelf import Shelf
from pseudoshot.studies.study import Study
from pseudoshot.studies.tables import (
    Cell,
    Table,
    accuracy_table,
    claims_markdown,
    difference_table,
    heading,
    nearest_figures,
    to_csv,
    to_markdown,
    with_interval,
)
from pseudoshot.tools.console import duration
from pseudoshot.tools.files import write_text


@dataclass(frozen=True)
class Told:
    """What a page says of a study."""

    study: Study
    results: Results
    findings: tuple[Finding, ...]
    changes: tuple[str, ...]
    command: str


def write_pages(studies: Sequence[Study], plan: Plan, shelf: Shelf) -> list[Path]:
    """Those of all studies that are not skipped, and the index where there are several."""
    told = [tell(study, plan, shelf) for study in studies if study.name not in plan.skipped]
    pages = [_write_study(one, plan.order) for one in told]
    if len(studies) == 1:
        return pages
    index = plan.order.out / "index.html"
    write_text(index, _index(told, plan))
    write_text(plan.order.out / "claims.md", _all_claims(told, plan.order))
    return [index, *pages]


def tell(study: Study, plan: Plan, shelf: Shelf) -> Told:
    results = read_results(study, plan, shelf)
    findings = tuple(judge(claim, results) for claim in study.claims)
    differs = tuple(changes(study, results, plan.order))
    return Told(study, results, findings, differs, command(study.name, plan.order))


def command(name: str, order: Order) -> str:
    """What repeats a study."""
    words = ["pseudoshot", "study", name, "--data", order.data]
    if order.test != order.data.partition(":")[0]:
        words += ["--test", order.test]
    words += ["--budget", order.budget.given, "--seeds", str(order.seeds)]
    if order.tasks != 10_000:
        words += ["--tasks", str(order.tasks)]
    if order.backbone is not None:
        words += ["--backbone", order.backbone]
    return shlex.join([*words, "--out", str(order.out)])


def _write_study(told: Told, order: Order) -> Path:
    study, results = told.study, told.results
    backbone = next(
        (t.settings.backbone.name for runs in results.runs.values() for t in runs.values()),
        order.network(study.backbone),
    )
    papers = nearest_figures(study, order.data, backbone)
    table = accuracy_table(study, results, papers)
    page = order.out / f"{study.name}.html"
    order.out.mkdir(parents=True, exist_ok=True)
    write_text(page, _page(told, order, table))
    markdown = to_markdown(study, table, told.findings, told.changes, told.command)
    write_text(page.with_suffix(".md"), markdown)
    write_text(page.with_suffix(".csv"), to_csv(study, results, table))
    return page


def _page(told: Told, order: Order, table: Table) -> str:
    study, results = told.study, told.results
    differences = difference_table(study, results, table.papers)
    sections = [
        _claims_section(told.findings),
        _accuracy_section(table),
        _difference_section(study, differences),
        _plots_section(study, results, table),
        _cost_section(study, results),
        _made_section(told, table),
    ]
    spent = sum(t.cpu_seconds for runs in results.runs.values() for t in runs.values())
    facts = {
        "In the paper": study.where,
        "Images": short_name(order.data),
        "Budget": str(order.budget),
        "Seeds": str(order.seeds),
        "CPU time of these runs": duration(spent),
    }
    if results.missing:
        facts["Not there yet"] = f"{results.missing} of {len(study.rows) * order.seeds} figures"
    return _filled(study.title, text(study.asks), facts, sections)


def _filled(title: str, lead: str, facts: Mapping[str, str], sections: Sequence[str]) -> str:
    own, report = resources.files("pseudoshot.studies"), resources.files("pseudoshot.report")
    style = "\n".join((room / "page.css").read_text(encoding="utf-8") for room in (report, own))
    return Template((own / "page.html").read_text(encoding="utf-8")).substitute(
        style=style,
        title=text(title),
        lead=lead,
        facts="".join(f"<div><dt>{k}</dt><dd>{text(v)}</dd></div>" for k, v in facts.items()),
        sections="\n".join(part for part in sections if part),
    )


def _claims_section(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    lead = (
        "Each claim is a difference, taken within every seed on the same tasks; ± is its 95 % "
        "interval over seeds and tasks. <em>Held</em>: the interval lies where the paper says; "
        "<em>not held</em>: it lies on the other side; <em>undecided</em>: it does not tell at "
        "this budget, as one seed never does. Of several rows that one is compared with, the one "
        "shown is nearest to refuting the claim."
    )
    rows = "".join(_claim_row(finding) for finding in findings)
    head = _head(("the paper says", "verdict", "difference", "against"))
    return section(
        "Claims", lead, f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'
    )


def _claim_row(finding: Finding) -> str:
    style = finding.judgement.replace(" ", "-")
    note = f" <small>{text(finding.note)}</small>" if finding.note else ""
    where = f"{text(finding.claim.row)} and {text(finding.against)}" if finding.against else ""
    return (
        f'<tr><th scope="row">{text(finding.claim.says)}</th>'
        f'<td><span class="verdict {style}">{finding.judgement}</span>{note}</td>'
        f'<td class="number">{text(finding.figure)}</td><td>{where}</td></tr>'
    )


def _accuracy_section(table: Table) -> str:
    lead = "Accuracy in percent, mean over seeds and tasks ± 95 % interval."
    if table.papers is not None:
        lead += (
            f" Below ours, the paper's: {text(table.papers.data)} with "
            f"{text(table.papers.backbone)}, at its own length of training."
        )
    return section("Ours beside the paper's", lead, _table(table, signed=False))


def _difference_section(study: Study, table: Table) -> str:
    if not table.lines:
        return ""
    reference = study.reference or study.rows[0].name
    lead = (
        f"What each row has more than <em>{text(reference)}</em>, in points, by the same tasks of "
        f"every seed; below it what the paper's figures differ by. Differences can be compared "
        f"across sets and budgets where accuracies cannot."
    )
    return section("Differences", lead, _table(table, signed=True))


def _head(names: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{text(name)}</th>' for name in names)
    return f"<thead><tr>{cells}</tr></thead>"


def _table(table: Table, signed: bool) -> str:
    best = {} if signed else _best(table)
    rows = []
    for line in table.lines:
        reason = f"<small>{text(line.reason)}</small>" if line.reason else ""
        cells = "".join(
            _cell(cell, signed, best.get(number) == line.name)
            for number, cell in enumerate(line.cells)
        )
        rows.append(f'<tr><th scope="row">{text(line.name)} {reason}</th>{cells}</tr>')
    head = _head(("", *map(heading, table.columns)))
    return f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _best(table: Table) -> dict[int, str]:
    """The name of the best row of ours in each column."""
    found = {}
    for number in range(len(table.columns)):
        there = [(line.cells[number].ours, line.name) for line in table.lines]
        values = {name: ours.value for ours, name in there if ours is not None}
        if values:
            found[number] = max(values, key=values.__getitem__)
    return found


def _cell(cell: Cell, signed: bool, best: bool) -> str:
    sign = "+" if signed else ""
    ours = "" if cell.ours is None else with_interval(cell.ours, cell.over_tasks, sign)
    paper = "" if cell.paper is None else f'<span class="paper">{cell.paper:{sign}.2f}</span>'
    style = ' class="number best"' if best else ' class="number"'
    return f"<td{style}>{ours or '-'}{paper}</td>"


def _plots_section(study: Study, results: Results, table: Table) -> str:
    plots = maps(results)
    if study.along:
        plots.append(lines_along(study, table, results))
    else:
        plots += [bars(table, papers=False), bars(table, papers=True)]
    plots += curves(study, results)
    shown = "\n".join(plot for plot in plots if plot)
    if not shown:
        return ""
    lead = "Bars and lines have 95 % intervals; curves are means over seeds."
    return section("Figures", lead, f'<div class="plots">{shown}</div>')


def _cost_section(study: Study, results: Results) -> str:
    if not results.runs:
        return ""
    rows = []
    for name, by_seed in results.runs.items():
        runs = list(by_seed.values())
        step = runs[0].quantity("step_seconds")
        told = (
            f"{runs[0].steps:,}",
            "-" if step is None else f"{1000 * step:.0f} ms",
            ", ".join(f"{run.cpu_seconds:.0f}" for run in runs),
            ", ".join(run.folder.name for run in runs),
        )
        cells = "".join(f'<td class="number">{text(value)}</td>' for value in told)
        rows.append(f'<tr><th scope="row">{text(name)}</th>{cells}</tr>')
    head = _head(("run", "steps", "CPU time of a step", "CPU seconds of each seed", "run folders"))
    lead = (
        "Time of the processor, on one thread, over all resumptions; what was lost when a process "
        "was killed and was done again is counted once. Run folders lie in <code>runs/</code>; a "
        "run that several studies need is trained once."
    )
    table = f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"
    return section("Cost", lead, f'<div class="wide">{table}</div>')


def _made_section(told: Told, table: Table) -> str:
    records = told.results.records
    versions = dict(records[-1].versions) if records else {}
    differs = "".join(f"<li>{text(change)}</li>" for change in told.changes)
    body = f"<p>Differs from the paper's in:</p><ul>{differs}</ul>" if differs else ""
    if records:
        last = records[-1]
        body += (
            f"<p>Measured on {text(last.data)}: {last.way} classes, {last.query} queries of each, "
            f"{last.tasks:,} tasks of every seed, the same for all rows.</p>"
        )
    listed = ", ".join(f"{name} {value}" for name, value in versions.items())
    body += f'<p class="small">{text(listed)}</p>'
    lead = f"Repeat it: <code>{text(told.command)}</code>"
    return section("How this was made", lead, body)


def _index(told: Sequence[Told], plan: Plan) -> str:
    rows = []
    for one in told:
        counts = Counter(finding.judgement for finding in one.findings)
        marks = " ".join(
            f'<span class="verdict {name.replace(" ", "-")}">{count} {name}</span>'
            for name, count in sorted(counts.items())
        )
        missing = (
            f"<small>{one.results.missing} figures missing</small>" if one.results.missing else ""
        )
        rows.append(
            f'<tr><th scope="row"><a href="{one.study.name}.html">{text(one.study.title)}</a></th>'
            f"<td>{text(one.study.where)}</td><td>{marks} {missing}</td></tr>"
        )
    for name, reason in plan.skipped.items():
        rows.append(
            f'<tr><th scope="row">{text(name)}</th><td></td><td>skipped: {text(reason)}</td></tr>'
        )
    head = _head(("study", "in the paper", "claims"))
    body = f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
    order = plan.order
    facts = {
        "Images": short_name(order.data),
        "Budget": str(order.budget),
        "Seeds": str(order.seeds),
        "Runs": str(len(plan.jobs)),
    }
    lead = "Every table and figure of the paper, on these images and at this budget."
    return _filled("The paper, study by study", lead, facts, [section("Studies", "", body)])


def _all_claims(told: Sequence[Told], order: Order) -> str:
    """What the paper claims, in one table per study."""
    lines = [f"# Claims on {short_name(order.data)}, {order.budget}, {order.seeds} seeds", ""]
    for one in told:
        if one.findings:
            lines += [f"## {one.study.title}", "", f"`{one.command}`", ""]
            lines += [*claims_markdown(one.findings), ""]
    return "\n".join(lines)
