"""What a method is: an objective that owns the backbone and whatever is trained beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.heads import Head, adapted_gram
from pseudoshot.tasks.gram import task_loss
from pseudoshot.tasks.similarity import Similarity, default_temperature
from pseudoshot.tasks.tasks import Tasks, exhaustive_tasks, resample_tasks


class EpisodeSettings(BaseModel):
    """The factors of section 4: what an episode holds and how its tasks are compared."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    images: PositiveInt = 64
    """C, pseudo-classes an episode"""
    way: PositiveInt | None = None
    """N, classes of a task; all C where not given"""
    shot: PositiveInt = 1
    """K, support views of a class"""
    query: PositiveInt = 5
    """Q, query views of a class: K + Q views an image"""
    tasks: PositiveInt | Literal["exhaustive"] = 512
    """tasks re-sampled from an episode"""
    similarity: Similarity = "sns"
    """sns, cosine, euclidean or inner"""
    temperature: PositiveFloat | None = None
    """divides the similarity: 0.5 for cosine and 1 for the others where not given"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.way is not None and self.way > self.images:
            raise ValueError(
                f"way {self.way} does not fit an episode of {self.images} images: "
                f"lower --way or raise --images"
            )
        if self.tasks == "exhaustive" and (self.shot, self.way or self.images) != (1, self.images):
            raise ValueError("exhaustive tasks are one-shot and over all images: leave --way alone")
        return self

    @property
    def views(self) -> int:
        return self.shot + self.query

    @property
    def resolved_temperature(self) -> float:
        return self.temperature or default_temperature(self.similarity)

    def draw_tasks(self, C: int, generator: torch.Generator) -> Tasks:
        if self.tasks == "exhaustive":
            return exhaustive_tasks(C, self.views)
        return resample_tasks(C, self.way or C, self.shot, self.query, self.tasks, generator)


class HeadSettings(EpisodeSettings):
    """An episode, and a head trained beside the backbone."""

    head_lr_scale: PositiveFloat = 1.0
    """the head's learning rate as a multiple of the backbone's (10 for resnet12 and wrn28-10)"""


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
    classes: Tensor | None = None  # (C,) which class each is, where labels are trained on
    join: Callable[[Tensor], Tensor] = _alone

    def embed(self, backbone: Backbone) -> Tensor:
        """φ of every view of the episode, (C·V, d), in full precision whatever the backbone's."""
        return self.join(backbone(self.views.flatten(0, 1)).to(self.views.dtype))


@dataclass
class Loss:
    value: Tensor
    embeddings: Tensor  # φ of every view, (C·V, d): the log shows their norms and gradients
    scalars: dict[str, float] = field(default_factory=dict)  # whatever else is worth logging


class Method(nn.Module, ABC):
    """The loop asks for `loss` and `after_step`; all else a method keeps is in its state_dict."""

    Settings: ClassVar[type[EpisodeSettings]] = EpisodeSettings
    described: ClassVar[str]  # where the paper describes it
    labelled: ClassVar[bool] = False  # True: pseudo-classes are the base set's real classes

    def __init__(self, backbone: Backbone, settings: EpisodeSettings, classes: int = 0) -> None:
        super().__init__()
        self.backbone = backbone
        self.settings = settings
        self.head = self.build_head(backbone.dim, settings)

    @classmethod
    def build_head(cls, dim: int, settings: Any) -> Head | None:
        """What is trained beside φ and kept in the run; used at test by some classifiers."""
        return None

    @classmethod
    def test_classifier(cls, settings: Any) -> dict[str, Any]:
        """The classifier that its embeddings are made for, with its settings; {}: prototype."""
        return {}

    @abstractmethod
    def loss(self, batch: Batch) -> Loss:
        """The episode's loss, differentiable."""

    def after_step(self) -> None:
        """Called after the optimiser's step: momentum encoders, queues."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """What the optimiser learns; `lr_scale` multiplies the learning rate of a group."""
        head = [] if self.head is None else list(self.head.parameters())
        in_head = {id(parameter) for parameter in head}
        others = [p for p in self.parameters() if id(p) not in in_head]
        groups = [{"params": others, "lr_scale": 1.0}]
        if head:
            assert isinstance(self.settings, HeadSettings)
            groups.append({"params": head, "lr_scale": self.settings.head_lr_scale})
        return groups


class EpisodicMethod(Method):
    """A method whose loss is that of tasks re-sampled from one episode's embeddings (Eq. 1)."""

    def loss(self, batch: Batch) -> Loss:
        embeddings = batch.embed(self.backbone)  # (CV, d)
        C = len(embeddings) // batch.views.shape[1]
        tasks = self.settings.draw_tasks(C, batch.generator).to(embeddings.device)
        with torch.autocast(embeddings.device.type, enabled=False):
            return Loss(self.objective(embeddings, tasks, batch.generator), embeddings)

    @abstractmethod
    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        """The mean loss of the tasks, from the episode's embeddings (CV, d)."""


class HeadMethod(EpisodicMethod):
    """The baseline's objective with ψ, a head's, in place of φ."""

    head: Head

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        gram, tasks = adapted_gram(self.head, embeddings, tasks)
        return task_loss(gram, tasks, self.settings.similarity, self.settings.resolved_temperature)
