"""Accuracies as a table of bars, one section for each protocol they were measured by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pseudoshot.classifiers import CLASSIFIERS
from pseudoshot.evaluation.few_shot import Accuracy
from pseudoshot.evaluation.records import Record
from pseudoshot.report.markup import section, short_name, text

_ANY_RULE = "Every other image goes to the class whose examples it fits best."


class _Row(NamedTuple):
    """One accuracy, of what, and at which kind of task."""

    way: int
    shot: int
    name: str
    result: Accuracy


def accuracy_sections(records: Sequence[Record]) -> list[str]:
    """One section for all that differ in what was measured, way and shot alone: the latest of each.

    Records are in the order of time.
    """
    protocols: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        if record.results:
            protocols.setdefault(_protocol_of(record), []).append(record)
    return [_accuracy_section(alike) for alike in protocols.values()]


def _protocol_of(record: Record) -> tuple[object, ...]:
    images = (record.data, record.fingerprint, record.note)
    tasks = (record.query, record.tasks, record.seed)
    return (*images, *tasks, record.similarity, record.classifier, record.setting)


def _accuracy_section(records: Sequence[Record]) -> str:
    latest = {
        (record.way, result.shot, record.measured): result
        for record in records
        for result in record.results
    }
    rows = [_Row(*of, result) for of, result in latest.items()]
    last = records[-1]
    lead = (
        "How often it is right over many random tasks. A task has some classes (its <em>way</em>) "
        f"and a few labelled examples of each (its <em>shots</em>). {_rule(last.classifier)} "
        "The line across a bar marks what guessing would give."
    )
    body = f"<table>{''.join(_groups(rows))}</table>{_protocol(last)}"
    return section(f"Accuracy on {text(short_name(last.data))}", lead, body)


def _rule(classifier: str) -> str:
    """What happens to an image that is to be recognised, by a classifier of any name."""
    return text(getattr(CLASSIFIERS.get(classifier), "rule", "") or _ANY_RULE)


def _protocol(record: Record) -> str:
    note = f" Note: {text(record.note)}." if record.note else ""
    if record.pretrained_labels:
        note += (
            f" Pre-trained with labels ({text(record.pretrained_labels)}): not comparable with "
            f"unsupervised figures."
        )
    return (
        f'<p class="small">Each figure is the mean over {record.tasks:,} tasks '
        f"(seed {record.seed}) with {_count(record.query, 'image')} of each class to recognise;"
        f" ± is the half-width of its 95 % confidence interval. "
        f"Images: {text(record.data)}; similarity: {text(record.similarity)}; "
        f"classifier: {text(record.classifier)} ({text(record.setting)}).{note} "
        f"Last measured on {record.time:%Y-%m-%d}.</p>"
    )


def _groups(rows: Sequence[_Row]) -> Iterator[str]:
    """Bars to compare stand together: the names at one kind of task, or the shots of one name."""
    compared = len({row.name for row in rows}) > 1
    groups: dict[str, dict[str, _Row]] = {}
    for row in sorted(rows, key=lambda row: (row.way, row.shot)):  # names stay as measured
        examples = _count(row.shot, "example")
        title = f"{row.way} classes <small>({row.way}-way), by labelled examples of each</small>"
        if compared:
            title = f"{row.way} classes, {examples} of each "
            title += f"<small>({row.way}-way, {row.shot}-shot)</small>"
        groups.setdefault(title, {})[row.name if compared else examples] = row
    for title, group in groups.items():
        yield _group(title, group, compared)


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
