"""Trainer: everything that changes while a run goes on, one step of it, and its state on disk."""

from __future__ import annotations

import math
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from pseudoshot.backbones import build_backbone
from pseudoshot.class_sources import ClassSource, Exemplars
from pseudoshot.data import ImageSet
from pseudoshot.errors import PseudoshotError
from pseudoshot.evaluation.pseudo_tasks import pseudo_accuracy
from pseudoshot.methods import METHODS, Batch, Loss
from pseudoshot.model import Embedder, ModelCard, channel_statistics
from pseudoshot.training.optimiser import build_optimiser, cosine_annealed
from pseudoshot.training.settings import RunSettings
from pseudoshot.views import get_policy
from pseudoshot.views.draw import draw_views

HELD_OUT = 256  # images kept from training for the label-free score, at most one in twenty


class Trainer:
    """A method in training on one image set; every random draw is its own."""

    def __init__(self, settings: RunSettings, images: ImageSet) -> None:
        torch.manual_seed(settings.seed)  # of weights and dropout
        self.generator = torch.Generator().manual_seed(settings.seed)  # of images, views, tasks
        self.settings = settings
        self.episode = settings.method_settings()
        self.policy = get_policy(settings.views)
        self.images = images
        held_out, self.base = _hold_out(len(images), self.generator)
        self.held_out = images.take(held_out.numpy())
        self.source: ClassSource = Exemplars(len(self.base), self.generator)
        self.steps_per_epoch = self.source.steps_per_epoch(self.episode.images, self.episode.views)
        self.steps = settings.epochs * self.steps_per_epoch
        self.step = 0
        self.seconds = 0.0  # spent training so far, over all resumptions

        self.embedder = _untrained(settings, images)
        self.method = METHODS[settings.method](self.embedder.backbone, self.episode)
        self.optimiser = build_optimiser(settings.optimiser, self.method.parameters(), settings.lr)
        self.fabric = Fabric(devices=1)
        self._method, self._optimiser = self.fabric.setup(self.method, self.optimiser)
        self._method.mark_forward_method("loss")

    def train_step(self) -> Loss:
        """Draw, view, embed, step: one episode."""
        for group in self.optimiser.param_groups:
            group["lr"] = cosine_annealed(self.settings.lr, self.step, self.steps)
        rows = self.base[self.source.draw(self.episode.images, self.episode.views)]
        views = draw_views(self.images, rows, self.policy, self.generator).to(self.fabric.device)
        loss: Loss = self._method.loss(Batch(self.embedder.normalise(views), self.generator))
        loss.embeddings.retain_grad()
        self.fabric.backward(loss.value)
        self._refuse_nan(loss)  # before the weights are touched
        self._optimiser.step()
        self._optimiser.zero_grad()
        self.method.after_step()
        self.step += 1
        return loss

    def _refuse_nan(self, loss: Loss) -> None:
        gradient = loss.embeddings.grad
        assert gradient is not None
        for what, value in (("loss", loss.value), ("gradient", gradient.abs().sum())):
            if not math.isfinite(value.item()):
                raise PseudoshotError(
                    f"the {what} became {value.item()} at step {self.step} and training stopped; "
                    f"no checkpoint holds it: start anew with a lower --lr"
                )

    @property
    def epoch_ends(self) -> bool:
        return self.step % self.steps_per_epoch == 0

    def label_free_score(self) -> float | None:
        """Accuracy on pseudo tasks of the held-out images; None where there are too few."""
        if len(self.held_out) < 2:
            return None
        return pseudo_accuracy(self.embedder, self.held_out, self.policy, self.episode.similarity)

    def state_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "seconds": self.seconds,
            "images": self.images.fingerprint(),
            "method": self.method.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "source": self.source.state_dict(),
            "generator": self.generator.get_state(),
            "dropout_generator": torch.get_rng_state(),
            "dropout_generators_on_gpus": torch.cuda.get_rng_state_all(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["images"] != self.images.fingerprint():
            raise PseudoshotError(
                f"cannot resume: the images of '{self.images.name}' are not those the run began "
                f"with; restore them, or start anew with another --out"
            )
        self.step, self.seconds = state["step"], state["seconds"]
        self.method.load_state_dict(state["method"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.source.load_state_dict(state["source"])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["dropout_generator"])
        torch.cuda.set_rng_state_all(state["dropout_generators_on_gpus"])


def _hold_out(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows kept from training, and rows to train on."""
    order = torch.randperm(count, generator=generator)
    held_out = min(HELD_OUT, count // 20)
    return order[:held_out], order[held_out:].sort().values


def _untrained(settings: RunSettings, images: ImageSet) -> Embedder:
    mean, std = channel_statistics(images)
    card = ModelCard(
        backbone=settings.backbone,
        channels=images.channels,
        size=images.size,
        mean=tuple(mean),
        std=tuple(std),
        similarity=settings.method_settings().similarity,
        trained_on=", ".join(filter(None, (images.name, images.note))),
    )
    return Embedder(build_backbone(settings.backbone, images.channels, images.size), card)
