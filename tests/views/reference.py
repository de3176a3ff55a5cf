"""The views in plain loops and double precision, one image and one pixel at a time."""

from __future__ import annotations

import colorsys
import math

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float64]  # (h, w, c) in [0, 1]


def bilinear(image: Image, y: float, x: float) -> Image:
    """The colour at a point; outside, the nearest edge repeats."""
    h, w, _ = image.shape
    y, x = min(max(y, 0.0), h - 1.0), min(max(x, 0.0), w - 1.0)
    top, left = math.floor(y), math.floor(x)
    bottom, right = min(top + 1, h - 1), min(left + 1, w - 1)
    v, u = y - top, x - left
    above = image[top, left] * (1 - u) + image[top, right] * u
    below = image[bottom, left] * (1 - u) + image[bottom, right] * u
    return above * (1 - v) + below * v


def cubic(distance: float) -> float:
    """Keys's kernel with a = -1/2."""
    if distance < 1:
        return 1.5 * distance**3 - 2.5 * distance**2 + 1
    if distance < 2:
        return -0.5 * distance**3 + 2.5 * distance**2 - 4 * distance + 2
    return 0.0


def bicubic(image: Image, y: float, x: float, down: float, across: float) -> Image:
    """The colour at a point from the pixels of less than two kernel widths away, if any."""
    h, w, c = image.shape
    colour, total = np.zeros(c), 0.0
    for i in range(h):
        for j in range(w):
            weight = cubic(abs(y - i) / down) * cubic(abs(x - j) / across)
            colour += weight * image[i, j]
            total += weight
    return colour / total


def resize(image: Image, h: int, w: int) -> Image:
    rows, columns, c = image.shape
    out = np.empty((h, w, c))
    for i in range(h):
        for j in range(w):
            y, x = (i + 0.5) * rows / h - 0.5, (j + 0.5) * columns / w - 0.5
            out[i, j] = bicubic(image, y, x, max(rows / h, 1), max(columns / w, 1))
    return out.clip(0, 1)


def crop(
    image: Image,
    size: tuple[int, int],
    top: int,
    left: int,
    height: int,
    width: int,
    mirrored: bool,
    down: int,
    right: int,
) -> Image:
    """Cut the box out, resize it, mirror it, pad it by reflection and cut the shifted window."""
    h, w = size
    out = resize(image[top : top + height, left : left + width], h, w)
    if mirrored:
        out = out[:, ::-1]
    far = max(abs(down), abs(right))
    padded = np.pad(out, ((far, far), (far, far), (0, 0)), mode="reflect")
    return padded[far - down : far - down + h, far - right : far - right + w]


def luma(pixel: Image) -> float:
    if len(pixel) == 1:
        return float(pixel[0])
    return float(0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2])


def change_colour(image: Image, change: int, factor: float) -> Image:
    """Brightness (0), contrast (1), saturation (2) by a factor, or hue (3) by a turn."""
    h, w, c = image.shape
    mean = np.mean([luma(image[i, j]) for i in range(h) for j in range(w)])
    out = np.empty_like(image)
    for i in range(h):
        for j in range(w):
            pixel = image[i, j]
            if change == 3:
                if c == 3:
                    hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
                    pixel = np.array(colorsys.hsv_to_rgb((hue + factor) % 1, saturation, value))
                out[i, j] = pixel
            else:
                target = (0.0, mean, luma(pixel))[change]
                out[i, j] = factor * pixel + (1 - factor) * target
    return out.clip(0, 1)


def jitter(image: Image, factors: list[float], order: list[int]) -> Image:
    for change in order:
        image = change_colour(image, change, factors[change])
    return image


def redraw(image: Image, pen: float) -> Image:
    """Towards the greatest (pen > 0) or least value among each pixel and its neighbours."""
    h, w, _ = image.shape
    out = np.empty_like(image)
    for i in range(h):
        for j in range(w):
            around = image[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2]
            extreme = around.max((0, 1)) if pen > 0 else around.min((0, 1))
            out[i, j] = image[i, j] + abs(pen) * (extreme - image[i, j])
    return out


def blur(image: Image, sigma: float) -> Image:
    h, w, _ = image.shape
    out = np.empty_like(image)
    for i in range(h):
        for j in range(w):
            down = np.array([math.exp(-((i - k) ** 2) / (2 * sigma**2)) for k in range(h)])
            across = np.array([math.exp(-((j - k) ** 2) / (2 * sigma**2)) for k in range(w)])
            weights = np.outer(down, across) / (down.sum() * across.sum())
            out[i, j] = (weights[:, :, None] * image).sum((0, 1))
    return out
