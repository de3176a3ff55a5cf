"""Views by RandAugment (Cubuk et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from pseudoshot.views.base import CroppingPolicy
from pseudoshot.views.colour import RandomJitter, grayscale, jitter
from pseudoshot.views.geometry import RandomCrop, crop
from pseudoshot.views.layout import as_planes, as_views
from pseudoshot.views.operations import (
    INDEX,
    MAX_MAGNITUDE,
    NOTHING,
    apply_operations,
    blur,
    draw_arguments,
)

# The fifteen that RandAugment chooses from.
RANDAUGMENT = tuple(name for name in INDEX if name != "posterize")


@dataclass(frozen=True)
class RandAug(CroppingPolicy):
    """Crop and mirror, jitter, blur, random operations of one magnitude, grayscale."""

    crop: RandomCrop = RandomCrop(area=(0.2, 1.0))
    # The paper does not say how strong; MoCo v2 jitters so, and all its other numbers agree.
    jitter: RandomJitter = RandomJitter(0.4, 0.4, 0.4, 0.1, probability=0.8)
    blur: tuple[float, float] = (0.1, 2.0)  # standard deviation in pixels
    blur_probability: float = 0.5
    operations: int = 2
    operation_probability: float = 0.5
    magnitude: float = 10.0
    magnitude_deviation: float = 0.5
    grayscale: float = 0.2

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        classes, views, h, w, _ = images.shape
        count = classes * views
        planes = crop(as_planes(images), self.crop.draw(classes, views, (h, w), generator))
        planes = jitter(planes, self.jitter.draw(count, generator))
        planes = self.blur_some(planes, generator)
        for _ in range(self.operations):
            planes = apply_operations(planes, *self.draw(count, generator))
        planes = grayscale(planes, torch.rand(count, generator=generator) < self.grayscale)
        return as_views(planes, classes)

    def draw(self, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        """The operation and the argument (B,) of each view."""
        choices = torch.tensor([INDEX[name] for name in RANDAUGMENT])
        chosen = choices[torch.randint(len(choices), (count,), generator=generator)]
        magnitude = self.magnitude + self.magnitude_deviation * torch.randn(
            count, generator=generator
        )
        argument = draw_arguments(chosen, magnitude.clamp_(0, MAX_MAGNITUDE), generator)
        applied = torch.rand(count, generator=generator) < self.operation_probability
        return chosen.where(applied, NOTHING), argument

    def blur_some(self, planes: Tensor, generator: Generator) -> Tensor:
        low, high = self.blur
        sigma = low + (high - low) * torch.rand(len(planes), generator=generator)
        blurred = torch.rand(len(planes), generator=generator) < self.blur_probability
        rows = blurred.nonzero()[:, 0]
        return planes.index_copy_(0, rows, blur(planes.index_select(0, rows), sigma[rows]))
