"""One process at work on a plan: it trains what is missing, goes on with what was interrupted,
measures what was not measured, and leaves alone what another process has in hand."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from multiprocessing import parent_process
from typing import Any

import torch

from pseudoshot.class_sources.reciprocal_clusters import round_epochs
from pseudoshot.data import full_name
from pseudoshot.evaluation.records import find_record
from pseudoshot.runs.estimating import DryRun, dry_run
from pseudoshot.runs.evaluating import evaluate_run
from pseudoshot.runs.training import train, tuning_options
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies.budget import StepCost
from pseudoshot.studies.machines import slowness, yardstick, yardstick_seconds
from pseudoshot.studies.order import Order
from pseudoshot.studies.plan import Job, Measure, Planned, make_plan, run_key
from pseudoshot.studies.sharing import share_pre_learnt
from pseudoshot.studies.shelf import TRAINING, Known, Shelf
from pseudoshot.studies.study import get_study
from pseudoshot.tools.console import console
from pseudoshot.tools.errors import PseudoshotError, StoppedError

PAUSE = 2.0  # seconds until a run that another process has in hand is looked at again
MEASURED = 20  # steps: by five a budget was less the same for all


class BusyError(Exception):
    """What is needed is being made by another process."""


class State(Enum):
    """Of a job, as this process leaves it."""

    DONE = "done"
    BUSY = "in the hands of another process"
    WAITING = "for the run it starts from"


def is_done(job: Job, shelf: Shelf) -> bool:
    """Whether all that there is to know of a run is known, if only why there is none."""
    known, refused = shelf.known(job.run.identity), shelf.refused(job.run.identity)
    measured = {*known.evaluated, *refused} >= {*job.measures}
    there = known.trained and shelf.run(known.key).finished  # a person may have deleted it
    return TRAINING in refused or (there and measured)


def work(names: Sequence[str], order: Order, jobs: Sequence[str]) -> None:
    """All of these jobs of the studies' plan; the body of a process."""
    _end_with_parent()
    console.quiet = True  # what a person sees is said by the process that began this one
    torch.set_num_threads(1)
    plan = make_plan([get_study(name) for name in names], order)
    worker = Worker(order, Shelf(order.out))
    left = [plan.jobs[identity] for identity in jobs]
    try:
        while left:
            states = {job.run.identity: worker.attempt(job) for job in left}
            before = len(left)
            left = [job for job in left if states[job.run.identity] is not State.DONE]
            if len(left) == before:
                time.sleep(PAUSE)
    except StoppedError as stopped:
        raise SystemExit(stopped.code) from stopped


