from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from pseudoshot.views.strokes import CONTROL, Deformation, Strokes, deform, redraw
from tests.views import reference

STILL = Strokes((1, 1), (1, 1), shear=0, rotation=0, shift=0, warp=0, pen=(0, 0))


def noise(count: int, h: int, w: int) -> torch.Tensor:
    return torch.rand(count, 1, h, w, generator=torch.Generator().manual_seed(0))


def test_no_strength_is_no_change() -> None:
    images = noise(4, 9, 12)
    drawn = STILL.draw(4, (9, 12), torch.Generator())
    torch.testing.assert_close(deform(images, drawn), images, atol=1e-5, rtol=0)


@pytest.mark.parametrize("size", [(10, 10), (9, 13)])
def test_deform_equals_the_plain_loop(size: tuple[int, int]) -> None:
    h, w = size
    images = noise(6, h, w)
    drawn = Strokes().draw(6, size, torch.Generator().manual_seed(1))
    bend = F.interpolate(drawn.warp.double(), size, mode="bicubic", align_corners=True).numpy()
    views = deform(images, drawn)[:, 0].numpy()
    for view, image in enumerate(images.permute(0, 2, 3, 1).double().numpy()):
        moved = np.empty_like(image)
        for i in range(h):
            for j in range(w):
                about_centre = np.array([j - (w - 1) / 2, i - (h - 1) / 2, 1.0])
                x, y = drawn.matrix[view].double().numpy() @ about_centre
                x += (w - 1) / 2 + bend[view, 0, i, j]
                y += (h - 1) / 2 + bend[view, 1, i, j]
                moved[i, j] = reference.bilinear(image, y, x)
        expected = reference.redraw(moved, drawn.pen[view].item())[..., 0]
        np.testing.assert_allclose(views[view], expected, atol=1e-5)


def test_white_stays_white() -> None:
    drawn = Strokes().draw(600, (9, 9), torch.Generator().manual_seed(0))
    white = deform(torch.ones(600, 1, 9, 9), drawn)
    assert white.max() == 1
    assert white.min() > 1 - 1e-6


def test_thicker_and_thinner() -> None:
    dot = torch.zeros(3, 1, 7, 7)
    dot[:, :, 2:5, 2:5] = 1
    ink = redraw(dot, torch.tensor([1.0, -1.0, 0.0])).sum((1, 2, 3))
    assert ink.tolist() == [25, 1, 9]


@pytest.mark.parametrize(
    ("change", "scale", "aspect"),
    [
        ({"scale": (1.5, 1.5)}, 1.5, 1.0),
        ({"aspect": (2.0, 2.0)}, 1.0, 2.0),
    ],
)
def test_scale_magnifies_and_aspect_widens(
    change: dict[str, tuple[float, float]], scale: float, aspect: float
) -> None:
    matrix = replace(STILL, **change).draw(1, (28, 28), torch.Generator()).matrix[0]
    across, down = 1 / matrix[0, 0].item(), 1 / matrix[1, 1].item()
    assert across * down == pytest.approx(scale**2)
    assert across / down == pytest.approx(aspect)


def test_strengths_bound_what_is_drawn() -> None:
    policy = Strokes()
    drawn = policy.draw(3000, (20, 40), torch.Generator().manual_seed(0))
    scale = torch.linalg.det(drawn.matrix[:, :, :2]) ** -0.5
    assert scale.min() == pytest.approx(policy.scale[0], abs=0.01)
    assert scale.max() == pytest.approx(policy.scale[1], abs=0.01)
    shift = drawn.matrix[:, :, 2].abs().amax(0)
    torch.testing.assert_close(shift, torch.tensor([40.0, 20.0]) * policy.shift, atol=0, rtol=0.02)
    assert drawn.pen.min() == pytest.approx(policy.pen[0], abs=0.01)
    assert drawn.pen.max() == pytest.approx(policy.pen[1], abs=0.01)
    spread = drawn.warp.std((0, 2, 3))
    torch.testing.assert_close(spread, torch.tensor([40.0, 20.0]) * policy.warp, atol=0, rtol=0.03)


def test_rotation_alone_keeps_lengths() -> None:
    matrix = replace(STILL, rotation=30.0).draw(200, (28, 28), torch.Generator()).matrix[:, :, :2]
    torch.testing.assert_close(matrix @ matrix.mT, torch.eye(2).expand(200, 2, 2))
    degrees = torch.rad2deg(torch.atan2(matrix[:, 1, 0], matrix[:, 0, 0]))
    assert degrees.abs().max() == pytest.approx(30, abs=1)
    assert degrees.min() < 0 < degrees.max()


def test_warp_bends_only_near_its_control_point() -> None:
    warp = torch.zeros(1, 2, CONTROL, CONTROL)
    warp[0, 0, 0, 0] = 3.0
    still = STILL.draw(1, (31, 31), torch.Generator())
    images = noise(1, 31, 31)
    out = deform(images, Deformation(still.matrix, warp, still.pen))
    assert not torch.allclose(out[..., :8, :8], images[..., :8, :8], atol=1e-2)
    torch.testing.assert_close(out[..., 21:, 21:], images[..., 21:, 21:], atol=1e-5, rtol=0)
