"""One process at work on a plan: it trains what is missing, goes on with what was interrupted,
measures what was not measured, and leaves alone what another process has in hand."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from multiprocessing import parent_process
from typing import Any

import torch

from pseudoshot.data import full_name
from pseudoshot.evaluation.records import read_records
from pseudoshot.runs.estimating import DryRun, dry_run
from pseudoshot.runs.evaluating import evaluate_run
from pseudoshot.runs.training import train, tuning_options
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies.budget import StepCost
from pseudoshot.studies.order import Order
from pseudoshot.studies.plan import Job, Measure, Planned, make_plan, run_key
from pseudoshot.studies.sharing import share_pre_learnt
from pseudoshot.studies.shelf import TRAINING, Known, Shelf
from pseudoshot.studies.study import get_study
from pseudoshot.tools.console import console
from pseudoshot.tools.errors import PseudoshotError, StoppedError

PAUSE = 2.0  # seconds until a run that another process has in hand is looked at again
MEASURED = 20  # steps: five told up to a tenth too much, and a budget is to be the same for all


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
            options, key = self.settled(run)
        except StoppedError:
            raise
        except PseudoshotError as error:
            self.shelf.refuse(run.identity, TRAINING, str(error))
            return State.DONE
        with self.shelf.held(key) as mine:
            if not mine:
                return State.BUSY
            return self._finish(job, key, options)

    def settled(self, run: Planned) -> tuple[dict[str, Any], str]:
        """The options that a run is trained with, and the key of its folder."""
        order, options, first = self.order, dict(run.options), ""
        if run.start is not None:
            first = self.shelf.known(run.start.identity).key
            options = tuning_options(
                self.shelf.run(first).path, order.data, order.data_root, options
            )
        named = {"data": full_name(order.data), **options}
        path = {name: named.pop(name) for name in ("start_from",) if name in named}
        epochs = resolve(named).optimisation.epochs
        cost = None
        if order.budget.seconds is not None:
            cost = self.cost(run, {**named, **path})
        if run.start is None or cost is not None:  # epochs are counted of base images alone
            named |= order.budget.options(cost, epochs)
        settings = resolve(named)
        del named["data"]
        return {**named, **path}, run_key(settings, order, first)

    def cost(self, run: Planned, options: dict[str, Any]) -> StepCost:
        """Measured by whoever comes first; the others wait, and take the same."""
        with self.shelf.held(f"cost-{run.alike}", wait=True):
            cost = self.shelf.cost(run.alike)
            if cost is None:
                given = {name: value for name, value in options.items() if name != "data"}
                data, root = self.order.data, self.order.data_root
                told = dry_run(data, data_root=root, options=given, measured=MEASURED)
                before = self.epoch_before(told.first) if told.first else 0.0
                cost = StepCost(told.cpu_seconds_per_step, told.steps, told.steps_per_epoch, before)
                self.shelf.keep_cost(run.alike, cost, told.settings.model_dump())
        return cost

    def epoch_before(self, first: DryRun) -> float:
        """CPU seconds per epoch of a run that is trained first, the same for all that need it."""
        settings = first.settings.model_copy(update={"seed": 0})
        key = run_key(settings, self.order)
        with self.shelf.held(f"cost-{key}", wait=True):
            cost = self.shelf.cost(key)
            if cost is None:
                cost = StepCost(first.cpu_seconds_per_step, first.steps, first.steps_per_epoch)
                self.shelf.keep_cost(key, cost, settings.model_dump())
        return cost.cpu_seconds * cost.steps_per_epoch

    def _finish(self, job: Job, key: str, options: dict[str, Any]) -> State:
        """Train to the end, then measure; each result is kept as soon as it is there."""
        run, folder = job.run, self.shelf.run(key)
        known = self.shelf.known(run.identity)
        if known.key != key or not folder.finished:
            known = Known(key=key)
            self.shelf.remember(run.identity, known)
        try:
            if not share_pre_learnt(folder, options, self.order, self.shelf):
                return State.BUSY
            if not folder.finished:
                train(
                    self.order.data,
                    folder.path,
                    resume=folder.started,
                    data_root=self.order.data_root,
                    **options,
                )
        except StoppedError:
            raise
        except PseudoshotError as error:
            self.shelf.refuse(run.identity, TRAINING, str(error))
            return State.DONE
        known.trained = True
        self.shelf.remember(run.identity, known)
        for identity, measure in job.measures.items():
            if identity not in known.evaluated:
                self._measure(run, known, identity, measure)
        return State.DONE

    def _measure(self, run: Planned, known: Known, identity: str, measure: Measure) -> None:
        folder = self.shelf.run(known.key)
        try:
            evaluate_run(
                folder.path, measure.data, data_root=self.order.data_root, **dict(measure.options)
            )
        except PseudoshotError as error:
            self.shelf.refuse(run.identity, identity, str(error))
            return
        known.evaluated[identity] = read_records(folder.path)[-1].id
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
