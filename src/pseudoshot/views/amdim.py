"""Views of photographs as in AMDIM (Bachman et al. 2019), the paper's default."""

from __future__ import annotations

from dataclasses import dataclass

from pseudoshot.views.colour import RandomJitter
from pseudoshot.views.geometry import RandomCrop
from pseudoshot.views.photos import PhotoPolicy


@dataclass(frozen=True)
class Amdim(PhotoPolicy):
    """Crop, one mirror draw for all views of an image, shift, jitter, grayscale."""

    crop: RandomCrop = RandomCrop(mirror_together=True, shift=4, shift_probability=0.8)
    jitter: RandomJitter = RandomJitter(0.4, 0.4, 0.4, 0.2, probability=0.8)
    grayscale: float = 0.25
