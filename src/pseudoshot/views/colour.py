"""Changes of colour: jitter as in torchvision's ColorJitter, and grayscale.

Images are float (B, c, h, w) in [0, 1]; `B` counts views. Brightness, contrast and saturation are
one formula, `f * x + (1 - f) * target`, with a black, mean-gray or gray target. So views that
apply them in different orders still go through the same pass together.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

LUMA = (0.299, 0.587, 0.114)  # ITU-R 601, as Pillow's "L"
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)
TINY = 1e-9  # keeps the hue of a gray, which has none, from being 0 / 0


@dataclass(frozen=True)
class Jitter:
    """The four changes of each view, and the order in which it makes them."""

    factors: Tensor  # (B, 4): three factors, where 1 changes nothing, and a turn of the hue
    order: Tensor  # (B, 4): a permutation of BRIGHTNESS, CONTRAST, SATURATION, HUE


@dataclass(frozen=True)
class RandomJitter:
    """Factors uniform in [max(0, 1 - s), 1 + s] for a strength s; hue turned by up to ±`hue`."""

    brightness: float
    contrast: float
    saturation: float
    hue: float
    probability: float

    def draw(self, count: int, generator: Generator) -> Jitter:
        strength = torch.tensor([self.brightness, self.contrast, self.saturation, self.hue])
        neutral = torch.tensor([1.0, 1.0, 1.0, 0.0])
        low = neutral - strength
        low[:HUE].clamp_(min=0)
        u = torch.rand(count, 4, generator=generator)
        factors = low + u * (neutral + strength - low)
        applied = torch.rand(count, 1, generator=generator) < self.probability
        order = torch.rand(count, 4, generator=generator).argsort(1)
        return Jitter(torch.where(applied, factors, neutral), order)


def jitter(images: Tensor, drawn: Jitter) -> Tensor:
    """Apply to each view its four changes in its own order."""
    factors = drawn.factors.clone()
    if images.shape[1] == 1:
        factors[:, SATURATION], factors[:, HUE] = 1.0, 0.0
    for change in drawn.order.unbind(1):
        factor = factors.gather(1, change[:, None])[:, 0]
        turns = change == HUE
        images = blend(
            images,
            factor.masked_fill(turns, 1.0),
            gray=(change == SATURATION).float(),
            mean=(change == CONTRAST).float(),
        )
        rows = (turns & (factor != 0)).nonzero()[:, 0]
        if len(rows):
            images.index_copy_(0, rows, turn_hue(images.index_select(0, rows), factor[rows]))
    return images


def blend(images: Tensor, factor: Tensor, gray: Tensor, mean: Tensor) -> Tensor:
    """`f * x + (1 - f) * (gray * luma(x) + mean * average(luma(x)))`, clamped; scalars are (B,).

    For each view this is an affine map of its colours, so one matrix product does it.
    """
    b, c, h, w = images.shape
    pixels = images.reshape(b, c, h * w)
    weights = luma_weights(c)
    rest = 1 - factor
    same = factor[:, None, None] * torch.eye(c)
    mixed = (rest * gray)[:, None, None] * weights.expand(c, c)
    average = pixels.mean(2) @ weights
    offset = (rest * mean * average)[:, None, None].expand(b, c, 1)
    return torch.baddbmm(offset, same + mixed, pixels).clamp_(0, 1).view(b, c, h, w)


def luma_weights(channels: int) -> Tensor:
    """What each channel adds to lightness; a single channel is lightness itself."""
    return torch.tensor(LUMA if channels == 3 else (1.0,))


def grayscale(images: Tensor, chosen: Tensor) -> Tensor:
    """Remove the colour of the chosen views (B,), in place."""
    if images.shape[1] == 1:
        return images
    rows = chosen.nonzero()[:, 0]
    none, all_gray = torch.zeros(len(rows)), torch.ones(len(rows))
    return images.index_copy_(0, rows, blend(images.index_select(0, rows), none, all_gray, none))


def turn_hue(images: Tensor, turn: Tensor) -> Tensor:
    """Turn the HSV hue of RGB views by a part of the circle (B,); saturation and value stay.

    With channels rescaled so that the least is 0 and the greatest 1, hue lies 1 + G + B - R sixths
    of the circle from red, towards green where G > B: all six cases of the usual definition.
    """
    red, green, blue = images.unbind(1)
    value, least = images.amax(1), images.amin(1)
    chroma = value - least
    sixths = (green + blue).sub_(red).sub_(least).div_(chroma.clamp(min=TINY)).add_(1)
    hue = sixths.copysign_(green - blue).mul_(1 / 6).add_(turn[:, None, None])
    # A channel is at `value` up to a sixth of the circle from its own hue, at `least` from two on.
    away = hue[:, None] - torch.tensor([0, 1 / 3, 2 / 3])[:, None, None]
    away -= away.round()
    fall = away.abs_().mul_(6).sub_(1).clamp_(0, 1)
    return torch.addcmul(value[:, None], fall, chroma[:, None], value=-1)