@dataclass(frozen=True)
class Worker:
    """What one process does for one run after the other."""

    order: Order
    shelf: Shelf

    def attempt(self, job: Job) -> State:
        """Do all that is left to do for a run, unless it has to wait."""
        run = job.run
        if is_done(job, self.shelf):
            return State.DONE
        if run.start is not None:
            if TRAINING in self.shelf.refused(run.start.identity):
                reason = f"there is no {run.start.label} to start from"
                self.shelf.refuse(run.identity, TRAINING, reason)
                return State.DONE
            if not self.shelf.known(run.start.identity).trained:
                return State.WAITING
        try:
            self._finish(job)
        except BusyError:
            return State.BUSY
        return State.DONE

    @contextmanager
    def _refusing(self, identity: str, what: str) -> Iterator[None]:
        """Whatever goes wrong is a reason on the page and costs no other run."""
        try:
            yield
        except (StoppedError, BusyError):
            raise
        except PseudoshotError as error:
            self.shelf.refuse(identity, what, str(error))
        except Exception as error:
            path = self.shelf.keep_traceback(identity, traceback.format_exc())
            first = (str(error).splitlines() or [""])[0]
            reason = f"{type(error).__name__}: {first} ({path.relative_to(self.shelf.path)})"
            self.shelf.refuse(identity, what, reason)

    def settled(self, run: Planned) -> tuple[dict[str, Any], str]:
        """The options that a run is trained with, and the key of its folder."""
        order, options, first = self.order, dict(run.options), ""
        if run.start is not None:
            first = self.shelf.known(run.start.identity).key
            options = tuning_options(
                self.shelf.run(first).path, order.data, order.data_root, options
            )
        named = {"data": full_name(order.data), **options}
        path = {} if run.start is None else {"start_from": named.pop("start_from")}
        paper, cost = resolve(named), None
        if order.budget.seconds is not None:
            cost = self.cost(run, {**named, **path})
        if run.start is None or cost is not None:  # epochs are counted of base images alone
            epochs, rounds = paper.optimisation.epochs, round_epochs(paper.class_source)
            named |= order.budget.options(cost, epochs, "pre_learn" in named, rounds)
        settings = resolve(named)
        del named["data"]
        return {**named, **path}, run_key(settings, order, first)

    def cost(self, run: Planned, options: dict[str, Any]) -> StepCost:
        """Measured by whoever comes first; the others take the same."""
        with self._alone_with(f"cost-{run.alike}"):
            cost = self.shelf.cost(run.alike)
            if cost is None:
                given = {name: value for name, value in options.items() if name != "data"}
                data, root = self.order.data, self.order.data_root
                told = dry_run(
                    data,
                    data_root=root,
                    options=given,
                    measured=MEASURED,
                    rounds=True,
                    beside=yardstick(),
                )
                step = told.steps_beside * yardstick_seconds(self.shelf)
                before = self._before(told.first) if told.first else (0.0, 0)
                round_seconds = told.cpu_seconds_per_round / slowness(self.shelf)
                about = (told.steps, told.steps_per_epoch)
                cost = StepCost(step, *about, *before, round_seconds)
                self.shelf.keep_cost(run.alike, cost, told.settings.model_dump())
        return cost

    def _before(self, first: DryRun) -> tuple[float, int]:
        """CPU seconds per epoch of a run that is trained first, the same for all that need it, and
        the paper's epochs."""
        settings = first.settings.model_copy(update={"seed": 0})
        key = run_key(settings, self.order)
        with self._alone_with(f"cost-{key}"):
            cost = self.shelf.cost(key)
            if cost is None:
                step = first.steps_beside * yardstick_seconds(self.shelf)
                cost = StepCost(step, first.steps, first.steps_per_epoch)
                self.shelf.keep_cost(key, cost, settings.model_dump())
        return cost.cpu_seconds * cost.steps_per_epoch, settings.optimisation.epochs

    @contextmanager
    def _alone_with(self, key: str) -> Iterator[None]:
        with self.shelf.held(key) as mine:
            if not mine:
                raise BusyError(key)
            yield

    def _finish(self, job: Job) -> None:
        """Train to the end, then measure; each result is kept as soon as it is there."""
        run = job.run
        with self._refusing(run.identity, TRAINING):
            options, key = self.settled(run)
            with self._alone_with(key):
                known = self._trained(run, key, options)
                for identity, measure in job.measures.items():
                    if identity not in known.evaluated:
                        with self._refusing(run.identity, identity):
                            self._measure(run, known, identity, measure)

    def _trained(self, run: Planned, key: str, options: dict[str, Any]) -> Known:
        folder, known = self.shelf.run(key), self.shelf.known(run.identity)
        if known.key != key or not folder.finished:
            known = Known(key=key, slowness=slowness(self.shelf))
            self.shelf.remember(run.identity, known)
        if not share_pre_learnt(folder, options, self.order, self.shelf):
            raise BusyError(key)
        if not folder.finished:
            resume, root = folder.started, self.order.data_root
            train(self.order.data, folder.path, resume=resume, data_root=root, **options)
        known.trained = True
        self.shelf.remember(run.identity, known)
        return known

    def _measure(self, run: Planned, known: Known, identity: str, measure: Measure) -> None:
        path, root = self.shelf.run(known.key).path, self.order.data_root
        result = evaluate_run(path, measure.data, data_root=root, **dict(measure.options))
        record = find_record(path, result)
        if record is None:
            raise PseudoshotError(f"what was measured could not be kept in '{path}'")
        known.evaluated[identity] = record.id
        self.shelf.remember(run.identity, known)


def _end_with_parent() -> None:
    """A process whose parent was killed stops as if it had been told to: its run is saved."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
