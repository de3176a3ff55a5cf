"""What the views of photographs by crop and colour share: AMDIM, SimCLR and the simple policy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from pseudoshot.views.base import CroppingPolicy
from pseudoshot.views.colour import RandomJitter, grayscale, jitter
from pseudoshot.views.geometry import crop
from pseudoshot.views.layout import as_planes, as_views


@dataclass(frozen=True)
class PhotoPolicy(CroppingPolicy):
    """Crop, mirror and shift; then jitter; then, with a probability, remove the colour."""

    jitter: RandomJitter = RandomJitter(0.8, 0.8, 0.8, 0.2, probability=0.8)
    grayscale: float = 0.0

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        classes, views, h, w, _ = images.shape
        count = classes * views
        planes = crop(as_planes(images), self.crop.draw(classes, views, (h, w), generator))
        planes = jitter(planes, self.jitter.draw(count, generator))
        planes = grayscale(planes, torch.rand(count, generator=generator) < self.grayscale)
        return as_views(planes, classes)
