"""Studies as a person runs them: processes at work, and how far they are."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Collection, Sequence
from multiprocessing.context import SpawnProcess
from pathlib import Path

from rich.progress import Progress

from pseudoshot.data import full_name
from pseudoshot.runs.pre_learning import PRE_LEARNT
from pseudoshot.settings.tree import MOST
from pseudoshot.studies.budget import Budget
from pseudoshot.studies.machines import slowness
from pseudoshot.studies.order import Order, Shard, measured_on
from pseudoshot.studies.plan import Job, Plan, Planned, make_plan
from pseudoshot.studies.shelf import Shelf
from pseudoshot.studies.study import Study, all_studies, get_study
from pseudoshot.studies.working import is_done, work
from pseudoshot.tools.console import duration, progress_bar, say
from pseudoshot.tools.errors import PseudoshotError, StoppedError
from pseudoshot.tools.processor import usable_cores
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.signals import StopSignals

LOOK_EVERY = 1.0  # seconds
TRAINING_SHARE = 0.98  # of a run; the rest is measuring
NOISE = 0.05  # between two measurements of a step
BESIDE_PAGES = ("index", "claims")
MOST_JOBS = 8  # unless more are asked for: each holds images and a network of its own


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
    jobs: int | None = None,
    shard: str = "1/1",
    data_root: Path | None = None,
) -> list[Path]:
    """Train and measure what some studies need, and write a page of each; the pages' paths.

    No settings are trained twice in one folder, and what was interrupted goes on. No names: all.
    As many processes are at work as there are cores, eight at most, or as many `jobs` as are given:
    with none, pages are of what is there so far.

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
    _refuse_names(chosen)
    part = Shard.parse(shard)
    if jobs is not None and not 0 <= jobs <= MOST:
        raise PseudoshotError(f"--jobs must be from 0 to {MOST:,}, not {jobs}")
    plan = make_plan(chosen, order)
    shelf = Shelf(order.out)
    mine = share(list(plan.jobs.values()), part)
    _refuse_empty(plan)
    if jobs == 0:
        _say_what_is_there(plan.jobs.values(), shelf)
        return write_pages(chosen, plan, shelf)
    for job in mine:
        shelf.try_again(job.run.identity)
    processes = min(jobs or min(usable_cores(), MOST_JOBS), len(mine))
    done = all(is_done(job, shelf) for job in mine)
    _say_plan(plan, mine, processes, 1.0 if done else slowness(shelf))
    whole = done or _work(names, order, mine, processes)
    pages = write_pages(chosen, plan, shelf)
    if not whole:
        raise PseudoshotError(
            "a process of the study ended before its work was done: the same command goes on from "
            "here"
        )
    return pages


def _refuse_names(studies: Sequence[Study]) -> None:
    """That two pages would have, or a page and what is written beside them."""
    names = [study.name for study in studies]
    for name in names:
        if names.count(name) > 1 or name in BESIDE_PAGES:
            raise PseudoshotError(
                f"two pages, or a page and another file, would be called '{name}': give a study "
                f"once, or rename the file of your own"
            )


def share(jobs: Sequence[Job], shard: Shard) -> list[Job]:
    """Those of a shard; a run goes where the run goes that it starts from."""
    roots = {job.run.identity: n for n, job in enumerate(j for j in jobs if j.run.start is None)}
    return [job for job in jobs if shard.has(roots[_root(job.run).identity])]


def _root(run: Planned) -> Planned:
    return run if run.start is None else _root(run.start)


def _refuse_empty(plan: Plan) -> None:
    """Where not one run is left, the first reason is the error."""
    if not plan.jobs and plan.refused:
        raise PseudoshotError(next(iter(plan.refused.values())))
    if not plan.jobs:
        name, reason = next(iter(plan.skipped.items()))
        raise PseudoshotError(f"the study '{name}' cannot be run at this budget: {reason}")


def _say_what_is_there(jobs: Collection[Job], shelf: Shelf) -> None:
    done = sum(is_done(job, shelf) for job in jobs)
    say(f"{done} of {len(jobs)} runs are done, and none is begun or gone on with: --jobs is 0")


def _say_plan(plan: Plan, mine: Sequence[Job], processes: int, slow: float) -> None:
    for name, reason in plan.skipped.items():
        say(f"skipped: {name}, {reason}")
    for (study, run), reason in plan.refused.items():
        say(f"left out: {run} of {study}, {reason}")
    seconds, shelf = plan.order.budget.seconds, Shelf(plan.order.out)
    left = sum(1 - done_of(job, shelf) for job in mine)
    takes = left * (seconds or 0) * slow / processes
    time_left = f": about {duration(takes)}" if takes else ""
    runs = "one run" if len(mine) == 1 else f"{len(mine)} runs"
    say(f"{runs}, {plan.order.budget}, on '{plan.order.data}'{time_left}")
    if abs(slow - 1) > NOISE:
        say(
            f"a step takes {slow:.2f} times as long here as on the machine that this folder was "
            f"begun on: runs have as many steps as they would have there"
        )
    if plan.order.seeds == 1:
        say("one seed each: no claim can be decided so; give --seeds 3 or more")


def _work(names: Sequence[str], order: Order, mine: Sequence[Job], processes: int) -> bool:
    """Begin the processes, say how far they are, and end them when told to; False where one did not
    come to its end."""
    identities = [job.run.identity for job in mine]
    spawn = multiprocessing.get_context("spawn")
    arguments = (names, order, identities)
    workers = [spawn.Process(target=work, args=arguments) for _ in range(processes)]
    announced = order.budget.seconds is not None
    with StopSignals() as stop, progress_bar(of="runs", announced=announced) as bar:
        for worker in workers:
            worker.start()
        _watch(bar, workers, mine, Shelf(order.out), stop)
        _end(workers)
    if stop.received is not None:
        raise StoppedError(
            f"stopped by {stop.received.name}: the same command goes on from here; with --jobs 0 "
            f"it shows what is there",
            code=128 + stop.received,
        )
    return not any(worker.exitcode for worker in workers)


def _watch(
    bar: Progress,
    workers: Sequence[SpawnProcess],
    mine: Sequence[Job],
    shelf: Shelf,
    stop: StopSignals,
) -> None:
    """Until all processes have ended. What is left is estimated from the first step on: before it,
    images are read and steps measured."""
    before = sum(done_of(job, shelf) for job in mine)
    beginning = bar.add_task("reading images, measuring a step", total=None)
    task = None
    while any(worker.is_alive() for worker in workers) and stop.received is None:
        time.sleep(LOOK_EVERY)
        done = sum(done_of(job, shelf) for job in mine)
        if task is None and done > before:
            bar.remove_task(beginning)
            task = bar.add_task("studies", total=len(mine), completed=done)  # type: ignore[arg-type]
        elif task is not None:
            bar.update(task, completed=done)


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
    first = RunFolder(folder.path / PRE_LEARNT)
    parts = [folder, first] if first.started else [folder]
    return TRAINING_SHARE * sum(map(_trained, parts)) / len(parts)


def _trained(folder: RunFolder) -> float:
    log = folder.read_log()
    epochs = folder.read_settings().optimisation.epochs
    return min(1.0, float(log[-1]["epoch"]) / epochs) if log else 0.0
