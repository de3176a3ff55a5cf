"""The training loop, in plain sight."""

from __future__ import annotations

import time

from pseudoshot.allocator import keep_freed_memory
from pseudoshot.console import console
from pseudoshot.data import ImageSet
from pseudoshot.errors import StoppedError
from pseudoshot.model import Embedder
from pseudoshot.training.journal import Journal
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.settings import RunSettings
from pseudoshot.training.signals import StopSignals
from pseudoshot.training.trainer import Trainer

CHECKPOINT_EVERY = 60.0  # seconds, and at the end of each epoch


def run_training(settings: RunSettings, images: ImageSet, folder: RunFolder) -> Embedder:
    """Train from the folder's checkpoint, or from the start where there is none, to the end."""
    keep_freed_memory()
    trainer = Trainer(settings, images)
    _start(folder, trainer)
    last_checkpoint = time.monotonic()
    with Journal(trainer, folder) as journal, StopSignals() as stop:
        while trainer.step < trainer.steps:
            loss = trainer.train_step()
            journal.note(loss)
            due = time.monotonic() - last_checkpoint > CHECKPOINT_EVERY
            if trainer.epoch_ends or due or stop.received:
                folder.save_checkpoint(trainer.state_dict())
                last_checkpoint = time.monotonic()
            if stop.received and trainer.step < trainer.steps:
                raise StoppedError(
                    f"stopped by {stop.received.name} after step {trainer.step} of "
                    f"{trainer.steps}, which is saved: continue with --resume",
                    code=128 + stop.received,
                )
    if trainer.method.head is not None:
        folder.save_head(trainer.method.head)
    trainer.embedder.save(folder.path)
    return trainer.embedder.eval()


def _start(folder: RunFolder, trainer: Trainer) -> None:
    if not folder.started:
        folder.write_settings(trainer.settings)
        return
    state = folder.load_checkpoint()
    if state is not None:
        trainer.load_state_dict(state)
    folder.truncate_log(trainer.step)
    console.print(f"resuming '{folder.path}' at step {trainer.step} of {trainer.steps}")
