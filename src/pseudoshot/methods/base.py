"""What a method is: an objective that owns the backbone and whatever is trained beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.heads import Head, adapted_gram
from pseudoshot.methods.settings import HeadSettings, MethodSettings, TaskSettings
from pseudoshot.tasks.gram import task_loss
from pseudoshot.tasks.tasks import Tasks, exhaustive_tasks, resample_tasks
from pseudoshot.views import Policy


def _alone(embeddings: Tensor) -> Tensor:
    return embeddings


@dataclass(frozen=True)
class Batch:
    """One episode's views, normalised, (C, V, c, h, w), and where its random draws come from.

    Where several processes share an episode, each has the views of a part of its classes, and
    `join` makes the embeddings of all from each one's own.
    """

    views: Tensor
    generator: torch.Generator
    classes: Tensor  # (C,): which of all pseudo-classes each is
    partition: Tensor | None = None  # (C,): a task's classes come from one, where there are several
    join: Callable[[Tensor], Tensor] = _alone
    pixels: Callable[[Tensor], Tensor] = _alone  # what normalised views were, in [0, 1]

    def embed(self, backbone: nn.Module) -> Tensor:
        """φ of every view of the episode, (C·V, d), in full precision whatever the backbone's."""
        return self.join(backbone(self.views.flatten(0, 1)).to(self.views.dtype))


@dataclass
class Loss:
    value: Tensor
    # φ of every view, (C·V, d), where the objective has them: the log shows norms and gradients
    embeddings: Tensor | None = None
    scalars: dict[str, float] = field(default_factory=dict)  # whatever else is worth logging


class Method(nn.Module, ABC):
    """The loop asks for `loss`, `before_step` and `after_step`; what a method keeps, parameters and
    buffers, is in its state_dict. Only parameters that require a gradient are trained: those of a
    momentum encoder do not.
    """

    Settings: ClassVar[type[MethodSettings]]
    described: ClassVar[str]  # where the paper describes it
    # What it prefers to the recipe, by the names of options: {"class_source": "labels"}.
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    second_order: bool = False  # True: its loss holds gradients of the backbone
    mixes: ClassVar[bool] = False  # True: views with one another, so that they may be unaltered
    needs_sync_bn: ClassVar[bool] = False  # True: statistics of a share would tell its images

    def __init__(self, backbone: Backbone, settings: Any, classes: int = 0) -> None:
        super().__init__()
        self.backbone = backbone
        self.settings = settings
        self.head = self.build_head(backbone.dim, settings)

    @property
    def encoders(self) -> Sequence[nn.Module]:
        """The networks that each process gives its own share of the views."""
        return (self.backbone,)

    @classmethod
    def build_head(cls, dim: int, settings: Any) -> Head | None:
        """What is trained beside φ and kept in the run; used at test by some classifiers."""
        return None

    @classmethod
    def test_classifier(cls, settings: Any) -> dict[str, Any]:
        """The classifier that its embeddings are made for, with its settings; {}: prototype."""
        return {}

    def policies(self, views: Policy) -> Sequence[tuple[int, Policy]]:
        """How the V members of a pseudo-class are viewed: counts, and the policy of as many.

        One policy for all unless a method has roles: `((K, Identity()), (Q, views))` leaves the
        support as it is.
        """
        return ((self.settings.V, views),)

    @abstractmethod
    def loss(self, batch: Batch) -> Loss:
        """The episode's loss, differentiable."""

    def before_step(self) -> None:
        """Called before an episode's loss."""

    def after_step(self) -> None:
        """Called after the optimiser's step: momentum encoders, queues."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """What the optimiser learns; `lr_scale` multiplies the learning rate of a group."""
        head = [] if self.head is None else list(self.head.parameters())
        in_head = {id(parameter) for parameter in head}
        trained = [p for p in self.parameters() if p.requires_grad and id(p) not in in_head]
        groups = [{"params": trained, "lr_scale": 1.0}]
        if head:
            groups.append({"params": head, "lr_scale": self.settings.head_lr_scale})
        return groups


class EpisodicMethod(Method):
    """A method whose loss is that of tasks re-sampled from one episode's embeddings (Eq. 1)."""

    Settings = TaskSettings
    settings: TaskSettings

    def draw_tasks(self, batch: Batch) -> Tasks:
        """SES, or every one-shot split once."""
        settings, C = self.settings, len(batch.classes)
        if settings.tasks == "exhaustive":
            return exhaustive_tasks(C, settings.V)
        return resample_tasks(
            C,
            settings.way or C,
            settings.shot,
            settings.query,
            settings.tasks,
            batch.generator,
            batch.partition,
        )

    def loss(self, batch: Batch) -> Loss:
        embeddings = batch.embed(self.backbone)  # (CV, d)
        tasks = self.draw_tasks(batch).to(embeddings.device)
        with torch.autocast(embeddings.device.type, enabled=False):
            return Loss(self.objective(embeddings, tasks, batch.generator), embeddings)

    @abstractmethod
    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        """The mean loss of the tasks, from the episode's embeddings (CV, d)."""


class HeadMethod(EpisodicMethod):
    """The baseline's objective with ψ, a head's, in place of φ."""

    Settings = HeadSettings
    head: Head

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        gram, tasks = adapted_gram(self.head, embeddings, tasks)
        return task_loss(gram, tasks, self.settings.similarity, self.settings.resolved_temperature)
