"""The operations of AutoAugment and RandAugment, each on a whole batch of views.

An operation takes images (B, c, h, w) in [0, 1] and one argument a view (B,). Where Pillow has the
operation (ImageOps, ImageEnhance, Image.transform), this one gives the same within rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from pseudoshot.views.colour import blend
from pseudoshot.views.geometry import affine_coordinates, sample

LEVELS = 256
FILL = 0.5  # what a geometric operation puts where it has no image
MAX_MAGNITUDE = 10.0


def shear_x(images: Tensor, rate: Tensor) -> Tensor:
    return transform(images, xy=rate)


def shear_y(images: Tensor, rate: Tensor) -> Tensor:
    return transform(images, yx=rate)


def translate_x(images: Tensor, part: Tensor) -> Tensor:
    return transform(images, x0=part * images.shape[-1])


def translate_y(images: Tensor, part: Tensor) -> Tensor:
    return transform(images, y0=part * images.shape[-2])


def rotate(images: Tensor, degrees: Tensor) -> Tensor:
    angle = degrees.deg2rad()
    cos, sin = angle.cos(), angle.sin()
    return transform(images, xx=cos, xy=-sin, yx=sin, yy=cos)


def transform(
    images: Tensor,
    *,
    xx: Tensor | float = 1.0,
    xy: Tensor | float = 0.0,
    x0: Tensor | float = 0.0,
    yx: Tensor | float = 0.0,
    yy: Tensor | float = 1.0,
    y0: Tensor | float = 0.0,
) -> Tensor:
    """Take each pixel from (xx x + xy y + x0, yx x + yy y + y0), measured from the centre."""
    h, w = images.shape[-2:]
    matrix = torch.empty(len(images), 6)
    for column, entry in enumerate((xx, xy, x0, yx, yy, y0)):
        matrix[:, column] = entry
    x, y = affine_coordinates(matrix.view(-1, 2, 3), (h, w))
    outside = (x < -0.5) | (x >= w - 0.5) | (y < -0.5) | (y >= h - 0.5)
    return sample(images, x, y).masked_fill_(outside[:, None], FILL)


def auto_contrast(images: Tensor, _: Tensor) -> Tensor:
    """Stretch each channel to the whole range; one of a single value stays."""
    low, high = images.amin((2, 3), keepdim=True), images.amax((2, 3), keepdim=True)
    return torch.where(high > low, (images - low) / (high - low), images)


def invert(images: Tensor, _: Tensor) -> Tensor:
    return 1 - images


def equalize(images: Tensor, _: Tensor) -> Tensor:
    """Spread each channel's levels so that all are about equally frequent, as Pillow does."""
    planes = levels(images).long().flatten(0, 1).flatten(1)  # (B * c, h * w)
    histogram = torch.zeros(len(planes), LEVELS, dtype=torch.long)
    histogram.scatter_add_(1, planes, torch.ones_like(planes))
    brightest = histogram.gather(1, planes.amax(1, keepdim=True))
    step = (planes.shape[1] - brightest) // (LEVELS - 1)
    darker = histogram.cumsum(1) - histogram
    table = ((step // 2 + darker) // step.clamp(min=1)).clamp(max=LEVELS - 1).float()
    equal = table.gather(1, planes).div_(LEVELS - 1).view_as(images)
    return torch.where(step.view(*images.shape[:2], 1, 1) > 0, equal, images)


def solarize(images: Tensor, threshold: Tensor) -> Tensor:
    """Invert the pixels at or above a threshold level."""
    return torch.where(levels(images) < _spread(threshold), images, 1 - images)


def solarize_add(images: Tensor, addition: Tensor) -> Tensor:
    """Add levels to the pixels of the darker half."""
    brighter = (images + _spread(addition) / (LEVELS - 1)).clamp_(max=1)
    return torch.where(levels(images) < LEVELS / 2, brighter, images)


def posterize(images: Tensor, bits: Tensor) -> Tensor:
    """Keep the highest bits of each level; a fraction of a bit is dropped."""
    step = _spread(torch.exp2(8 - bits.floor()))
    return (levels(images) / step).floor() * step / (LEVELS - 1)


def contrast(images: Tensor, factor: Tensor) -> Tensor:
    return blend(images, factor, gray=torch.zeros_like(factor), mean=torch.ones_like(factor))


def color(images: Tensor, factor: Tensor) -> Tensor:
    return blend(images, factor, gray=torch.ones_like(factor), mean=torch.zeros_like(factor))


def brightness(images: Tensor, factor: Tensor) -> Tensor:
    return blend(images, factor, gray=torch.zeros_like(factor), mean=torch.zeros_like(factor))


def sharpness(images: Tensor, factor: Tensor) -> Tensor:
    """Away from (factor > 1) or towards a 3x3 smoothing whose centre weighs 5; edges stay."""
    smooth = images.clone()
    if min(images.shape[-2:]) >= 3:
        inner = (..., slice(1, -1), slice(1, -1))
        smooth[inner] = (9 * F.avg_pool2d(images, 3, stride=1) + 4 * images[inner]) / 13
    return smooth.lerp(images, _spread(factor)).clamp_(0, 1)


def blur(images: Tensor, sigma: Tensor) -> Tensor:
    """Gaussian blur; near an edge the weights that fall outside are shared among the others."""
    down, across = (_gaussian(size, sigma) for size in images.shape[-2:])
    return (down @ images @ across.mT).clamp_(0, 1)


def _gaussian(size: int, sigma: Tensor) -> Tensor:
    """Weights (B, 1, size, size) of source positions for each output position."""
    position = torch.arange(size)
    distance = (position[:, None] - position) / _spread(sigma)
    return torch.softmax(-0.5 * distance.square(), dim=-1)


def levels(images: Tensor) -> Tensor:
    """The nearest of the 256 levels, as whole floats."""
    return (images * (LEVELS - 1)).round_()


def _spread(scalars: Tensor) -> Tensor:
    return scalars[:, None, None, None]


@dataclass(frozen=True)
class Operation:
    """What to do, and the argument's range from magnitude 0 to 10 in the AutoAugment paper."""

    apply: Callable[[Tensor, Tensor], Tensor]
    low: float = 0.0
    high: float = 0.0
    either_way: bool = False  # whether the sign of the argument is drawn


OPERATIONS: dict[str, Operation] = {
    "shear_x": Operation(shear_x, 0, 0.3, either_way=True),
    "shear_y": Operation(shear_y, 0, 0.3, either_way=True),
    "translate_x": Operation(translate_x, 0, 150 / 331, either_way=True),  # 150 of 331 pixels
    "translate_y": Operation(translate_y, 0, 150 / 331, either_way=True),
    "rotate": Operation(rotate, 0, 30, either_way=True),
    "auto_contrast": Operation(auto_contrast),
    "invert": Operation(invert),
    "equalize": Operation(equalize),
    "solarize": Operation(solarize, 0, 256),
    "solarize_add": Operation(solarize_add, 0, 110),
    "posterize": Operation(posterize, 4, 8),
    "posterize_more": Operation(posterize, 0, 4),  # the range of RandAugment's code
    "contrast": Operation(contrast, 0.1, 1.9),
    "color": Operation(color, 0.1, 1.9),
    "brightness": Operation(brightness, 0.1, 1.9),
    "sharpness": Operation(sharpness, 0.1, 1.9),
}
INDEX = {name: index for index, name in enumerate(OPERATIONS)}
NOTHING = -1


def draw_arguments(chosen: Tensor, magnitude: Tensor, generator: Generator) -> Tensor:
    """The argument (B,) of each view's operation at its magnitude, the sign drawn where it is."""
    table = list(OPERATIONS.values())
    low = torch.tensor([operation.low for operation in table])[chosen]
    high = torch.tensor([operation.high for operation in table])[chosen]
    either_way = torch.tensor([operation.either_way for operation in table])[chosen]
    argument = low + (high - low) * magnitude / MAX_MAGNITUDE
    negative = torch.rand(chosen.shape, generator=generator) < 0.5
    return torch.where(either_way & negative, -argument, argument)


def apply_operations(images: Tensor, chosen: Tensor, argument: Tensor) -> Tensor:
    """Apply to each view, in place, the operation whose index it chose (B,), or `NOTHING`."""
    for index, operation in enumerate(OPERATIONS.values()):
        rows = (chosen == index).nonzero()[:, 0]
        if len(rows):
            changed = operation.apply(images.index_select(0, rows), argument[rows])
            images.index_copy_(0, rows, changed)
    return images
