"""The training loop, in plain sight."""

from __future__ import annotations

import signal
import time

from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.allocator import keep_freed_memory
from pseudoshot.tools.console import console
from pseudoshot.tools.errors import PseudoshotError, StoppedError
from pseudoshot.training.journal import Journal
from pseudoshot.training.processes import Team
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.signals import StopSignals
from pseudoshot.training.trainer import Trainer

CHECKPOINT_EVERY = 60.0  # seconds, and at the end of each epoch


def run_training(
    settings: RunSettings, images: ImageSet, folder: RunFolder, team: Team
) -> Embedder:
    """Train from the folder's checkpoint, or from the start where there is none, to the end."""
    keep_freed_memory()
    trainer = Trainer(settings, images, team)
    _start(folder, trainer)
    last_checkpoint = time.monotonic()
    with Journal(trainer, folder) as journal, StopSignals() as stop:
        while trainer.step < trainer.steps:
            loss = trainer.train_step()
            journal.note(loss)
            stopped = team.any(stop.received is not None)
            due = time.monotonic() - last_checkpoint > CHECKPOINT_EVERY
            if team.leads and (trainer.epoch_ends or due or stopped):
                folder.save_checkpoint(trainer.state())
                last_checkpoint = time.monotonic()
            if stopped and trainer.step < trainer.steps:
                raise _stopped(trainer, stop.received or signal.SIGTERM)
    verdict = trainer.verdict()
    embedder = trainer.finished(verdict).eval()
    if team.leads:
        if verdict is not None:
            folder.write_verdict(verdict)
            console.print(verdict.in_words, markup=False, soft_wrap=True)
        if trainer.method.head is not None and (verdict is None or verdict.kept == "end"):
            folder.save_head(trainer.method.head)
        embedder.save(folder.path)
    embedder.folder = folder.path  # where its head is
    return embedder


def _start(folder: RunFolder, trainer: Trainer) -> None:
    """Every process reads; one writes, once all have read."""
    team, started = trainer.team, folder.started
    state = folder.load_checkpoint() if started else None
    if state is not None:
        trainer.restore(state)
    _refuse_the_past(folder, trainer)
    team.fabric.barrier()
    if not team.leads:
        return
    if started:
        folder.set_epochs(trainer.settings, trainer.step)
        folder.truncate_log(trainer.step)
        if trainer.step:
            console.print(f"resuming '{folder.path}' at step {trainer.step} of {trainer.steps}")
    else:
        folder.write_settings(trainer.settings)


def _refuse_the_past(folder: RunFolder, trainer: Trainer) -> None:
    """A run cannot be trained for less than it was, nor further from nothing."""
    epochs = trainer.settings.optimisation.epochs
    if trainer.step > trainer.steps:
        raise PseudoshotError(
            f"'{folder.path}' has been trained for {trainer.epoch:.4g} epochs already: --epochs "
            f"must be at least as many, not {epochs}"
        )
    if folder.finished and trainer.step == 0:
        raise PseudoshotError(
            f"'{folder.path}' cannot be trained further, its checkpoint is not there any more: "
            f"train another run with --start-from {folder.path}"
        )


def _stopped(trainer: Trainer, received: signal.Signals) -> StoppedError:
    return StoppedError(
        f"stopped by {received.name} after step {trainer.step} of {trainer.steps}, "
        f"which is saved: continue with --resume",
        code=128 + received,
    )
