"""Views of printed letters, as different typefaces would draw them."""

from __future__ import annotations

from dataclasses import dataclass

from pseudoshot.views.strokes import Strokes


@dataclass(frozen=True)
class Typefaces(Strokes):
    """Width, slant and weight, in which typefaces differ; letters neither lean nor wobble."""

    aspect: tuple[float, float] = (0.6, 1.67)
    shear: float = 0.4
    rotation: float = 0.0
    warp: float = 0.0
    pen: tuple[float, float] = (-1.0, 1.0)
