"""Plain descriptors of images, of many at once: HOG (Dalal and Triggs 2005) and a histogram of
colours. Nothing is learnt; what they say of shape and colour adds to what a small network does.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

CELLS = 4  # a side
ORIENTATIONS = 9  # of half a turn: light on dark is as dark on light
CLIP = 0.2  # no orientation of a block counts for more
BINS = 8  # of hue, saturation and value each
_TINY = 1e-4


def hog(images: Tensor) -> Tensor:
    """(B, c, h, w) in [0, 1] to (B, 324): which way edges go in each part of an image.

    The gradient of a pixel is that of its channel with the largest one; it votes for the two
    nearest orientations in the four nearest cells. Blocks of 2 x 2 cells are of length 1.
    """
    dx = F.pad(images[..., 2:] - images[..., :-2], (1, 1))
    dy = F.pad(images[..., 2:, :] - images[..., :-2, :], (0, 0, 1, 1))
    strongest = (dx.square() + dy.square()).argmax(1, keepdim=True)
    dx, dy = dx.gather(1, strongest), dy.gather(1, strongest)  # (B, 1, h, w)
    position = torch.atan2(dy, dx) / torch.pi * ORIENTATIONS
    votes = (dx.square() + dy.square()).sqrt() * on_circle(position, ORIENTATIONS)
    below, across = (_cells(pixels).to(images) for pixels in images.shape[-2:])
    cells = below @ votes @ across.T  # (B, o, cells, cells)
    blocks = torch.cat(
        [cells[..., y : CELLS - 1 + y, x : CELLS - 1 + x] for y in (0, 1) for x in (0, 1)], 1
    )
    clipped = F.normalize(blocks, eps=_TINY).clamp_max(CLIP)
    return F.normalize(clipped, eps=_TINY).flatten(1)


def _cells(pixels: int) -> Tensor:
    """How much each pixel of a side counts for each cell, (cells, pixels): less with distance."""
    side = pixels / CELLS
    centres = (torch.arange(CELLS) + 0.5) * side
    distance = (torch.arange(pixels) + 0.5 - centres[:, None]).abs() / side
    return (1 - distance).clamp_min(0) / side


def colour_histogram(images: Tensor) -> Tensor:
    """(B, 3, h, w) in [0, 1] to (B, 512): the roots of the shares of hues, saturations and values.

    A pixel votes for the two nearest bins of each.
    """
    hue, saturation, value = _hsv(images)
    by_hue = on_circle(BINS * hue[:, None] - 0.5, BINS).flatten(2)  # (B, bins, pixels)
    by_saturation, by_value = (_on_line(part).flatten(2) for part in (saturation, value))
    pairs = (by_hue[:, :, None] * by_saturation[:, None]).flatten(1, 2)
    shares = pairs @ by_value.mT / by_value.shape[-1]  # (B, bins², bins)
    return shares.flatten(1).sqrt()


def on_circle(position: Tensor, bins: int) -> Tensor:
    """(B, 1, h, w), a turn being `bins`, to shares of the two nearest, (B, bins, h, w)."""
    centres = torch.arange(bins).to(position).view(-1, 1, 1)
    distance = torch.remainder(position - centres + bins / 2, bins) - bins / 2
    return (1 - distance.abs()).clamp_min(0)


def _on_line(values: Tensor) -> Tensor:
    """(B, h, w) in [0, 1] to shares of the two nearest of the bins, (B, bins, h, w)."""
    centres = torch.arange(BINS).to(values).view(-1, 1, 1)
    position = (BINS * values[:, None] - 0.5).clamp(0, BINS - 1)
    return (1 - (position - centres).abs()).clamp_min(0)


def _hsv(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(B, h, w) each, in [0, 1]."""
    red, green, blue = images.unbind(1)
    value = images.amax(1)
    chroma = value - images.amin(1)
    some = chroma.clamp_min(_TINY)
    of_red, of_green, of_blue = (
        (green - blue) / some,
        2 + (blue - red) / some,
        4 + (red - green) / some,
    )
    hue = torch.where(value == red, of_red, torch.where(value == green, of_green, of_blue))
    return torch.remainder(hue / 6, 1), chroma / value.clamp_min(_TINY), value
