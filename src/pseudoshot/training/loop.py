"""The training loop, in plain sight."""

from __future__ import annotations

import time

from pseudoshot.allocator import keep_freed_memory
from pseudoshot.console import console
from pseudoshot.data import ImageSet
from pseudoshot.model import Embedder
from pseudoshot.training.journal import Journal
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.settings import RunSettings
from pseudoshot.training.trainer import Trainer

CHECKPOINT_EVERY = 60.0  # seconds, and at the end of each epoch


def run_training(settings: RunSettings, images: ImageSet, folder: RunFolder) -> Embedder:
    """Train from the folder's checkpoint, or from the start where there is none, to the end."""
    keep_freed_memory()
    trainer = Trainer(settings, images)
    _start(folder, trainer)
    last_checkpoint = time.monotonic()
    with Journal(trainer, folder) as journal:
        while trainer.step < trainer.steps:
            loss = trainer.train_step()
            journal.note(loss)
            if trainer.epoch_ends or time.monotonic() - last_checkpoint > CHECKPOINT_EVERY:
                folder.save_checkpoint(trainer.state_dict())
                last_checkpoint = time.monotonic()
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
