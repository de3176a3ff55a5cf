"""Trainer: everything that changes while a run goes on, one step of it, and its state on disk."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from pseudoshot.backbones import Backbone, compiled
from pseudoshot.class_sources import Draw
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder
from pseudoshot.evaluation.pseudo_tasks import pseudo_accuracies
from pseudoshot.methods import METHODS, Batch, Loss, Method
from pseudoshot.readings import COMPLETE, PLAIN
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.adapting import (
    LOOKED_AT,
    SHOWN_PER_CLASS,
    Verdict,
    adapts,
    judge,
    same_neighbours,
    told_by_labels,
    weights_digest,
)
from pseudoshot.training.averaging import averaged
from pseudoshot.training.base_images import FEWEST_HELD_OUT, BaseImages
from pseudoshot.training.first_embedder import first_embedder, telling_views, unaltered_start
from pseudoshot.training.optimiser import build_optimiser, learning_rate
from pseudoshot.training.processes import Team, synchronise_batch_norm
from pseudoshot.training.refusing import (
    refuse_nan,
    refuse_nothing_trained,
    refuse_same_views,
    refuse_statistics,
    refuse_too_few,
)
from pseudoshot.training.state import TrainingState
from pseudoshot.views import get_policy
from pseudoshot.views.draw import draw_views


class Trainer:
    """A method in training on one image set; every random draw is its own."""

    def __init__(self, settings: RunSettings, images: ImageSet, team: Team) -> None:
        torch.manual_seed(settings.seed)  # of weights and dropout
        self.generator = torch.Generator().manual_seed(settings.seed)  # of images, views, tasks
        self.settings, self.images, self.team = settings, images, team
        self.policy = get_policy(settings.views)
        self.base = BaseImages(images, settings.class_source, self.generator)
        self.embedder = first_embedder(settings, images)
        self.start = unaltered_start(settings)  # None unless a trained network is trained on
        if self.start is not None:
            refuse_too_few(settings, images, len(self.base.held_out))
        method = METHODS[settings.method.name]
        self.method = method(self.embedder.backbone, settings.method, self.base.source.classes)
        refuse_same_views(settings, self.method, self.policy)
        visits = self.base.source.steps_per_epoch(settings.method.images, settings.method.V)
        self.steps_per_epoch = settings.optimisation.episodes_per_epoch or visits
        self.steps = settings.optimisation.epochs * self.steps_per_epoch
        self.step = 0
        self._seconds, self._began = 0.0, time.monotonic()  # before, and when this part began
        self._cpu_seconds, self._cpu_began = 0.0, time.process_time()

        groups = self.method.parameter_groups()
        refuse_nothing_trained(settings, self.embedder.backbone, groups)
        self.optimiser = build_optimiser(
            settings.optimisation.optimiser, groups, settings.optimisation.lr
        )
        if team.size > 1:
            refuse_statistics(self.method, settings.optimisation.sync_bn)
        if team.size > 1 and settings.optimisation.sync_bn:
            for encoder in self.method.encoders:
                synchronise_batch_norm(encoder)
        self.average = averaged(self.embedder.backbone, settings.optimisation.averaging)
        self._method, self._optimiser = team.fabric.setup(self.method, self.optimiser)
        self._method.mark_forward_method("loss")

    @property
    def seconds(self) -> float:
        """Spent training so far, over all resumptions."""
        return self._seconds + time.monotonic() - self._began

    @property
    def cpu_seconds(self) -> float:
        """The same in time of the processor, all threads of this process together; no other program
        makes it more."""
        return self._cpu_seconds + time.process_time() - self._cpu_began

    @property
    def epoch(self) -> float:
        """How many are done."""
        return self.step / self.steps_per_epoch

    @property
    def epoch_ends(self) -> bool:
        return self.step % self.steps_per_epoch == 0

    def train_step(self) -> Loss:
        """Draw, view, embed, step: one episode."""
        lr = learning_rate(self.settings.optimisation, self.step, self.steps_per_epoch)
        for group in self.optimiser.param_groups:
            group["lr"] = lr * group["lr_scale"]
        if self.epoch_ends:
            self.begin_epoch()
        batch = self._next_batch()
        self.method.before_step()
        # Fabric enters its precision by itself only where a strategy wraps the module
        with gradients_of(self.method), self.team.fabric.autocast():
            loss: Loss = self._method.loss(batch)
        if loss.embeddings is not None and loss.embeddings.requires_grad:
            loss.embeddings.retain_grad()
        self.team.fabric.backward(loss.value)
        refuse_nan(loss, self.method, self.step)  # before the weights are touched
        if self.step < self.settings.optimisation.frozen_epochs * self.steps_per_epoch:
            self.embedder.backbone.zero_grad()  # what has no gradient, no optimiser changes
        self._optimiser.step()
        self._optimiser.zero_grad()
        self.method.after_step()
        if self.average is not None:
            self.average.update_parameters(self.embedder.backbone)
        self.step += 1
        return loss

    def begin_epoch(self) -> None:
        """Where its class source looks at images."""
        method = self.settings.method
        self.base.begin_epoch(self.embedder, method.images, method.V, self.team)

    def _draw(self) -> Draw:
        """The next pseudo-classes, as many for each process, in whole tasks or sets."""
        method = self.settings.method
        drawn = self.base.draw(method.images, method.V)
        parts = self.team.size * method.unit
        shared = len(drawn.rows) - len(drawn.rows) % parts
        if shared < min(method.fewest, method.images):
            raise PseudoshotError(
                f"class source '{self.settings.class_source.name}' has made {len(drawn.rows)} "
                f"pseudo-classes of {method.V} images, and method '{method.name}' needs "
                f"{max(method.fewest, parts)}: choose another class source, or settings with which "
                f"it makes more"
            )
        return drawn.first(shared)

    def _next_batch(self) -> Batch:
        drawn = self._draw()
        views = self._views_of(self.team.part(drawn.rows))
        return Batch(
            self.embedder.normalise(views.to(self.team.fabric.device)),
            self.generator,
            drawn.classes,
            drawn.partition,
            self.team.join,
            self.embedder.unnormalise,
        )

    def _views_of(self, rows: Tensor) -> Tensor:
        """Each role's members by the policy that the method asks for, (C, V, c, h, w)."""
        generator = self.team.generator(self.generator)
        roles = self.method.policies(self.policy)
        parts = torch.split(rows, [count for count, _ in roles], 1)
        drawn = [
            draw_views(self.images, part, policy, generator)
            for part, (_, policy) in zip(parts, roles, strict=True)
        ]
        if len({views.shape[2:] for views in drawn}) > 1:
            raise PseudoshotError(
                f"method '{self.settings.method.name}' has views of several sizes in an episode: "
                f"leave --view-scale at 1"
            )
        return drawn[0] if len(drawn) == 1 else torch.cat(drawn, 1)

    def result(self) -> Embedder:
        """What the run leaves behind: the embedding as trained, or the average of its weights."""
        if self.average is None:
            return self.embedder
        backbone = self.average.module
        assert isinstance(backbone, Backbone)
        return Embedder(backbone, self.embedder.card)

    def finished(self, verdict: Verdict | None) -> Embedder:
        """The result, or the start where the verdict is for it, with the centre of whatever reading
        it may be given."""
        result = self.result()
        if verdict is not None and verdict.kept == "start":
            assert self.start is not None
            result = self.start
        complete = COMPLETE.fitting(result.card.characters)
        centred = result.read_as(complete).centred_on(self.images)
        return centred.read_as(result.card.reading)

    def verdict(self) -> Verdict | None:
        """Which of start and end is to be kept, where a trained network went on and it is asked."""
        if self.start is None or self.settings.optimisation.keep == "end":
            return None
        self.start.to(self.team.fabric.device)
        start, end = self.start.read_as(PLAIN), self.result().read_as(PLAIN)
        if not adapts(self.settings):
            return judge(self._by_labels(start), self._by_labels(end), None, by_labels=True)
        neighbours = None
        if self.start.card.knows_more:
            chosen = self.images.images[:: -(-len(self.images) // LOOKED_AT)]
            neighbours = same_neighbours(
                start.embed(chosen, bar=False), end.embed(chosen, bar=False)
            )
        return judge(self._scores(start), self._scores(end), neighbours)

    def label_free_score(self) -> float | None:
        """Accuracy on pseudo tasks of the held-out images; None where there are too few."""
        if len(self.base.held_out) < FEWEST_HELD_OUT:
            return None
        return float(self._scores(self.result().read_as(PLAIN)).mean())

    def _scores(self, embedder: Embedder) -> Tensor:
        """Of each held-out image."""
        similarity, views = self.settings.method.test_similarity, telling_views(self.settings)
        return pseudo_accuracies(embedder, self.base.held_out, views, similarity)

    def _by_labels(self, embedder: Embedder) -> Tensor:
        """Of each held-out image, told by images trained on; no label beyond those of the part."""
        similarity = self.settings.method.test_similarity
        shown, queries = self.base.labelled(SHOWN_PER_CLASS)
        return told_by_labels(lambda s: embedder.embed(s, bar=False), shown, queries, similarity)

    def state(self) -> TrainingState:
        return TrainingState(
            step=self.step,
            seconds=self.seconds,
            cpu_seconds=self.cpu_seconds,
            images=self.images.fingerprint(),
            method=self.method.state_dict(),
            optimiser=self.optimiser.state_dict(),
            source=self.base.source.state_dict(),
            generator=self.generator.get_state(),
            dropout_generator=torch.get_rng_state(),
            dropout_generators_on_gpus=torch.cuda.get_rng_state_all(),
            average=None if self.average is None else self.average.state_dict(),
            start=None if self.start is None else weights_digest(self.start),
            card=self.embedder.card.model_dump(mode="json"),
            epoch=self.epoch,
        )

    def restore(self, state: TrainingState) -> None:
        if state.images != self.images.fingerprint():
            raise PseudoshotError(
                f"cannot resume: the images of '{self.images.name}' are not those the run began "
                f"with; restore them, or start anew with another --out"
            )
        start = None if self.start is None else weights_digest(self.start)
        if None not in (start, state.start) and state.start != start:  # earlier runs may not say
            raise PseudoshotError(
                f"cannot resume: '{self.settings.start_from}' is not the network the run began "
                f"with; restore it, or start anew with another --out"
            )
        try:
            self._load(state)
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
            raise PseudoshotError(
                f"cannot resume: the checkpoint is not of this run ({str(error).splitlines()[0]})"
            ) from error

    def _load(self, state: TrainingState) -> None:
        self.step = state.step
        self._seconds, self._began = state.seconds, time.monotonic()
        self._cpu_seconds, self._cpu_began = state.cpu_seconds or 0.0, time.process_time()
        self.method.load_state_dict(state.method)
        self.optimiser.load_state_dict(state.optimiser)
        if self.average is not None:
            if state.average is None:
                raise ValueError("it holds no average of the weights")
            self.average.load_state_dict(state.average)
        self.base.source.load_state_dict(state.source)
        self.generator.set_state(state.generator)
        torch.set_rng_state(state.dropout_generator)
        torch.cuda.set_rng_state_all(state.dropout_generators_on_gpus)


def gradients_of(method: Method) -> AbstractContextManager[None]:
    """Where a loss is computed: with modules alone if it holds gradients of the backbone."""
    return compiled.set_aside() if method.second_order else nullcontext()
