"""Accuracies as a table of bars, one section for each protocol they were measured by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pseudoshot.classifiers import CLASSIFIERS
from pseudoshot.evaluation.few_shot import Accuracy, Evaluation
from pseudoshot.report.markup import Section, section, short_name, text


@dataclass(frozen=True)
class _Row:
    """One accuracy, of what, and at which kind of task."""

    name: str
    way: int
    result: Accuracy


def accuracy_sections(evaluations: Mapping[str, Sequence[Evaluation]]) -> list[Section]:
    """One section for all that differ in name, way and shot alone."""
    protocols: dict[Evaluation, list[_Row]] = {}
    for name, its_evaluations in evaluations.items():
        for evaluation in its_evaluations:
            protocol = replace(evaluation, way=0, results=())
            rows = protocols.setdefault(protocol, [])
            rows.extend(_Row(name, evaluation.way, result) for result in evaluation.results)
    return [_accuracy_section(protocol, rows) for protocol, rows in protocols.items() if rows]


def _accuracy_section(protocol: Evaluation, rows: list[_Row]) -> Section:
    lead = (
        "How often it is right over many random tasks. A task has some classes (its <em>way</em>) "
        f"and a few labelled examples of each (its <em>shots</em>); {_rule(protocol.classifier)} "
        "The line across a bar marks what guessing would give."
    )
    body = f"<table>{''.join(_groups(rows))}</table>{_protocol(protocol)}"
    title = f"Accuracy on {text(short_name(protocol.data))}"
    about = repr((protocol, [(row.name, row.way, row.result.shot) for row in rows]))
    return section("accuracy", title, lead, body, about)


def _rule(classifier: str) -> str:
    """What happens to an image that is to be recognised; a report may be of another version."""
    if classifier not in CLASSIFIERS:
        return "a classifier fitted to the examples names the class of every other image."
    return CLASSIFIERS[classifier].rule


def _protocol(protocol: Evaluation) -> str:
    note = f" Note: {text(protocol.note)}." if protocol.note else ""
    return (
        f'<p class="small">Each figure is the mean over {protocol.tasks:,} tasks '
        f"(seed {protocol.seed}) with {_count(protocol.query, 'image')} of each class to recognise;"
        f" ± is the half-width of its 95 % confidence interval. "
        f"Images: {text(protocol.data)}; similarity: {text(protocol.similarity)}; "
        f"classifier: {text(protocol.classifier)} ({protocol.setting}).{note}</p>"
    )


def _groups(rows: list[_Row]) -> Iterator[str]:
    """Bars to compare stand together: the names at one kind of task, or the shots of one name."""
    names = list(dict.fromkeys(row.name for row in rows))
    if len(names) == 1:
        for way in dict.fromkeys(row.way for row in rows):
            title = f"{way} classes <small>({way}-way), by labelled examples of each</small>"
            yield _group(
                title,
                {_count(row.result.shot, "example"): row for row in rows if row.way == way},
                compared=False,
            )
        return
    for way, shot in dict.fromkeys((row.way, row.result.shot) for row in rows):
        title = f"{way} classes, {_count(shot, 'example')} of each"
        yield _group(
            f"{title} <small>({way}-way, {shot}-shot)</small>",
            {row.name: row for row in rows if (row.way, row.result.shot) == (way, shot)},
            compared=True,
        )


def _group(title: str, rows: Mapping[str, _Row], compared: bool) -> str:
    best = max(row.result.accuracy for row in rows.values())
    lines = [
        _line(label, row, emphasised=not compared or row.result.accuracy == best)
        for label, row in rows.items()
    ]
    heading = f'<tr><th colspan="3" scope="rowgroup">{title}</th></tr>'
    return f"<tbody>{heading}{''.join(lines)}</tbody>"


def _line(label: str, row: _Row, emphasised: bool) -> str:
    result = row.result
    style = ' class="best"' if emphasised else ""
    bar = (
        f'<div class="bar"><i style="width:{result.accuracy:.2f}%"></i>'
        f'<b style="left:{100 / row.way:.2f}%"></b></div>'
    )
    return (
        f'<tr{style}><th scope="row">{text(label)}</th>'
        f'<td class="number">{result.accuracy:.2f} <small>± {result.interval:.2f} %</small></td>'
        f"<td>{bar}</td></tr>"
    )


def _count(number: int, thing: str) -> str:
    """
    >>> _count(1, "image"), _count(5, "image")
    ('1 image', '5 images')
    """
    return f"{number} {thing}" + ("" if number == 1 else "s")
