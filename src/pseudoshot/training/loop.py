"""The training loop: draw, view, embed, step; everything it needs to continue is in one state."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from pseudoshot.allocator import keep_freed_memory
from pseudoshot.backbones import build_backbone
from pseudoshot.class_sources import ClassSource, Exemplars
from pseudoshot.console import console, progress_bar
from pseudoshot.data import ImageSet
from pseudoshot.errors import PseudoshotError
from pseudoshot.evaluation.pseudo_tasks import pseudo_accuracy
from pseudoshot.methods import METHODS, Batch, Loss, Method
from pseudoshot.model import Embedder, ModelCard, channel_statistics
from pseudoshot.training.optimiser import build_optimiser, cosine_annealed
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.settings import RunSettings
from pseudoshot.views import get_policy
from pseudoshot.views.draw import draw_views

LOG_EVERY = 10  # steps
CHECKPOINT_EVERY = 60.0  # seconds, and at the end of each epoch
HELD_OUT = 256  # images kept from training for the label-free score, at most one in twenty


@dataclass
class Trainer:
    """All that changes while a run goes on, and how to save and restore it."""

    method: Method
    optimiser: torch.optim.Optimizer
    source: ClassSource
    generator: torch.Generator  # of every draw: images, views, tasks
    step: int = 0
    seconds: float = 0.0  # spent training so far, over all resumptions

    def state_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "seconds": self.seconds,
            "method": self.method.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "source": self.source.state_dict(),
            "generator": self.generator.get_state(),
            "dropout_generator": torch.get_rng_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.step, self.seconds = state["step"], state["seconds"]
        self.method.load_state_dict(state["method"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.source.load_state_dict(state["source"])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["dropout_generator"])


class Clock:
    """Seconds trained, images a second, and when the next checkpoint is due."""

    def __init__(self, seconds_before: float) -> None:
        self.started = self.last_step = self.last_checkpoint = time.monotonic()
        self.seconds_before = seconds_before
        self.smoothed = 0.0

    def seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.started

    def rate(self, images: int) -> float:
        """Images a second, smoothed over the last ten steps or so."""
        now = time.monotonic()
        latest = images / max(now - self.last_step, 1e-9)
        self.smoothed = 0.9 * self.smoothed + 0.1 * latest if self.smoothed else latest
        self.last_step = now
        return self.smoothed

    def checkpoint_due(self) -> bool:
        due = time.monotonic() - self.last_checkpoint > CHECKPOINT_EVERY
        if due:
            self.last_checkpoint = time.monotonic()
        return due


def run_training(settings: RunSettings, images: ImageSet, folder: RunFolder) -> Embedder:
    """Train from the folder's checkpoint, or from the start where there is none, to the end."""
    keep_freed_memory()
    fabric = Fabric(devices=1)
    torch.manual_seed(settings.seed)
    generator = torch.Generator().manual_seed(settings.seed)
    held_out, base = _hold_out(len(images), generator)
    episode = settings.method_settings()
    policy = get_policy(settings.views)
    trainer, embedder = _build(settings, images, len(base), generator)
    steps_per_epoch = trainer.source.steps_per_epoch(episode.images, episode.views)
    steps = settings.epochs * steps_per_epoch
    method, optimiser = fabric.setup(trainer.method, trainer.optimiser)
    method.mark_forward_method("loss")
    _start(folder, settings, trainer)

    score_set = images.take(held_out.numpy())
    clock = Clock(trainer.seconds)
    with progress_bar("loss {task.fields[loss]}", "{task.fields[speed]}") as bar:
        shown = bar.add_task("training", total=steps, completed=trainer.step, loss="-", speed="")
        while trainer.step < steps:
            for group in optimiser.param_groups:
                group["lr"] = cosine_annealed(settings.lr, trainer.step, steps)
            rows = base[trainer.source.draw(episode.images, episode.views)]
            views = draw_views(images, rows, policy, generator).to(fabric.device)
            loss = method.loss(Batch(embedder.normalise(views), generator))
            _refuse_nan(loss, trainer.step, folder)
            loss.embeddings.retain_grad()
            fabric.backward(loss.value)
            optimiser.step()
            optimiser.zero_grad()
            trainer.method.after_step()
            trainer.step += 1
            trainer.seconds = clock.seconds()

            speed = clock.rate(episode.images)
            bar.update(
                shown, advance=1, loss=f"{loss.value.item():.3f}", speed=f"{speed:.0f} images/s"
            )
            epoch_ends = trainer.step % steps_per_epoch == 0
            if trainer.step % LOG_EVERY == 0 or epoch_ends:
                record = _record(loss, trainer, trainer.step / steps_per_epoch, speed)
                if epoch_ends and len(score_set) > 1:
                    record["pseudo_accuracy"] = pseudo_accuracy(
                        embedder, score_set, policy, episode.similarity
                    )
                folder.append_log(record)
                if epoch_ends:
                    _say_epoch(record, settings.epochs)
            if epoch_ends or clock.checkpoint_due():
                folder.save_checkpoint(trainer.state_dict())
    embedder.save(folder.path)
    return embedder


