"""The simple policy of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from pseudoshot.views.colour import RandomJitter
from pseudoshot.views.photos import PhotoPolicy


@dataclass(frozen=True)
class Simple(PhotoPolicy):
    """Crop, mirror, strong jitter of every view."""

    jitter: RandomJitter = RandomJitter(0.8, 0.8, 0.8, 0.2, probability=1.0)
