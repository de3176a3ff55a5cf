"""What was measured of a study, from the records and logs of its runs alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pseudoshot.evaluation.comparison import paired_difference
from pseudoshot.evaluation.records import Record, read_records, read_scores
from pseudoshot.runs.pre_learning import PRE_LEARNT
from pseudoshot.settings.tree import RunSettings
from pseudoshot.studies.plan import Plan
from pseudoshot.studies.shelf import TRAINING, Shelf
from pseudoshot.studies.statistics import Estimate, over_seeds
from pseudoshot.studies.study import LINEAR, Row, Study
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.run_folder import RunFolder

Column: TypeAlias = int | str  # a number of shots, or the linear evaluation
PART = 0.2  # of a training, over which the value of a curve is taken


@dataclass(frozen=True)
class Trained:
    """A run that has come to its end, as a table needs it."""

    folder: Path
    settings: RunSettings
    log: list[dict[str, Any]]
    papers_steps: int | None  # as many as the paper's epochs on this set, where a step was measured
    slowness: float = 1.0  # of the machine that it began on

    @property
    def steps(self) -> int:
        return int(self.log[-1]["step"]) if self.log else 0

    @property
    def cpu_seconds(self) -> float:
        """Spent on it, over all resumptions, and on the run that was trained for it first."""
        before = RunFolder(self.folder / PRE_LEARNT).read_log()
        return sum(float(log[-1].get("cpu_seconds", 0.0)) for log in (before, self.log) if log)

    def quantity(self, name: str, early: bool = False) -> float | None:
        """The mean of a curve over the last part of the training, or the first; or what a step
        took."""
        if name == "step_seconds":
            return self._step_seconds()
        end = PART * self.steps if early else self.steps
        within = [r for r in self.log if end - PART * self.steps < r["step"] <= end]
        values = [r[name] for r in within if isinstance(r.get(name), int | float)]
        return float(np.mean(values)) if values else None

    def _step_seconds(self) -> float | None:
        """Of the processor, as where the study began: the median over the log, which passes over
        checkpoints and scores."""
        spent = np.array([(r["step"], r.get("cpu_seconds", np.nan)) for r in self.log], float)
        steps = np.diff(spent, axis=0) if len(spent) > 1 else spent.reshape(-1, 2)
        each = steps[:, 1] / steps[:, 0]
        known = len(each) and np.isfinite(each).all()
        return float(np.median(each)) / self.slowness if known else None


class Protocol(NamedTuple):
    """All that the tasks of a row depend on, but for their seed."""

    data: str
    labelling: str
    note: str
    way: int
    query: int
    tasks: int

    @classmethod
    def of(cls, record: Record) -> Protocol:
        return cls(*(getattr(record, name) for name in cls._fields))

    @property
    def words(self) -> str:
        note = f", {self.note}" if self.note else ""
        return (
            f"{self.data}: {self.way} classes, {self.query} queries of each, {self.tasks:,} "
            f"tasks{note}"
        )


@dataclass(frozen=True)
class OneSeed:
    """What is known of a figure that has one seed: how sure it is over tasks."""

    interval: float
    tasks: tuple[object, ...]  # all that their draw depends on
    scores: npt.NDArray[np.float32]  # of each


@dataclass
class Results:
    """By row and seed; what is missing has a reason, or was not begun."""

    study: Study
    seeds: int
    data: str = ""  # that the runs were trained on
    accuracies: dict[tuple[str, Column], dict[int, float]] = field(default_factory=dict)
    one_seed: dict[tuple[str, Column], OneSeed] = field(default_factory=dict)  # where there is one
    runs: dict[str, dict[int, Trained]] = field(default_factory=dict)  # by name of run
    reasons: dict[str, str] = field(default_factory=dict)  # by row, where no seed has a figure
    gaps: dict[str, dict[int, str]] = field(default_factory=dict)  # by row and seed: a reason
    notes: dict[str, str] = field(default_factory=dict)  # by row, where others do not compare
    protocols: dict[str, Protocol] = field(default_factory=dict)  # by row
    records: list[Record] = field(default_factory=list)
    missing: int = 0  # cells that are not there yet, for no reason but time

    def columns(self, *rows: str) -> list[Column]:
        """Those that all of some rows have; without rows, those that any has."""
        of = [{c for r, c in self.accuracies if r == row} for row in rows]
        found = set.intersection(*of) if of else {column for _, column in self.accuracies}
        numbers = sorted(c for c in found if isinstance(c, int))
        return [*numbers, *([LINEAR] if LINEAR in found else [])]

    @property
    def measured_on(self) -> list[str]:
        """The protocols, in words."""
        return list(dict.fromkeys(protocol.words for protocol in self.protocols.values()))

    @property
    def versions(self) -> str:
        """Of the software that measured last."""
        last = self.records[-1].versions if self.records else {}
        return ", ".join(f"{name} {version}" for name, version in last.items())

    @property
    def of_several_kinds(self) -> bool:
        """Of machines, other than the first of them alone."""
        return any(t.slowness != 1 for by_seed in self.runs.values() for t in by_seed.values())

    def quantity(self, run: str, name: str) -> Estimate | None:
        """Of a run, over its seeds: a curve at the end of the training, or what a step took."""
        values = [trained.quantity(name) for trained in self.runs.get(run, {}).values()]
        known = [value for value in values if value is not None]
        return over_seeds(known) if known else None

    def without(self, row: str) -> list[int]:
        """The seeds that a row cannot have."""
        there = {
            seed for (name, _), found in self.accuracies.items() if name == row for seed in found
        }
        return sorted(self.gaps.get(row, {}).keys() - there)

    def reason(self, row: str) -> str:
        """Why something of a row is missing; "": nothing is, or for no reason but time."""
        gaps = self.gaps.get(row, {})
        return self.reasons.get(row) or "; ".join(f"seed {s}: {why}" for s, why in gaps.items())

    def accuracy(self, row: str, column: Column) -> Estimate | None:
        values = self.accuracies.get((row, column))
        return over_seeds(list(values.values())) if values else None

    def over_tasks(self, row: str, column: Column, reference: str | None = None) -> float | None:
        """With one seed, the interval over tasks: of an accuracy, or of the difference to that of
        another row on the same tasks."""
        ours = self.one_seed.get((row, column))
        if ours is None or reference is None:
            return None if ours is None else ours.interval
        theirs = self.one_seed.get((reference, column))
        if theirs is None or theirs.tasks != ours.tasks:
            return None
        return paired_difference(theirs.scores, ours.scores)[1]

    def values(
        self, row: str, of: str, columns: Sequence[Column] = (), early: bool = False
    ) -> Mapping[int, float]:
        """By seed: the mean accuracy over some columns, or the logarithm of another quantity, in
        hundredths, so that a difference is a ratio."""
        if of == "accuracy":
            return self._mean_accuracy(row, columns)
        run = next(r.run for r in self.study.rows if r.name == row)
        found = {seed: t.quantity(of, early) for seed, t in self.runs.get(run, {}).items()}
        return {
            seed: 100 * float(np.log(v)) for seed, v in found.items() if v is not None and v > 0
        }

    def _mean_accuracy(self, row: str, columns: Sequence[Column]) -> dict[int, float]:
        found = [self.accuracies.get((row, column), {}) for column in columns]
        seeds = set.intersection(*(set(by_seed) for by_seed in found))
        return {s: float(np.mean([by_seed[s] for by_seed in found])) for s in sorted(seeds)}


def read_results(study: Study, plan: Plan, shelf: Shelf) -> Results:
    """As far as they are there."""
    results = Results(study, plan.order.seeds, plan.order.data)
    for row, seed, run, evaluation in _cells(study, plan):
        known, refused = shelf.known(run), shelf.refused(run)
        reason = refused.get(TRAINING) or refused.get(evaluation)
        if reason:
            results.gaps.setdefault(row.name, {})[seed] = reason
            continue
        if not known.trained or evaluation not in known.evaluated:
            results.missing += 1
            continue
        folder = shelf.run(known.key)
        cost = shelf.cost(plan.jobs[run].run.alike)
        steps = None if cost is None else cost.steps
        what = folder.path, folder.read_settings(), folder.read_log(), steps
        trained = Trained(*what, known.slowness)
        results.runs.setdefault(row.run, {})[seed] = trained
        _take_record(results, row, seed, folder, known.evaluated[evaluation])
    measured = {row for row, _ in results.accuracies}
    for row in study.rows:
        refused_run = plan.refused.get((study.name, row.run))
        reasons = [*results.gaps.get(row.name, {}).values(), *filter(None, [refused_run])]
        if reasons and row.name not in measured:
            results.reasons[row.name] = reasons[0]
    return results


def _cells(study: Study, plan: Plan) -> Iterator[tuple[Row, int, str, str]]:
    for (name, row, seed), (run, evaluation) in plan.cells.items():
        if name == study.name:
            yield row, seed, run, evaluation


def _take_record(results: Results, row: Row, seed: int, folder: RunFolder, identity: str) -> None:
    found = [record for record in read_records(folder.path) if record.id == identity]
    if not found:
        lost = f"the record {identity} of '{folder.path}' is lost"
        results.gaps.setdefault(row.name, {})[seed] = lost
        return
    record = found[0]
    results.records.append(record)
    if record.setting != "inductive":
        results.notes[row.name] = record.setting
    linear = bool(results.study.evaluations[row.evaluation].get("linear"))
    protocol = Protocol.of(record)
    results.protocols[row.name] = protocol
    scores = None
    if results.seeds == 1:
        try:
            scores = read_scores(folder.path, record)
        except PseudoshotError as error:  # the figure stands, without an interval
            results.gaps.setdefault(row.name, {})[seed] = str(error)
    for number, result in enumerate(record.results):
        column: Column = LINEAR if linear else result.shot
        results.accuracies.setdefault((row.name, column), {})[seed] = result.accuracy
        if scores is not None:
            tasks = (*protocol, record.seed, result.shot)
            one = OneSeed(result.interval, tasks, scores[number])
            results.one_seed[row.name, column] = one
