"""From studies and an order to the runs they need, each of them once."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.data import full_name
from pseudoshot.data import load as load_data
from pseudoshot.methods.settings import TaskSettings
from pseudoshot.settings.resolve import resolve
from pseudoshot.settings.tree import RunSettings
from pseudoshot.studies.budget import Budget
from pseudoshot.studies.order import Order
from pseudoshot.studies.study import Row, Study
from pseudoshot.tools.errors import PseudoshotError


def digest(value: object) -> str:
    """A name of anything that JSON can hold.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}), len(digest({}))
    (True, 16)
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Planned:
    """A run as the paper has it; what the budget makes of it is known once a step is measured."""

    label: str = field(compare=False)
    options: Mapping[str, Any] = field(compare=False)  # of `train`, or `finetune` where it starts
    start: Planned | None = field(compare=False)  # the run whose network it goes on from
    alike: str = field(compare=False)  # shared by those that differ in the seed alone
    identity: str

    @property
    def seed(self) -> int:
        return int(self.options["seed"])


@dataclass(frozen=True)
class Measure:
    """One evaluation: the options of `evaluate`, and what is measured on."""

    data: str
    options: Mapping[str, Any]
    images: str = ""  # their fingerprint, where they are there

    @property
    def identity(self) -> str:
        return digest([self.data, self.images, dict(self.options)])


@dataclass
class Job:
    """A run and all that is measured of it, by the identity of the evaluation."""

    run: Planned
    measures: dict[str, Measure] = field(default_factory=dict)


@dataclass
class Plan:
    """The work of some studies, and where each cell of their tables comes from."""

    order: Order
    jobs: dict[str, Job] = field(default_factory=dict)  # by identity, a start before what needs it
    cells: dict[tuple[str, Row, int], tuple[str, str]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)  # studies, and why
    refused: dict[tuple[str, str], str] = field(default_factory=dict)  # (study, run), and why


def make_plan(studies: Sequence[Study], order: Order) -> Plan:
    """What is impossible is left out with a reason, and costs nothing else."""
    plan = Plan(order)
    for study in studies:
        reason = too_small(study, order.budget)
        if reason:
            plan.skipped[study.name] = reason
            continue
        for seed in range(order.seeds):  # a table of one seed is there before the next begins
            for row in study.rows:
                _add(plan, study, row, seed)
    return plan


def too_small(study: Study, budget: Budget) -> str:
    """Why a study is not worth beginning; "": it is."""
    if not study.least_budget:
        return ""
    least = Budget.parse(study.least_budget).seconds
    if budget.seconds is None or least is None or budget.seconds >= least:
        return ""
    return f"its networks need a budget of {study.least_budget} or more per run"


def _add(plan: Plan, study: Study, row: Row, seed: int) -> None:
    try:
        run = planned(plan.order, study, row.run, seed)
    except PseudoshotError as error:
        plan.refused[study.name, row.run] = str(error)
        return
    chain = [run]
    while chain[-1].start is not None:
        chain.append(chain[-1].start)
    for needed in reversed(chain):
        plan.jobs.setdefault(needed.identity, Job(needed))
    given = dict(study.evaluations[row.evaluation])
    on = str(given.pop("on", plan.order.test))
    if not given.get("linear"):
        given["tasks"] = min(plan.order.tasks, given.get("tasks", plan.order.tasks))
    size = chain[-1].options.get("size")
    images = _measured_images(full_name(on), size, plan.order.data_root)
    measure = Measure(full_name(on), {**given, "seed": seed}, images)
    plan.jobs[run.identity].measures[measure.identity] = measure
    plan.cells[study.name, row, seed] = run.identity, measure.identity


def planned(order: Order, study: Study, run: str, seed: int) -> Planned:
    """One run of a study, before the budget."""
    options = {**study.options(run), "seed": seed}
    label = f"{run} (seed {seed})"
    start = study.runs[run].get("start")
    shared = [str(order.budget), {**options, "seed": 0}]
    if start is not None:
        first = planned(order, study, start, seed)
        alike = digest([first.alike, *shared])
        return Planned(label, options, first, alike, digest([first.identity, *shared, seed]))
    options.setdefault("backbone", order.network(study.backbone))
    options = fitting({"recipe": "paper", "data": full_name(order.data), **options}, order)
    options = without_whole_way(options)
    settings = resolve(options)
    images = fingerprint(settings, order.data_root)
    without_seed = settings.model_copy(update={"seed": 0}).model_dump()
    alike = digest([images, str(order.budget), without_seed])
    return Planned(label, options, None, alike, digest([alike, seed]))


def fitting(options: dict[str, Any], order: Order) -> dict[str, Any]:
    """Where labels are trained on, an episode holds no more classes than there are."""
    settings = resolve(options)
    if not CLASS_SOURCES[settings.class_source.name].needs_labels:
        return options
    classes = _classes(settings.data.name, order.data_root)
    return {**options, "images": min(settings.method.images, classes)}


def without_whole_way(options: dict[str, Any]) -> dict[str, Any]:
    """Tasks of all of an episode's classes are those of no `way`: they are trained once.

    >>> without_whole_way({"data": "glyphs", "images": 8, "way": 8})
    {'data': 'glyphs', 'images': 8}
    """
    method = resolve(options).method
    whole = isinstance(method, TaskSettings) and method.way == method.images
    return {name: value for name, value in options.items() if not whole or name != "way"}


@functools.cache
def _classes(data: str, root: Path | None) -> int:
    images = load_data(data, split="train", root=root, labelled=True)
    return int((images.class_counts() > 0).sum())


def run_key(settings: RunSettings, order: Order, start: str = "") -> str:
    """Of the folder of a run: its complete settings, its images, and the key of the run that it
    starts from."""
    return digest([fingerprint(settings, order.data_root), settings.model_dump(), start])


def fingerprint(settings: RunSettings, root: Path | None) -> str:
    """Of the images that are trained on."""
    return _fingerprint(settings.data.name, settings.data.size, settings.data.rotations, root)


@functools.cache
def _measured_images(data: str, size: int | None, root: Path | None) -> str:
    """Where there are none, it is measuring that says so."""
    try:
        return load_data(data, split="test", root=root, size=size).fingerprint()
    except PseudoshotError:
        return ""


@functools.cache
def _fingerprint(data: str, size: int | None, rotations: bool, root: Path | None) -> str:
    return load_data(data, split="train", root=root, size=size, rotations=rotations).fingerprint()
