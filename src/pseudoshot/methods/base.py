"""What a method is: an objective that owns the backbone and whatever is trained beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import torch
from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.similarity import Similarity, default_temperature
from pseudoshot.tasks import Tasks, exhaustive_tasks, resample_tasks


class EpisodeSettings(BaseModel):
    """The factors of section 4: what an episode holds and how its tasks are compared."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    images: PositiveInt = 64  # C, pseudo-classes an episode
    way: PositiveInt | None = None  # N; None: all C
    shot: PositiveInt = 1  # K
    query: PositiveInt = 5  # Q; V = K + Q views an image
    tasks: PositiveInt | Literal["exhaustive"] = 512
    similarity: Similarity = "sns"
    temperature: PositiveFloat | None = None  # None: the paper's for this similarity

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


@dataclass(frozen=True)
class Batch:
    """One episode's views, normalised, (C, V, c, h, w), and where its random draws come from."""

    views: Tensor
    generator: torch.Generator


@dataclass
class Loss:
    value: Tensor
    embeddings: Tensor  # φ of every view, (C·V, d): the log shows their norms and gradients
    scalars: dict[str, float] = field(default_factory=dict)  # whatever else is worth logging


class Method(nn.Module, ABC):
    """The loop asks for `loss` and `after_step`; all else a method keeps is in its state_dict."""

    Settings: ClassVar[type[EpisodeSettings]] = EpisodeSettings
    settings: EpisodeSettings

    def __init__(self, backbone: Backbone, settings: EpisodeSettings) -> None:
        super().__init__()
        self.backbone = backbone
        self.settings = settings

    @abstractmethod
    def loss(self, batch: Batch) -> Loss:
        """The episode's loss, differentiable."""

    def after_step(self) -> None:
        """Called after the optimiser's step: momentum encoders, queues."""
