"""Trainer: everything that changes while a run goes on, one step of it, and its state on disk."""

from __future__ import annotations

import math
from typing import Any

import torch

from pseudoshot.backbones import Backbone, build_backbone
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder, ModelCard, channel_statistics, load
from pseudoshot.evaluation.pseudo_tasks import pseudo_accuracy
from pseudoshot.methods import METHODS, Batch, Loss
from pseudoshot.settings.run import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.averaging import averaged
from pseudoshot.training.base_images import BaseImages
from pseudoshot.training.optimiser import build_optimiser, learning_rate
from pseudoshot.training.processes import Team, synchronise_batch_norm
from pseudoshot.views import get_policy
from pseudoshot.views.draw import draw_views


class Trainer:
    """A method in training on one image set; every random draw is its own."""

    def __init__(self, settings: RunSettings, images: ImageSet, team: Team) -> None:
        torch.manual_seed(settings.seed)  # of weights and dropout
        self.generator = torch.Generator().manual_seed(settings.seed)  # of images, views, tasks
        self.settings, self.team = settings, team
        self.episode = settings.method_settings()
        self.policy = get_policy(settings.views, settings.view_scale)
        self.images = images
        method = METHODS[settings.method]
        self.base = BaseImages(images, self.generator, method.labelled, settings.labels)
        visits = self.base.source.steps_per_epoch(self.episode.images, self.episode.views)
        self.steps_per_epoch = settings.episodes_per_epoch or visits
        self.steps = settings.epochs * self.steps_per_epoch
        self.step = 0
        self.seconds = 0.0  # spent training so far, over all resumptions

        self.embedder = _first_embedder(settings, images)
        self.method = method(self.embedder.backbone, self.episode, len(images.classes))
        groups = self.method.parameter_groups()
        self.optimiser = build_optimiser(settings.optimiser, groups, settings.lr)
        if settings.sync_bn and team.size > 1:
            synchronise_batch_norm(self.embedder.backbone)
        self.average = averaged(self.embedder.backbone, settings.averaging)
        self._method, self._optimiser = team.fabric.setup(self.method, self.optimiser)
        self._method.mark_forward_method("loss")

    def train_step(self) -> Loss:
        """Draw, view, embed, step: one episode."""
        lr = learning_rate(self.settings, self.step, self.steps_per_epoch)
        for group in self.optimiser.param_groups:
            group["lr"] = lr * group["lr_scale"]
        rows = self.base.draw(self.episode.images, self.episode.views)
        mine = self.team.part(rows)
        views = draw_views(self.images, mine, self.policy, self.team.generator(self.generator))
        batch = Batch(
            self.embedder.normalise(views.to(self.team.fabric.device)),
            self.generator,
            self.base.classes_of(rows),
            self.team.join,
        )
        loss: Loss = self._method.loss(batch)
        loss.embeddings.retain_grad()
        self.team.fabric.backward(loss.value)
        self._refuse_nan(loss)  # before the weights are touched
        self._optimiser.step()
        self._optimiser.zero_grad()
        self.method.after_step()
        if self.average is not None:
            self.average.update_parameters(self.embedder.backbone)
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

    def result(self) -> Embedder:
        """What the run leaves behind: the embedding as trained, or the average of its weights."""
        if self.average is None:
            return self.embedder
        backbone = self.average.module
        assert isinstance(backbone, Backbone)
        return Embedder(backbone, self.embedder.card)

    def label_free_score(self) -> float | None:
        """Accuracy on pseudo tasks of the held-out images; None where there are too few."""
        if len(self.base.held_out) < 2:
            return None
        return pseudo_accuracy(
            self.result(), self.base.held_out, self.policy, self.episode.similarity
        )

    def state_dict(self) -> dict[str, Any]:
        average = {} if self.average is None else {"average": self.average.state_dict()}
        return {
            **average,
            "step": self.step,
            "seconds": self.seconds,
            "images": self.images.fingerprint(),
            "method": self.method.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "source": self.base.source.state_dict(),
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
        try:
            self._restore(state)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise PseudoshotError(
                f"cannot resume: the checkpoint is not of this run ({str(error).splitlines()[0]})"
            ) from error

    def _restore(self, state: dict[str, Any]) -> None:
        self.step, self.seconds = state["step"], state["seconds"]
        self.method.load_state_dict(state["method"])
        self.optimiser.load_state_dict(state["optimiser"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        self.base.source.load_state_dict(state["source"])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["dropout_generator"])
        torch.cuda.set_rng_state_all(state["dropout_generators_on_gpus"])


def _first_embedder(settings: RunSettings, images: ImageSet) -> Embedder:
    """Untrained, or that of the run to start from, with what it says of images."""
    episode = settings.method_settings()
    made_for = METHODS[settings.method].test_classifier(episode)
    trained_on = ", ".join(filter(None, (images.name, images.note)))
    if settings.start_from is not None:
        embedder = load(settings.start_from)
        if embedder.card.channels != images.channels:
            raise PseudoshotError(
                f"'{settings.start_from}' was trained on images of {embedder.card.channels} "
                f"channels, those of '{images.name}' have {images.channels}"
            )
        trained_on = (
            f"{embedder.card.trained_on}; then {settings.labels:.0%} labels of {trained_on}"
        )
        changes = {
            "trained_on": trained_on,
            "similarity": episode.similarity,
            "classifier": made_for,
        }
        return Embedder(embedder.backbone, embedder.card.model_copy(update=changes)).train()
    mean, std = channel_statistics(images)
    card = ModelCard(
        backbone=settings.backbone,
        channels=images.channels,
        size=images.size,
        mean=tuple(mean),
        std=tuple(std),
        similarity=episode.similarity,
        classifier=made_for,
        trained_on=trained_on,
    )
    return Embedder(build_backbone(settings.backbone, images.channels, images.size), card)
