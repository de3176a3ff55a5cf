"""What a view policy is, and the settings it has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field
from torch import Generator, Tensor

from pseudoshot.tools.registry import PartSettings
from pseudoshot.views.geometry import RandomCrop


class ViewSettings(PartSettings):
    """A policy's strengths are its own: there is nothing else to set."""


class CropSettings(ViewSettings):
    """Of views that can be of another size than the image."""

    view_scale: float = Field(default=1.0, gt=0, le=1)
    """side of a view as a part of the image's: below 1, things in a crop keep the size they have
    in whole images, at a fraction of the arithmetic (the fast recipe takes 0.5 for photos)"""


@dataclass(frozen=True)
class Policy(ABC):
    """A frozen dataclass whose fields are its strengths, so `dataclasses.asdict` records them."""

    Settings: ClassVar[type[ViewSettings]] = ViewSettings
    of_characters: ClassVar[bool] = False  # made for drawings of characters, not for photos

    @classmethod
    def build(cls, settings: Any) -> Self:
        return cls()

    @abstractmethod
    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """Views float32 (C, V, c, h, w) in [0, 1] of images uint8 (C, V, h, w, c)."""


@dataclass(frozen=True)
class CroppingPolicy(Policy):
    """A policy that begins with a crop, whose views may be smaller than the image."""

    Settings = CropSettings
    crop: RandomCrop = RandomCrop()

    @classmethod
    def build(cls, settings: CropSettings) -> Self:
        policy = cls()
        return replace(policy, crop=replace(policy.crop, scale=settings.view_scale))
