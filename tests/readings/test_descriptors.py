"""Descriptors against the same in plain loops."""

import colorsys
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pseudoshot.readings.descriptors import BINS, CELLS, ORIENTATIONS, colour_histogram, hog


def pictures(count, size, channels, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, channels, size, size, dtype=torch.float64, generator=generator)


def hog_slowly(image):
    channels, h, w = image.shape
    cells = np.zeros((CELLS, CELLS, ORIENTATIONS))
    for y in range(h):
        for x in range(w):
            gradients = []
            for c in range(channels):
                dx = image[c, y, x + 1] - image[c, y, x - 1] if 0 < x < w - 1 else 0.0
                dy = image[c, y + 1, x] - image[c, y - 1, x] if 0 < y < h - 1 else 0.0
                gradients.append((dx, dy))
            dx, dy = max(gradients, key=lambda g: g[0] ** 2 + g[1] ** 2)
            place = (math.atan2(dy, dx) % math.pi) / math.pi * ORIENTATIONS
            for row in range(CELLS):
                for column in range(CELLS):
                    below = 1 - abs(y + 0.5 - (row + 0.5) * h / CELLS) / (h / CELLS)
                    across = 1 - abs(x + 0.5 - (column + 0.5) * w / CELLS) / (w / CELLS)
                    share = max(0, below) * max(0, across) * CELLS**2 / h / w
                    near = int(place) % ORIENTATIONS
                    vote = share * math.hypot(dx, dy)
                    cells[row, column, near] += vote * (1 - place % 1)
                    cells[row, column, (near + 1) % ORIENTATIONS] += vote * (place % 1)
    result = np.zeros((4, ORIENTATIONS, CELLS - 1, CELLS - 1))
    for row in range(CELLS - 1):
        for column in range(CELLS - 1):
            block = np.stack([cells[row + y, column + x] for y in (0, 1) for x in (0, 1)])
            block = block / max(np.linalg.norm(block), 1e-4)
            block = np.minimum(block, 0.2)
            result[:, :, row, column] = block / max(np.linalg.norm(block), 1e-4)
    return result.reshape(-1)


@pytest.mark.parametrize(("size", "channels"), [(8, 1), (11, 3), (16, 3)])
def test_hog(size, channels):
    images = pictures(3, size, channels)
    expected = np.stack([hog_slowly(image.numpy()) for image in images])
    np.testing.assert_allclose(hog(images), expected, atol=1e-6)


def colours_slowly(image):
    _, h, w = image.shape
    shares = np.zeros((BINS, BINS, BINS))
    for y in range(h):
        for x in range(w):
            hue, saturation, value = colorsys.rgb_to_hsv(*image[:, y, x])
            for a, share_a in nearest(BINS * hue - 0.5, turning=True):
                for b, share_b in nearest(BINS * saturation - 0.5):
                    for c, share_c in nearest(BINS * value - 0.5):
                        shares[a, b, c] += share_a * share_b * share_c / h / w
    return np.sqrt(shares).reshape(-1)


def nearest(place, turning=False):
    if turning:
        low = math.floor(place)
        return [(low % BINS, 1 - (place - low)), ((low + 1) % BINS, place - low)]
    place = min(max(place, 0), BINS - 1)
    low = min(math.floor(place), BINS - 2)
    return [(low, 1 - (place - low)), (low + 1, place - low)]


def test_colour_histogram():
    images = pictures(3, 9, 3)
    expected = np.stack([colours_slowly(image.numpy()) for image in images])
    np.testing.assert_allclose(colour_histogram(images), expected, atol=1e-6)


@settings(max_examples=30)
@given(st.sampled_from([0.0, 0.5, 1.0]), st.integers(4, 20), st.sampled_from([1, 3]))
def test_images_of_one_colour_have_finite_descriptors(level, size, channels):
    images = torch.full((1, channels, size, size), level)
    assert hog(images).isfinite().all()
    if channels == 3:
        shares = colour_histogram(images).square()
        assert float(shares.sum()) == pytest.approx(1, abs=1e-4)
