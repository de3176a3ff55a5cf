from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

from pseudoshot.views.autoaug import IMAGENET, AutoAug
from pseudoshot.views.operations import (
    INDEX,
    NOTHING,
    OPERATIONS,
    apply_operations,
    blur,
    draw_arguments,
)
from pseudoshot.views.randaug import RANDAUGMENT, RandAug
from tests.views import reference

Pillow = Callable[[Image.Image, float], Image.Image]


def transform(image: Image.Image, xx=1.0, xy=0.0, x0=0.0, yx=0.0, yy=1.0, y0=0.0) -> Image.Image:
    """Pillow measures from the top left corner, and takes the operations' shifts in pixels."""
    cx, cy = image.width / 2, image.height / 2
    to_x = (xx, xy, cx - xx * cx - xy * cy + x0 * image.width)
    to_y = (yx, yy, cy - yx * cx - yy * cy + y0 * image.height)
    gray = 128 if image.mode == "L" else (128, 128, 128)
    affine, bilinear = Image.Transform.AFFINE, Image.Resampling.BILINEAR
    return image.transform(image.size, affine, to_x + to_y, bilinear, fillcolor=gray)


def rotate(image: Image.Image, degrees: float) -> Image.Image:
    gray = 128 if image.mode == "L" else (128, 128, 128)
    return image.rotate(degrees, Image.Resampling.BILINEAR, fillcolor=gray)


def solarize_add(image: Image.Image, addition: float) -> Image.Image:
    return image.point(lambda level: min(255, level + addition) if level < 128 else level)


CASES: list[tuple[str, float, Pillow]] = [
    ("shear_x", 0.21, lambda image, rate: transform(image, xy=rate)),
    ("shear_y", -0.287, lambda image, rate: transform(image, yx=rate)),
    ("translate_x", 0.137, lambda image, part: transform(image, x0=part)),
    ("translate_y", -0.31, lambda image, part: transform(image, y0=part)),
    ("rotate", 17.0, rotate),
    ("auto_contrast", 0.0, lambda image, _: ImageOps.autocontrast(image)),
    ("invert", 0.0, lambda image, _: ImageOps.invert(image)),
    ("equalize", 0.0, lambda image, _: ImageOps.equalize(image)),
    ("solarize", 100.0, lambda image, threshold: ImageOps.solarize(image, int(threshold))),
    ("solarize_add", 77.0, solarize_add),
    ("posterize", 3.0, lambda image, bits: ImageOps.posterize(image, int(bits))),
    ("posterize", 5.9, lambda image, bits: ImageOps.posterize(image, int(bits))),
    ("contrast", 1.6, lambda image, factor: ImageEnhance.Contrast(image).enhance(factor)),
    ("color", 0.3, lambda image, factor: ImageEnhance.Color(image).enhance(factor)),
    ("brightness", 1.7, lambda image, factor: ImageEnhance.Brightness(image).enhance(factor)),
    ("sharpness", 1.9, lambda image, factor: ImageEnhance.Sharpness(image).enhance(factor)),
    ("sharpness", 0.2, lambda image, factor: ImageEnhance.Sharpness(image).enhance(factor)),
]
EXACT = {"invert", "equalize", "solarize", "solarize_add", "posterize"}


def photographs(count: int, shape: tuple[int, int, int]) -> np.ndarray:
    """Smooth shapes and fine grain, uneven histograms that do not fill the range of levels."""
    random = np.random.default_rng(0)
    coarse = random.random((count, 4, 4, shape[2])) ** 2
    smooth = np.stack([reference.resize(image, *shape[:2]) for image in coarse])
    return (20 + 150 * smooth + 50 * random.random(smooth.shape)).astype(np.uint8)


@pytest.fixture(scope="module", params=[(31, 31, 3), (24, 33, 3), (28, 28, 1)])
def images(request: pytest.FixtureRequest) -> np.ndarray:
    return photographs(4, request.param)