def _hold_out(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows kept from training, and rows to train on."""
    order = torch.randperm(count, generator=generator)
    held_out = min(HELD_OUT, count // 20)
    return order[:held_out], order[held_out:].sort().values


def _build(
    settings: RunSettings, images: ImageSet, base: int, generator: torch.Generator
) -> tuple[Trainer, Embedder]:
    mean, std = channel_statistics(images)
    card = ModelCard(
        backbone=settings.backbone,
        channels=images.channels,
        size=images.size,
        mean=tuple(mean),
        std=tuple(std),
        similarity=settings.method_settings().similarity,
        trained_on=images.name,
    )
    backbone = build_backbone(settings.backbone, images.channels, images.size)
    method = METHODS[settings.method](backbone, settings.method_settings())
    optimiser = build_optimiser(settings.optimiser, method.parameters(), settings.lr)
    source = Exemplars(base, generator)
    return Trainer(method, optimiser, source, generator), Embedder(backbone, card)


def _start(folder: RunFolder, settings: RunSettings, trainer: Trainer) -> None:
    if not folder.started:
        folder.write_settings(settings)
        return
    state = folder.load_checkpoint()
    if state is not None:
        trainer.load_state_dict(state)
        console.print(f"resuming '{folder.path}' at step {trainer.step}")
    folder.truncate_log(trainer.step)


def _refuse_nan(loss: Loss, step: int, folder: RunFolder) -> None:
    value = loss.value.item()
    if not math.isfinite(value):
        kept = "its last checkpoint is kept" if folder.checkpoint_path.is_file() else "none is kept"
        raise PseudoshotError(
            f"the loss became {value} at step {step} and training stopped ({kept}): "
            f"try a lower --lr or a higher --temperature"
        )


def _record(loss: Loss, trainer: Trainer, epoch: float, speed: float) -> dict[str, Any]:
    """One line of the log: the curves of the paper's Figures 2 and 3."""
    norms = loss.embeddings.detach().norm(dim=1)
    gradients = loss.embeddings.grad
    assert gradients is not None
    return {
        "step": trainer.step,
        "epoch": epoch,
        "loss": loss.value.item(),
        "lr": trainer.optimiser.param_groups[0]["lr"],
        "norm_mean": norms.mean().item(),
        "norm_std": norms.std().item(),
        "gradient_norm": gradients.norm(dim=1).mean().item(),
        "images_per_second": speed,
        "seconds": trainer.seconds,
        **loss.scalars,
    }


def _say_epoch(record: dict[str, Any], epochs: int) -> None:
    score = record.get("pseudo_accuracy")
    shown = f", pseudo tasks {score:.1f} %" if score is not None else ""
    console.print(
        f"epoch {record['epoch']:.0f} of {epochs}: loss {record['loss']:.3f}{shown}, "
        f"{record['seconds']:.0f} s"
    )
