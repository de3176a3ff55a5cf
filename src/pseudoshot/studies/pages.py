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
from urllib.parse import quote

from pseudoshot.report.markup import section, short_name, text
from pseudoshot.studies.changes import changes
from pseudoshot.studies.claims import Finding, judge
from pseudoshot.studies.order import Order
from pseudoshot.studies.plan import Plan
from pseudoshot.studies.results import Results, read_results
from pseudoshot.studies.sections import (
    accuracy_section,
    claims_section,
    cost_section,
    difference_section,
    made_section,
    plots_section,
    quantity_section,
    wide_table,
)
from pseudoshot.studies.shelf import Shelf
from pseudoshot.studies.study import PaperFigures, Study, all_studies
from pseudoshot.studies.tables import (
    Table,
    accuracy_table,
    difference_table,
    nearest_figures,
)
from pseudoshot.studies.text_files import claims_markdown, to_csv, to_markdown
from pseudoshot.tools.console import duration, say
from pseudoshot.tools.files import write_text


@dataclass(frozen=True)
class Account:
    """What a page says of a study."""

    study: Study
    results: Results
    papers: PaperFigures | None  # that stand beside ours
    findings: tuple[Finding, ...]
    changes: tuple[str, ...]
    command: str


def write_pages(studies: Sequence[Study], plan: Plan, shelf: Shelf) -> list[Path]:
    """Those of all studies that are not skipped, and the index where there are several."""
    accounts = [
        account_of(study, plan, shelf) for study in studies if study.name not in plan.skipped
    ]
    pages = [_write_study(one, plan.order) for one in accounts]
    for one in accounts:
        if one.changes:
            say(f"{one.study.name} differs from the paper in {'; '.join(one.changes)}")
    if len(studies) == 1:
        return pages
    index = plan.order.out / "index.html"
    write_text(index, _index(studies, accounts, plan))
    write_text(plan.order.out / "claims.md", _all_claims(studies, accounts, plan))
    return [index, *pages]


def account_of(study: Study, plan: Plan, shelf: Shelf) -> Account:
    results = read_results(study, plan, shelf)
    backbone = next(
        (t.settings.backbone.name for runs in results.runs.values() for t in runs.values()),
        plan.order.network(study.backbone),
    )
    papers = nearest_figures(study, plan.order.data, backbone)
    findings = tuple(judge(claim, results, papers) for claim in study.claims)
    differs = tuple(changes(study, results, plan.order))
    return Account(study, results, papers, findings, differs, command(study, plan.order))


def command(study: Study, order: Order) -> str:
    """What repeats a study."""
    words = ["pseudoshot", "study", study.file or study.name, "--data", order.data]
    if order.test != order.data.partition(":")[0]:
        words += ["--test", order.test]
    words += ["--budget", order.budget.given, "--seeds", str(order.seeds)]
    if order.tasks != 10_000:
        words += ["--tasks", str(order.tasks)]
    if order.backbone is not None:
        words += ["--backbone", order.backbone]
    if order.data_root is not None:
        words += ["--data-root", str(order.data_root)]
    return shlex.join([*words, "--out", str(order.out)])


def _write_study(account: Account, order: Order) -> Path:
    study, results, papers = account.study, account.results, account.papers
    tables = accuracy_table(study, results, papers), difference_table(study, results, papers)
    page = order.out / f"{study.name}.html"
    order.out.mkdir(parents=True, exist_ok=True)
    write_text(page, _page(account, order, tables))
    markdown = to_markdown(
        study, results, tables, account.findings, account.changes, account.command
    )
    write_text(page.with_suffix(".md"), markdown)
    write_text(page.with_suffix(".csv"), to_csv(study, results, tables, order.budget.given))
    return page


def _page(account: Account, order: Order, tables: tuple[Table, Table]) -> str:
    study, results = account.study, account.results
    table, differences = tables
    sections = [
        claims_section(account.findings),
        accuracy_section(table, results.seeds),
        difference_section(study, differences),
        quantity_section(study, results),
        plots_section(study, results, table),
        cost_section(results),
        made_section(results, account.changes, account.command),
    ]
    spent = sum(t.cpu_seconds for runs in results.runs.values() for t in runs.values())
    facts = {"In the paper": study.where} if study.where else {}
    facts |= {
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


def _index(studies: Sequence[Study], accounts: Sequence[Account], plan: Plan) -> str:
    known = {one.study.name: one for one in accounts}
    rows = [
        f'<tr><th scope="row">{_linked_title(study, study.name in known)}</th>'
        f"<td>{text(study.where)}</td><td>{_marks(study, known, plan)}</td></tr>"
        for study in studies
    ]
    body = wide_table(("study", "in the paper", "claims"), rows)
    order = plan.order
    facts = {
        "Images": short_name(order.data),
        "Budget": str(order.budget),
        "Seeds": str(order.seeds),
        "Runs": str(len(plan.jobs)),
    }
    whole = all_studies().keys() <= {study.name for study in studies}
    which = "Every table and figure of the paper" if whole else "Studies"
    lead = f"{which}, on these images and at this budget."
    return _filled("The paper, study by study", lead, facts, [section("Studies", "", body)])


def _linked_title(study: Study, has_page: bool) -> str:
    title = text(study.title)
    return f'<a href="{quote(study.name)}.html">{title}</a>' if has_page else title


def _marks(study: Study, accounts: Mapping[str, Account], plan: Plan) -> str:
    """What was found, in one line of the index."""
    if study.name in plan.skipped:
        return f"skipped: {text(plan.skipped[study.name])}"
    findings, missing = accounts[study.name].findings, accounts[study.name].results.missing
    counts = Counter(finding.judgement for finding in findings)
    marks = [
        f'<span class="verdict {name.replace(" ", "-")}">{count} {name}</span>'
        for name, count in sorted(counts.items())
    ]
    if missing:
        marks.append(f"<small>{missing} figures missing</small>")
    return " ".join(marks)


def _all_claims(studies: Sequence[Study], accounts: Sequence[Account], plan: Plan) -> str:
    """What the paper claims, in one table per study, of those that were skipped too."""
    order = plan.order
    seeds = "one seed" if order.seeds == 1 else f"{order.seeds} seeds"
    lines = [f"# Claims on {short_name(order.data)}, {order.budget}, {seeds}", ""]
    findings = {one.study.name: one.findings for one in accounts}
    for study in studies:
        reason = plan.skipped.get(study.name)
        unknown = [Finding(c, "not measured", note=f"skipped, {reason}") for c in study.claims]
        if study.claims:
            lines += [f"## {study.title}", "", f"`{command(study, order)}`", ""]
            lines += [*claims_markdown(findings.get(study.name, unknown)), ""]
    return "\n".join(lines)
