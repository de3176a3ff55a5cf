from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pseudoshot.views.geometry import Crops, RandomCrop, crop, draw_boxes, reflect
from tests.views import reference

SHAPES = [(9, 9, 3), (7, 12, 3), (11, 6, 1)]
EVERYTHING = RandomCrop(area=(0.08, 1.0), shift=4, shift_probability=0.8)


def pixels(count: int, shape: tuple[int, int, int], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


def cropped(images: np.ndarray, crops: Crops) -> np.ndarray:
    planes = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
    return crop(planes, crops).permute(0, 2, 3, 1).numpy()


def per_view(crops: Crops) -> list[tuple[int, ...]]:
    columns = [value for name, value in vars(crops).items() if name != "size"]
    return [tuple(int(v) for v in row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("scale", [1, 0.8, 0.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_crop_equals_the_plain_loop(shape: tuple[int, int, int], scale: float) -> None:
    images = pixels(24, shape)
    policy = replace(EVERYTHING, shift=2 if scale < 1 else 4, scale=scale)
    crops = policy.draw(8, 3, shape[:2], torch.Generator().manual_seed(1))
    assert crops.mirrored.any()
    assert crops.down.any()
    assert crops.right.any()
    expected = [
        reference.crop(image / 255, crops.size, *view)
        for image, view in zip(images, per_view(crops), strict=True)
    ]
    np.testing.assert_allclose(cropped(images, crops), expected, atol=2e-6)


@pytest.mark.parametrize("scale", [1, 0.7, 0.5, 0.2])
@pytest.mark.parametrize("shape", [(32, 32, 3), (27, 40, 3), (28, 28, 1)])
def test_crop_equals_pillow(shape: tuple[int, int, int], scale: float) -> None:
    images = pixels(20, shape)
    policy = RandomCrop(mirror=0, scale=scale)
    crops = policy.draw(20, 1, shape[:2], torch.Generator().manual_seed(2))
    views = cropped(images, crops) * 255
    for image, view, (top, left, height, width, *_) in zip(
        images, views, per_view(crops), strict=True
    ):
        box = (left, top, left + width, top + height)
        for channel in range(shape[2]):  # bytes would be clipped twice
            cut = Image.fromarray(image[..., channel].astype(np.float32)).crop(box)
            resized = np.asarray(cut.resize(crops.size[::-1], Image.Resampling.BICUBIC))
            assert np.abs(resized.clip(0, 255) - view[..., channel]).max() <= 0.01


def test_whole_image_unmoved_is_itself() -> None:
    images = pixels(5, (8, 10, 3))
    policy = RandomCrop(area=(1, 1), aspect=(10 / 8, 10 / 8), mirror=0)
    crops = policy.draw(5, 1, (8, 10), torch.Generator())
    np.testing.assert_allclose(cropped(images, crops), images / 255, atol=1e-6)


@given(
    h=st.integers(1, 60),
    w=st.integers(1, 60),
    low=st.floats(0.05, 1),
    spread=st.floats(0, 1),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=60, deadline=None)
def test_boxes_are_inside_with_the_area_and_aspect_asked(
    h: int, w: int, low: float, spread: float, seed: int
) -> None:
    high = low + spread * (1 - low)
    aspect = (3 / 4, 4 / 3)
    boxes = draw_boxes(40, (h, w), (low, high), aspect, torch.Generator().manual_seed(seed))
    centred = (min(h, round(w / aspect[0])), min(w, round(h * aspect[1])))
    for top, left, height, width in zip(*(b.tolist() for b in boxes), strict=True):
        assert all(v == int(v) for v in (top, left, height, width))
        assert 1 <= height <= h
        assert 1 <= width <= w
        assert 0 <= top <= h - height
        assert 0 <= left <= w - width
        if (height, width) == centred:
            continue
        # The sides were rounded: the bounds hold for some sides within half a pixel of these.
        assert (height + 0.5) * (width + 0.5) >= low * h * w - 1e-3
        assert (height - 0.5) * (width - 0.5) <= high * h * w + 1e-3
        assert (width + 0.5) / (height - 0.5) >= aspect[0] - 1e-3
        assert (width - 0.5) / (height + 0.5) <= aspect[1] + 1e-3


def test_areas_are_uniform_and_aspects_log_uniform() -> None:
    boxes = draw_boxes(4000, (500, 500), (0.1, 0.5), (0.5, 2), torch.Generator().manual_seed(0))
    _, _, height, width = boxes
    area = ((height * width) / 500**2 - 0.1) / 0.4
    log_aspect = (torch.log(width / height) / math.log(2) + 1) / 2
    for u in (area, log_aspect):
        quantiles = torch.quantile(u, torch.tensor([0.25, 0.5, 0.75]))
        torch.testing.assert_close(quantiles, torch.tensor([0.25, 0.5, 0.75]), atol=0.03, rtol=0)


def test_boxes_reach_every_corner() -> None:
    top, left, height, width = draw_boxes(
        3000, (6, 8), (0.2, 0.4), (0.75, 1.33), torch.Generator().manual_seed(0)
    )
    assert {int(v) for v in (top == 0).int() + 2 * (left == 0).int()} == {0, 1, 2, 3}
    assert (top + height == 6).any()
    assert (left + width == 8).any()


def test_centred_box_where_none_fits() -> None:
    generator = torch.Generator().manual_seed(0)
    for size, box in (((4, 100), (0, 47, 4, 5)), ((100, 4), (47, 0, 5, 4))):
        boxes = torch.stack(draw_boxes(8, size, (1.0, 1.0), (3 / 4, 4 / 3), generator))
        assert boxes.T.tolist() == [list(box)] * 8


def test_several_tries_are_made() -> None:
    # A box of nearly the whole area of a square seldom fits: about one try in five does.
    _, _, height, width = draw_boxes(
        2000, (100, 100), (0.9, 1.0), (3 / 4, 4 / 3), torch.Generator().manual_seed(0)
    )
    fell_back = ((height == 100) & (width == 100)).float().mean()
    assert fell_back < 0.3


def test_shifts_are_whole_bounded_and_skipped() -> None:
    crops = RandomCrop(shift=4, shift_probability=0.5).draw(
        500, 2, (32, 32), torch.Generator().manual_seed(0)
    )
    moves = torch.stack((crops.down, crops.right))
    assert set(moves.flatten().tolist()) == set(range(-4, 5))
    still = (moves == 0).all(0).float().mean()
    assert still == pytest.approx(0.5 + 0.5 / 81, abs=0.06)
    assert not torch.equal(crops.down, crops.right)


def test_reflect_does_not_repeat_the_edge() -> None:
    assert reflect(torch.arange(-5, 8), 4).tolist() == [1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1]
    assert reflect(torch.arange(-3, 4), 1).tolist() == [0] * 7
