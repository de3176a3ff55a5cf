"""Studies as a person runs them: processes at work, and how far they are."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.context import SpawnProcess
from pathlib import Path

from pseudoshot.data import full_name
from pseudoshot.settings.tree import MOST
from pseudoshot.studies.budget import Budget
from pseudoshot.studies.order import Order, Shard, measured_on
from pseudoshot.studies.plan import Job, Plan, Planned, make_plan
from pseudoshot.studies.shelf import Shelf
from pseudoshot.studies.study import all_studies, get_study
from pseudoshot.studies.working import is_done, work
from pseudoshot.tools.console import progress_bar, say
from pseudoshot.tools.errors import PseudoshotError, StoppedError
from pseudoshot.training.signals import StopSignals

LOOK_EVERY = 1.0  # seconds
TRAINING_SHARE = 0.9  # of a run; the rest is measuring


def run_studies(
    names: Sequence[str],
    data: str | Path,
    out: str | Path,
    *,
    test: str | None = None,
    budget: str = "5m",
    seeds: int = 1,
    tasks: int = 10_000,
    backbone: str | None = None,
    jobs: int = 1,
    shard: str = "1/1",
    data_root: Path | None = None,
) -> list[Path]:
    """Train and measure what some studies need, and write a page of each; the pages' paths.

    No settings are trained twice in one folder, and what was interrupted goes on. No names: all.

    >>> run_studies(["heads"], "cifar-fs", "studies", budget="20m", seeds=3)  # doctest: +SKIP
    """
    from pseudoshot.studies.pages import write_pages

    order = Order(
        full_name(str(data)),
        measured_on(str(data), test),
        Budget.parse(budget),
        seeds,
        tasks,
        Path(out),
        backbone,
        data_root,
    )
    names = list(names) or list(all_studies())
    chosen = [get_study(name) for name in names]
    part = Shard.parse(shard)
    if not 1 <= jobs <= MOST:
        raise PseudoshotError(f"--jobs must be at least 1, not {jobs}")
    plan = make_plan(chosen, order)
    shelf = Shelf(order.out)
    mine = share(list(plan.jobs.values()), part)
    for job in mine:
        shelf.try_again(job.run.identity)
    _refuse_nothing(plan)
    _say_plan(plan, mine)
    if any(not is_done(job, shelf) for job in mine):
        _work(names, order, mine, jobs)
    return write_pages(chosen, plan, shelf)


def share(jobs: Sequence[Job], shard: Shard) -> list[Job]:
    """Those of a shard; a run goes where the run goes that it starts from."""
    roots = {job.run.identity: n for n, job in enumerate(j for j in jobs if j.run.start is None)}
    return [job for job in jobs if shard.has(roots[_root(job.run).identity])]


def _root(run: Planned) -> Planned:
    return run if run.start is None else _root(run.start)


def _refuse_nothing(plan: Plan) -> None:
    """Where not one run is left, the first reason is the error."""
    if not plan.jobs and plan.refused:
        raise PseudoshotError(next(iter(plan.refused.values())))
    if not plan.jobs:
        name, reason = next(iter(plan.skipped.items()))
        raise PseudoshotError(f"the study '{name}' cannot be run at this budget: {reason}")


def _say_plan(plan: Plan, mine: Sequence[Job]) -> None:
    for name, reason in plan.skipped.items():
        say(f"skipped: {name}, {reason}")
    for (study, run), reason in plan.refused.items():
        say(f"left out: {run} of {study}, {reason}")
    say(f"{len(mine)} runs, {plan.order.budget}, on '{plan.order.data}'")
    if plan.order.seeds == 1:
        say("one seed each: no claim can be decided so; give --seeds 3 or more")


def _work(names: Sequence[str], order: Order, mine: Sequence[Job], processes: int) -> None:
    """Begin the processes, say how far they are, and end them when told to."""
    identities = [job.run.identity for job in mine]
    spawn = multiprocessing.get_context("spawn")
    workers = [
        spawn.Process(target=work, args=(names, order, identities))
        for _ in range(min(processes, len(mine)))
    ]
    shelf = Shelf(order.out)
    with StopSignals() as stop, progress_bar("{task.fields[runs]}", of="runs") as bar:
        for worker in workers:
            worker.start()
        done = int(sum(done_of(job, shelf) for job in mine))
        task = bar.add_task("studies", total=len(mine), completed=done, runs="")
        while any(worker.is_alive() for worker in workers) and stop.received is None:
            time.sleep(LOOK_EVERY)
            parts = [done_of(job, shelf) for job in mine]
            whole = f"{parts.count(1.0)} of {len(mine)} runs are whole"
            bar.update(task, completed=sum(parts), runs=whole)
        _end(workers)
    if stop.received is not None:
        raise StoppedError(
            f"stopped by {stop.received.name}: the same command goes on from here",
            code=128 + stop.received,
        )
    if any(worker.exitcode for worker in workers):
        raise PseudoshotError(
            "a process of the study ended before its work was done: the same command goes on from "
            "here"
        )


def _end(workers: Sequence[SpawnProcess]) -> None:
    """Those that train save their run first."""
    for worker in workers:
        if worker.is_alive():
            worker.terminate()
    for worker in workers:
        worker.join()


def done_of(job: Job, shelf: Shelf) -> float:
    """How much of a run is done, from 0 to 1."""
    if is_done(job, shelf):
        return 1.0
    known = shelf.known(job.run.identity)
    if known.trained:
        return TRAINING_SHARE
    folder = shelf.run(known.key)
    if not (known.key and folder.started):
        return 0.0
    log = folder.read_log()
    epochs = folder.read_settings().optimisation.epochs
    return TRAINING_SHARE * min(1.0, float(log[-1]["epoch"]) / epochs) if log else 0.0
