"""Views of photographs as in SimCLR (Chen et al. 2020), without blur."""

from __future__ import annotations

from dataclasses import dataclass

from pseudoshot.views.photos import PhotoPolicy


@dataclass(frozen=True)
class SimCLR(PhotoPolicy):
    """Crop, mirror, strong jitter, grayscale."""

    grayscale: float = 0.2
