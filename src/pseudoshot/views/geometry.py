"""Where each output pixel comes from: every spatial change of a policy is composed into one
resampling of the image.

Crop, mirror and shift treat rows and columns apart, so they are two matrix products a view; what
turns or bends goes through source coordinates, sampled bilinearly. Coordinates are in pixels, the
centre of the first pixel at 0. `B` counts views.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

TRIES = 10  # boxes proposed before the centred one is taken, as in Inception's random resized crop


@dataclass(frozen=True)
class Crops:
    """What happens to each view: its box is resized to `size`, mirrored, then shifted."""

    size: tuple[int, int]  # of the views
    top: Tensor  # (B,), as are all from here on; whole numbers stored as float
    left: Tensor
    height: Tensor
    width: Tensor
    mirrored: Tensor  # bool
    down: Tensor
    right: Tensor


@dataclass(frozen=True)
class RandomCrop:
    """A random resized crop, a mirror image and a shift by whole pixels, in that order.

    A crop enlarges what it shows. A `scale` below 1 makes views smaller than the image, so that
    things are of the size they have in whole images, at a fraction of the arithmetic. `shift`
    counts pixels of the view.
    """

    area: tuple[float, float] = (0.08, 1.0)
    aspect: tuple[float, float] = (3 / 4, 4 / 3)
    mirror: float = 0.5
    mirror_together: bool = False  # one draw for all the views of a pseudo-class
    shift: int = 0
    shift_probability: float = 0.0
    scale: float = 1.0  # a view's side as a part of the image's

    def draw(self, classes: int, views: int, size: tuple[int, int], generator: Generator) -> Crops:
        count = classes * views
        top, left, height, width = draw_boxes(count, size, self.area, self.aspect, generator)
        mirrors = torch.rand(classes, 1 if self.mirror_together else views, generator=generator)
        mirrored = (mirrors < self.mirror).expand(classes, views).reshape(count)
        shifts = torch.randint(-self.shift, self.shift + 1, (2, count), generator=generator)
        shifts = shifts * (torch.rand(count, generator=generator) < self.shift_probability)
        down, right = shifts.float()
        view = tuple(max(1, round(side * self.scale)) for side in size)
        return Crops((view[0], view[1]), top, left, height, width, mirrored, down, right)


def draw_boxes(
    count: int,
    size: tuple[int, int],
    area: tuple[float, float],
    aspect: tuple[float, float],
    generator: Generator,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Top, left, height and width (B,) of random boxes within an image of the given size.

    The area is uniform as a fraction of the image's, the aspect (width / height) log-uniform. The
    first of `TRIES` boxes that fits is taken; where none does, the largest centred one whose aspect
    is allowed.
    """
    rows, columns = size
    u = torch.rand(2, count, TRIES, generator=generator)
    areas = rows * columns * (area[0] + u[0] * (area[1] - area[0]))
    aspects = torch.exp(math.log(aspect[0]) + u[1] * math.log(aspect[1] / aspect[0]))
    heights = torch.sqrt(areas / aspects).round()
    widths = torch.sqrt(areas * aspects).round()
    fits = (heights > 0) & (heights <= rows) & (widths > 0) & (widths <= columns)

    first = fits.int().argmax(1, keepdim=True)  # 0 where none fits
    some = fits.any(1)
    centred_height = min(rows, max(1, round(columns / aspect[0])))
    centred_width = min(columns, max(1, round(rows * aspect[1])))
    height = torch.where(some, heights.gather(1, first)[:, 0], centred_height)
    width = torch.where(some, widths.gather(1, first)[:, 0], centred_width)

    place = torch.rand(2, count, generator=generator)
    top = torch.where(some, place[0] * (rows - height + 1), (rows - height) / 2).floor()
    left = torch.where(some, place[1] * (columns - width + 1), (columns - width) / 2).floor()
    return top, left, height, width


def crop(images: Tensor, crops: Crops) -> Tensor:
    """The views (B, c, *size) of images (B, c, h, w), boxes resized by bicubic interpolation."""
    (h, w), (rows_out, columns_out) = images.shape[-2:], crops.size
    upright = torch.zeros_like(crops.mirrored)
    rows = resampling(h, rows_out, crops.top, crops.height, upright, crops.down)
    columns = resampling(w, columns_out, crops.left, crops.width, crops.mirrored, crops.right)
    return (rows[:, None] @ images @ columns.mT[:, None]).clamp_(0, 1)


def resampling(
    size: int, out: int, start: Tensor, extent: Tensor, mirrored: Tensor, shift: Tensor
) -> Tensor:
    """What each of `out` pixels takes from the `size` of one axis, (B, out, size).

    Rows add up to 1. The steps are undone from last to first. As in Pillow, neighbours outside the
    box do not bleed in, the others share their weight; and where a box is made smaller, the kernel
    is as much wider.
    """
    position = reflect(torch.arange(out) - shift[:, None], out)
    position = torch.where(mirrored[:, None], out - 1 - position, position)
    within = (position + 0.5) * (extent / out)[:, None] - 0.5
    width = (extent / out).clamp_min(1)[:, None, None]
    reach = math.ceil(2 * max(1.0, size / out))
    taps = within.floor()[..., None] + torch.arange(1 - reach, reach + 1)  # (B, out, 2 reach)
    inside = (taps >= 0) & (taps < extent[:, None, None])
    weights = _cubic((within[..., None] - taps).abs() / width) * inside
    weights /= weights.sum(-1, keepdim=True)
    pixels = (start[:, None, None] + taps).clamp(0, size - 1).long()
    return torch.zeros(len(start), out, size).scatter_add_(2, pixels, weights)


def _cubic(distance: Tensor) -> Tensor:
    """Keys's kernel with a = -1/2, as Pillow's BICUBIC."""
    distance = distance.clamp_max(2)  # where it ends, at 0
    near = (1.5 * distance - 2.5) * distance.square() + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return torch.where(distance < 1, near, far)


def reflect(position: Tensor, size: int) -> Tensor:
    """Bring positions outside [0, size - 1] back in, the edge pixel not repeated."""
    period = max(2 * (size - 1), 1)
    position = position.remainder(period)
    return torch.minimum(position, period - position)


def sample(images: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Bilinear values (B, c, h, w) of images of that shape, their edges repeated outwards.

    Coordinates are x (B, 1 or h, w) and y (B, h, 1 or w).
    """
    h, w = images.shape[-2:]
    grid = torch.empty(images.shape[0], h, w, 2)  # len() would fix the batch of an export
    grid[..., 0] = (x + 0.5) * (2 / w) - 1
    grid[..., 1] = (y + 0.5) * (2 / h) - 1
    values = F.grid_sample(images, grid, padding_mode="border", align_corners=False)
    return values.clamp_(0, 1)  # interpolation weights may add up to a little over 1


def affine_coordinates(matrix: Tensor, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Source x and y (B, h, w) of a map about the image's centre, matrix (B, 2, 3) in (x, y, 1)."""
    h, w = size
    y = torch.arange(h)[:, None] - (h - 1) / 2
    x = torch.arange(w)[None, :] - (w - 1) / 2
    m = matrix[:, :, :, None, None]  # (B, 2, 3, 1, 1)
    source_x = m[:, 0, 0] * x + m[:, 0, 1] * y + (m[:, 0, 2] + (w - 1) / 2)
    source_y = m[:, 1, 0] * x + m[:, 1, 1] * y + (m[:, 1, 2] + (h - 1) / 2)
    return source_x, source_y
