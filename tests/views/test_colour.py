from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from pseudoshot.views.colour import Jitter, RandomJitter, grayscale, jitter, turn_hue
from tests.views import reference

ORDERS = torch.tensor(list(itertools.permutations(range(4))))


def random_images(count: int, channels: int) -> torch.Tensor:
    return torch.rand(count, channels, 5, 4, generator=torch.Generator().manual_seed(3))


def channels_last(images: torch.Tensor) -> np.ndarray:
    return images.permute(0, 2, 3, 1).double().numpy()


@pytest.mark.parametrize("channels", [1, 3])
def test_jitter_equals_the_plain_loop_in_every_order(channels: int) -> None:
    images = random_images(len(ORDERS), channels)
    strong = RandomJitter(0.8, 0.8, 0.8, 0.5, probability=1.0)
    factors = strong.draw(len(ORDERS), torch.Generator().manual_seed(0)).factors
    expected = [
        reference.jitter(image, factor.tolist(), order.tolist())
        for image, factor, order in zip(channels_last(images), factors, ORDERS, strict=True)
    ]
    out = jitter(images, Jitter(factors, ORDERS))
    np.testing.assert_allclose(channels_last(out), expected, atol=5e-6)


def test_hue_of_grays_primaries_and_near_grays() -> None:
    rows = [*itertools.product([0.0, 0.5, 1.0], repeat=3), (0.3, 0.3, 0.3 + 1e-6)]
    colours = torch.tensor(rows)[:, :, None, None]
    for turn in (-0.5, -1 / 3, 0.1, 0.5):
        out = turn_hue(colours, torch.full((len(colours),), turn))
        expected = [reference.change_colour(c, 3, turn) for c in channels_last(colours)]
        np.testing.assert_allclose(channels_last(out), expected, atol=2e-6)


def test_gray_image_keeps_its_saturation_and_hue() -> None:
    images = random_images(24, 1)
    factors = torch.tensor([1.0, 1.0, 0.3, 0.4]).expand(24, 4)
    assert torch.equal(jitter(images, Jitter(factors, ORDERS)), images)
    assert torch.equal(grayscale(images.clone(), torch.ones(24, dtype=torch.bool)), images)


def test_factors_fill_their_ranges_and_orders_vary() -> None:
    drawn = RandomJitter(0.4, 1.5, 0.2, 0.1, probability=1.0).draw(2000, torch.Generator())
    low = torch.tensor([0.6, 0.0, 0.8, -0.1])
    high = torch.tensor([1.4, 2.5, 1.2, 0.1])
    assert ((drawn.factors >= low) & (drawn.factors <= high)).all()
    torch.testing.assert_close(drawn.factors.amin(0), low, atol=0.01, rtol=0)
    torch.testing.assert_close(drawn.factors.amax(0), high, atol=0.01, rtol=0)
    assert len(drawn.order.unique(dim=0)) == 24


def test_probability_leaves_views_unchanged() -> None:
    images = random_images(400, 3)
    drawn = RandomJitter(0.4, 0.4, 0.4, 0.2, probability=0.8).draw(400, torch.Generator())
    same = (jitter(images, drawn) == images).flatten(1).all(1)
    assert same.float().mean() == pytest.approx(0.2, abs=0.06)


def test_jitter_leaves_its_input_alone() -> None:
    images = random_images(24, 3)
    before = images.clone()
    jitter(images, RandomJitter(0.4, 0.4, 0.4, 0.2, 1.0).draw(24, torch.Generator()))
    assert torch.equal(images, before)


def test_grayscale_of_the_chosen_views_only() -> None:
    images = random_images(6, 3)
    chosen = torch.tensor([True, False, True, False, False, True])
    out = grayscale(images.clone(), chosen)
    assert torch.equal(out[~chosen], images[~chosen])
    for image, gray in zip(channels_last(images[chosen]), out[chosen], strict=True):
        expected = [[reference.luma(pixel) for pixel in row] for row in image]
        for channel in gray:
            np.testing.assert_allclose(channel, expected, atol=1e-6)
