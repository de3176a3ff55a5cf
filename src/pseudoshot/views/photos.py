"""Views of photographs by crop and colour: AMDIM, SimCLR and the simple policy of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from pseudoshot.views.colour import RandomJitter, grayscale, jitter
from pseudoshot.views.geometry import RandomCrop, crop
from pseudoshot.views.layout import as_planes, as_views


@dataclass(frozen=True)
class PhotoPolicy:
    """Crop, mirror and shift; then jitter; then, with a probability, remove the colour."""

    crop: RandomCrop
    jitter: RandomJitter
    grayscale: float = 0.0

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        classes, views, h, w, _ = images.shape
        count = classes * views
        planes = crop(as_planes(images), self.crop.draw(classes, views, (h, w), generator))
        planes = jitter(planes, self.jitter.draw(count, generator))
        planes = grayscale(planes, torch.rand(count, generator=generator) < self.grayscale)
        return as_views(planes, classes)


AMDIM = PhotoPolicy(
    RandomCrop(mirror_together=True, shift=4, shift_probability=0.8),
    RandomJitter(0.4, 0.4, 0.4, 0.2, probability=0.8),
    grayscale=0.25,
)
SIMCLR = PhotoPolicy(
    RandomCrop(),
    RandomJitter(0.8, 0.8, 0.8, 0.2, probability=0.8),
    grayscale=0.2,
)
SIMPLE = PhotoPolicy(RandomCrop(), RandomJitter(0.8, 0.8, 0.8, 0.2, probability=1.0))
