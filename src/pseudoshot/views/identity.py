"""The image itself: for a role in which a method wants it unaltered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from torch import Generator, Tensor

from pseudoshot.views.base import CroppingPolicy, Policy
from pseudoshot.views.geometry import RandomCrop, crop
from pseudoshot.views.layout import as_planes, as_views


@dataclass(frozen=True)
class Identity(CroppingPolicy):
    """The whole image, resized where other views of the episode are smaller; nothing is random."""

    crop: RandomCrop = RandomCrop(area=(1.0, 1.0), aspect=(1.0, 1.0), mirror=0.0)

    @classmethod
    def beside(cls, views: Policy) -> Self:
        """Of the size of other views in the same episode."""
        scale = views.crop.scale if isinstance(views, CroppingPolicy) else 1.0
        return cls(replace(cls().crop, scale=scale))

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        classes, views, h, w, _ = images.shape
        planes = as_planes(images)
        if self.crop.scale != 1:
            planes = crop(planes, self.crop.draw(classes, views, (h, w), Generator()))
        return as_views(planes, classes)
