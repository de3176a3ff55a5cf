"""Views of characters: one smooth warp of the paper, and a thicker or thinner pen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from pseudoshot.views.base import Policy
from pseudoshot.views.geometry import affine_coordinates, sample
from pseudoshot.views.layout import as_planes, as_views

CONTROL = 4  # displacements of the elastic warp are drawn on a CONTROL x CONTROL grid


@dataclass(frozen=True)
class Deformation:
    """What happens to each view."""

    matrix: Tensor  # (B, 2, 3): source (x, y) about the centre, in pixels, from output (x, y, 1)
    warp: Tensor  # (B, 2, CONTROL, CONTROL): displacement of the source, in pixels
    pen: Tensor  # (B,): 1 is the 3x3 maximum, -1 the minimum, 0 the image itself


@dataclass(frozen=True)
class Strokes(Policy):
    """Affine map, elastic warp and pen width, drawn for each view; never mirrored.

    Ink is taken to be brighter than paper, as in Omniglot; otherwise thick and thin swap names.
    """

    of_characters = True
    scale: tuple[float, float] = (0.8, 1.2)
    aspect: tuple[float, float] = (0.75, 1.33)
    shear: float = 0.3
    rotation: float = 10.0  # degrees
    shift: float = 0.1  # part of the image's size
    warp: float = 0.06  # standard deviation, part of the image's size
    pen: tuple[float, float] = (-0.8, 0.8)  # from thinnest to thickest

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        classes, views, h, w, _ = images.shape
        drawn = self.draw(classes * views, (h, w), generator)
        return as_views(deform(as_planes(images), drawn), classes)

    def draw(self, count: int, size: tuple[int, int], generator: Generator) -> Deformation:
        h, w = size
        u = torch.rand(7, count, generator=generator)
        symmetric = 2 * u - 1
        scale = _log_uniform(u[0], self.scale)
        root = _log_uniform(u[1], self.aspect).sqrt()
        # A view is magnified by `scale`, so its source coordinates are divided by it.
        across, down = 1 / (scale * root), root / scale
        turn, slant = symmetric[2] * math.radians(self.rotation), symmetric[3] * self.shear
        cos, sin = turn.cos(), turn.sin()
        right, below = symmetric[4] * w * self.shift, symmetric[5] * h * self.shift
        source_x = torch.stack((across * cos, across * (slant * cos - sin), right), 1)
        source_y = torch.stack((down * sin, down * (slant * sin + cos), below), 1)
        warp = torch.randn(count, 2, CONTROL, CONTROL, generator=generator) * self.warp
        warp *= torch.tensor([float(w), float(h)])[:, None, None]
        thinnest, thickest = self.pen
        pen = thinnest + u[6] * (thickest - thinnest)
        return Deformation(torch.stack((source_x, source_y), 1), warp, pen)


def deform(images: Tensor, drawn: Deformation) -> Tensor:
    """The views (B, c, h, w) of images (B, c, h, w)."""
    h, w = images.shape[-2:]
    x, y = affine_coordinates(drawn.matrix, (h, w))
    bend = spline(h) @ drawn.warp @ spline(w).T  # (B, 2, h, w)
    return redraw(sample(images, x + bend[:, 0], y + bend[:, 1]), drawn.pen)


def spline(size: int) -> Tensor:
    """Weights (size, CONTROL) that interpolate control values cubically, the ends at the edges."""
    unit = torch.eye(CONTROL)[None, None]
    return F.interpolate(unit, (size, CONTROL), mode="bicubic", align_corners=True)[0, 0]


def redraw(images: Tensor, pen: Tensor) -> Tensor:
    """Blend each view towards its 3x3 maximum (pen > 0) or minimum (pen < 0)."""
    pen = pen[:, None, None, None]
    side = torch.where(pen < 0, -1.0, 1.0)  # the minimum is the maximum of the negative
    extreme = widen(widen(images * side, 2), 3) * side
    return images.lerp(extreme, pen.abs())


def widen(images: Tensor, dim: int) -> Tensor:
    """The maximum of each pixel and its two neighbours; far faster than `max_pool2d`."""
    wide = images.clone()
    others = images.shape[dim] - 1
    for to, source in ((1, 0), (0, 1)):
        part = wide.narrow(dim, to, others)
        torch.maximum(part, images.narrow(dim, source, others), out=part)
    return wide


def _log_uniform(u: Tensor, bounds: tuple[float, float]) -> Tensor:
    low, high = bounds
    return torch.exp(math.log(low) + u * math.log(high / low))
