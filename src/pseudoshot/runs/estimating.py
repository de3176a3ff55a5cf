"""What a training would be: its settings, steps, time and memory, with nothing left behind."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.class_sources.exemplars import Exemplars
from pseudoshot.class_sources.reciprocal_clusters import round_epochs
from pseudoshot.data import ImageSet
from pseudoshot.runs.pre_learning import check_looked_at, pre_learning_options
from pseudoshot.runs.training import gather, images_of, with_usual_start
from pseudoshot.settings.config import to_toml
from pseudoshot.settings.resolve import resolve
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.allocator import keep_freed_memory
from pseudoshot.tools.console import console, duration
from pseudoshot.tools.registry import PartSettings
from pseudoshot.training.first_embedder import start_of
from pseudoshot.training.processes import Team, build_fabric
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.trainer import Trainer

WARM_UP, MEASURED = 2, 5  # steps
LONG_ENOUGH = 20.0  # seconds, after which one measured step will do


@dataclass(frozen=True)
class DryRun:
    """A run as it would be, on this machine and one device."""

    settings: RunSettings
    images: int
    steps: int
    seconds_per_step: float
    cpu_seconds_per_step: float  # of the processor, all threads together
    steps_per_epoch: int
    memory: int | None  # bytes at the peak of the steps measured; None where it cannot be told
    first: DryRun | None = None  # the run that is trained before it, where one is
    cpu_seconds_per_round: float = 0.0  # of finding clusters anew, where it was asked for
    steps_beside: float = math.nan  # of a training beside it, in the CPU time of one of its own

    @property
    def seconds(self) -> float:
        return self.steps * self.seconds_per_step

    @property
    def cost(self) -> str:
        """What a person wants to know before it starts."""
        memory = "" if self.memory is None else f", memory {self.memory / 2**30:.1f} GB"
        start = self.settings.start_from
        first, looks = self.first, CLASS_SOURCES[self.settings.class_source.name].looks
        return (
            ("" if first is None else f"{first.settings.method.name}: {first.cost}; then ")
            + ("" if start is None else f"starting from {start}: ")
            + f"{self.images:,} images, {self.steps:,} steps of {self.seconds_per_step:.2f} s: "
            + f"about {duration(self.seconds)} on this machine{memory}"
            + (", and what it takes to find clusters" if looks else "")
        )

    def __str__(self) -> str:
        """A file for `--config`; what was measured stands in a comment."""
        return f"# {self.cost}\n{to_toml(self.settings)}"


def dry_run(
    data: str | Path,
    *,
    config: str | Path | None = None,
    data_root: Path | None = None,
    options: Mapping[str, Any],
    measured: int = MEASURED,
    rounds: bool = False,
    beside: Trainer | None = None,
) -> DryRun:
    """Resolve the settings and make a few steps, which are thrown away.

    Clusters may take minutes, and steps as long without them: only with `rounds` are those found
    that a training finds anew, to tell what it takes. Steps of a training `beside` it are made in
    turn with these, to tell how many of them a step takes as long as.

    >>> print(dry_run("glyphs", options={"epochs": 2}))  # doctest: +SKIP
    """
    given = with_usual_start(gather(data, config, dict(options)), data_root)
    settings = resolve(given, start_of(given))
    images = images_of(settings, data_root)
    check_looked_at(settings, images)
    before = pre_learning_options(settings, len(images))
    first = None
    if before is not None:
        first = dry_run(data, data_root=data_root, options=before, measured=measured, beside=beside)
    trainer = unsaved_trainer(settings, images)
    anew = rounds and round_epochs(settings.class_source) is not None
    round_seconds = _round_seconds(trainer) if anew else 0.0
    if trainer.base.source.looks:
        count = trainer.base.source.count
        trainer.base.source = Exemplars(PartSettings(), count, None, trainer.generator)
    step = measure_steps(trainer, measured, beside)
    time_taken = (step.clock, step.processor, trainer.steps_per_epoch, _peak_memory())
    about = (len(images), trainer.steps, *time_taken, first, round_seconds)
    return DryRun(settings, *about, step.beside)


def unsaved_trainer(settings: RunSettings, images: ImageSet) -> Trainer:
    """In one process, and without a folder."""
    keep_freed_memory()
    fabric = build_fabric(1, 1, settings.optimisation.precision)
    return Trainer(settings, images, Team(fabric))


def _round_seconds(trainer: Trainer) -> float:
    """What it takes to find clusters, of the processor."""
    start = time.process_time()
    trainer.begin_epoch()
    return time.process_time() - start


class StepTime(NamedTuple):
    """What a step takes, the median of a few."""

    clock: float
    processor: float
    beside: float  # steps of the training beside it, by the processor; nan where there is none


def measure_steps(trainer: Trainer, count: int, beside: Trainer | None = None) -> StepTime:
    """Each step is compared with the one beside it that follows: a machine is not as fast in one
    minute as in the next, and both are made in the same."""
    clock: list[float] = []
    processor: list[float] = []
    ratios: list[float] = []
    while len(clock) < WARM_UP + count and not (clock[1:] and sum(clock) > LONG_ENOUGH):
        start = time.perf_counter()
        processor.append(_cpu_seconds_of_a_step(trainer))
        clock.append(time.perf_counter() - start)
        if beside is not None:
            ratios.append(processor[-1] / _cpu_seconds_of_a_step(beside))
    warm = min(WARM_UP, len(clock) - 1)
    ratio = median(ratios[warm:]) if ratios else math.nan
    return StepTime(median(clock[warm:]), median(processor[warm:]), ratio)


def _cpu_seconds_of_a_step(trainer: Trainer) -> float:
    start = time.process_time()
    trainer.train_step()
    return time.process_time() - start


def announce(
    data: str | Path,
    out: Path,
    *,
    config: str | Path | None = None,
    data_root: Path | None = None,
    options: Mapping[str, Any],
) -> None:
    """Say what a training will take, before it starts; what would be refused is refused first."""
    folder = RunFolder(out)
    with folder.held():
        folder.check_new()
    run = dry_run(data, config=config, data_root=data_root, options=options, measured=2)
    console.print(run.cost, markup=False, highlight=False, soft_wrap=True)


def _peak_memory() -> int | None:
    """Of this process since it began."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