def planes(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255


@pytest.mark.parametrize(("name", "argument", "pillow"), CASES)
def test_operation_equals_pillow(
    images: np.ndarray, name: str, argument: float, pillow: Pillow
) -> None:
    arguments = torch.full((len(images),), argument)
    views = OPERATIONS[name].apply(planes(images), arguments).permute(0, 2, 3, 1) * 255
    for image, view in zip(images, views.numpy(), strict=True):
        expected = np.asarray(pillow(Image.fromarray(image.squeeze()), argument)).astype(float)
        difference = np.abs(expected.reshape(image.shape) - view)
        assert difference.max() <= (0.001 if name in EXACT else 2.0)


def test_every_operation_is_compared() -> None:
    assert {name for name, _, _ in CASES} | {"posterize_more"} == set(OPERATIONS)
    assert OPERATIONS["posterize_more"].apply is OPERATIONS["posterize"].apply


@pytest.mark.parametrize("name", ["auto_contrast", "equalize"])
def test_flat_and_tiny_images_stay(name: str) -> None:
    flat = torch.full((2, 3, 20, 20), 0.4)
    assert torch.equal(OPERATIONS[name].apply(flat, torch.zeros(2)), flat)
    if name == "equalize":
        tiny = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(0))
        assert torch.equal(OPERATIONS[name].apply(tiny, torch.zeros(2)), tiny)


def test_sharpness_of_an_image_without_inside_stays() -> None:
    line = torch.rand(2, 3, 2, 9, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(OPERATIONS["sharpness"].apply(line, torch.tensor([0.1, 1.9])), line)


def test_blur_equals_the_plain_loop() -> None:
    images = photographs(3, (9, 7, 3))
    sigma = torch.tensor([0.1, 0.8, 2.0])
    expected = [
        reference.blur(image / 255, s) for image, s in zip(images, sigma.tolist(), strict=True)
    ]
    out = blur(planes(images), sigma).permute(0, 2, 3, 1)
    np.testing.assert_allclose(out, expected, atol=2e-6)


def test_each_view_gets_its_own_operation() -> None:
    images = planes(photographs(len(OPERATIONS) + 1, (24, 24, 3)))
    chosen = torch.arange(len(images)) - 1
    assert chosen[0] == NOTHING
    argument = draw_arguments(chosen, torch.full((len(images),), 7.0), torch.Generator())
    out = apply_operations(images.clone(), chosen, argument)
    assert torch.equal(out[0], images[0])
    for row, operation in enumerate(OPERATIONS.values(), start=1):
        alone = operation.apply(images[row : row + 1], argument[row : row + 1])
        torch.testing.assert_close(out[row], alone[0])
        assert not torch.equal(out[row], images[row])


def test_arguments_grow_with_magnitude_and_signs_are_drawn() -> None:
    generator = torch.Generator().manual_seed(0)
    rotate, color = INDEX["rotate"], INDEX["color"]
    chosen = torch.tensor([rotate, color]).repeat(200)
    magnitude = torch.tensor([5.0, 10.0]).repeat(200)
    argument = draw_arguments(chosen, magnitude, generator)
    assert set(argument[::2].tolist()) == {-15.0, 15.0}
    assert argument[1::2].unique().tolist() == [pytest.approx(1.9)]


def test_autoaugment_draws_the_table() -> None:
    count = 50_000
    steps = AutoAug().draw(count, torch.Generator().manual_seed(0))
    assert len(IMAGENET) == 25
    for step, (chosen, _) in enumerate(steps):
        for name, index in INDEX.items():
            share = sum(sub[step][1] for sub in IMAGENET if sub[step][0] == name) / 25
            deviation = math.sqrt(share * (1 - share) / count)
            drawn = (chosen == index).float().mean().item()
            assert drawn == pytest.approx(share, abs=5 * deviation)


def test_randaugment_draws_fifteen_operations_half_the_time() -> None:
    chosen, argument = RandAug().draw(20_000, torch.Generator().manual_seed(0))
    assert len(RANDAUGMENT) == 15
    for name in RANDAUGMENT:
        share = (chosen == INDEX[name]).float().mean().item()
        assert share == pytest.approx(0.5 / 15, abs=0.007)
    assert (chosen == INDEX["posterize"]).sum() == 0
    degrees = argument[chosen == INDEX["rotate"]].abs()
    assert degrees.max() == 30
    assert degrees.min() > 22
    assert (degrees < 30).float().mean() == pytest.approx(0.5, abs=0.1)
