"""What every policy must do."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, asdict, fields, replace

import numpy as np
import pytest
import torch
from PIL import Image

from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.views import POLICIES, get_policy
from pseudoshot.views.amdim import Amdim
from pseudoshot.views.colour import RandomJitter
from pseudoshot.views.geometry import RandomCrop
from pseudoshot.views.layout import as_planes, as_views

every_policy = pytest.mark.parametrize("name", POLICIES)
every_random_policy = pytest.mark.parametrize(
    "name", [name for name in POLICIES if name != "identity"]
)
SHAPES = [(32, 32, 3), (28, 28, 1), (17, 23, 3), (2, 3, 1), (1, 1, 3)]


def exemplars(classes: int, views: int, shape: tuple[int, int, int]) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (classes, 1, *shape), dtype=torch.uint8, generator=generator)
    return images.expand(-1, views, -1, -1, -1)


def draw(name: str, images: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return POLICIES[name]()(images, torch.Generator().manual_seed(seed))


@every_policy
@pytest.mark.parametrize("shape", SHAPES)
def test_shape_type_and_range(name: str, shape: tuple[int, int, int]) -> None:
    h, w, c = shape
    views = draw(name, exemplars(10, 4, shape))
    assert views.shape == (10, 4, c, h, w)
    assert views.dtype == torch.float32
    assert views.isfinite().all()
    assert views.min() >= 0
    assert views.max() <= 1
    assert views.flatten(0, 1).is_contiguous(memory_format=torch.channels_last)


@every_policy
@pytest.mark.parametrize("level", [0, 255])
def test_flat_images_are_in_range(name: str, level: int) -> None:
    views = draw(name, torch.full((10, 4, 16, 16, 3), level, dtype=torch.uint8))
    assert views.isfinite().all()
    assert views.min() >= 0
    assert views.max() <= 1


@every_random_policy
def test_the_generator_decides_everything(name: str) -> None:
    images = exemplars(8, 4, (24, 24, 3))
    before = torch.get_rng_state()
    first = draw(name, images)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(99)
    assert torch.equal(draw(name, images), first)
    assert not torch.equal(draw(name, images, seed=1), first)


@every_random_policy
def test_the_generator_moves_on_and_images_stay(name: str) -> None:
    images = exemplars(8, 4, (24, 24, 3)).clone()
    before = images.clone()
    generator = torch.Generator().manual_seed(0)
    first, second = (POLICIES[name]()(images, generator) for _ in range(2))
    assert not torch.equal(first, second)
    assert torch.equal(images, before)


@every_random_policy
def test_views_of_an_image_differ(name: str) -> None:
    views = draw(name, exemplars(20, 6, (24, 24, 3))).flatten(2)
    distance = torch.cdist(views, views) + torch.eye(6)
    assert distance.min() > 1e-3


@every_policy
def test_each_view_is_of_its_own_image(name: str) -> None:
    """A class of different images: changing one changes that view and no other."""
    generator = torch.Generator().manual_seed(5)
    images = torch.randint(0, 256, (4, 5, 24, 24, 3), dtype=torch.uint8, generator=generator)
    changed = images.clone()
    changed[2, 3] = 255 - changed[2, 3].flip(0)
    differs = (draw(name, images) != draw(name, changed)).flatten(2).any(2)
    assert differs.nonzero().tolist() == [[2, 3]]


@every_policy
def test_strengths_are_recorded_and_frozen(name: str) -> None:
    policy = POLICIES[name]()
    assert json.loads(json.dumps(asdict(policy))).keys() == {f.name for f in fields(policy)}
    with pytest.raises(FrozenInstanceError):
        policy.anything = 1  # type: ignore[attr-defined]


def test_levels_become_the_unit_interval() -> None:
    images = torch.arange(256, dtype=torch.uint8).view(2, 2, 8, 8, 1).expand(-1, -1, -1, -1, 3)
    images = images * torch.tensor([1, 0, 1], dtype=torch.uint8)
    expected = images.permute(0, 1, 4, 2, 3) / 255
    assert torch.equal(as_views(as_planes(images), 2), expected)


def test_amdim_mirrors_a_class_together_and_moves_its_views_apart() -> None:
    crops = Amdim().crop.draw(200, 6, (32, 32), torch.Generator().manual_seed(0))
    mirrored = crops.mirrored.view(200, 6)
    assert (mirrored == mirrored[:, :1]).all()
    assert mirrored[:, 0].float().mean() == pytest.approx(0.5, abs=0.12)
    for apart in (crops.top, crops.left, crops.height, crops.width, crops.down, crops.right):
        rows = apart.view(200, 6)
        assert (rows != rows[:, :1]).any(1).float().mean() > 0.9


def test_other_policies_mirror_each_view_by_itself() -> None:
    crops = POLICIES["simclr"]().crop.draw(200, 6, (32, 32), torch.Generator().manual_seed(0))
    mirrored = crops.mirrored.view(200, 6)
    assert (mirrored != mirrored[:, :1]).any(1).float().mean() > 0.9


def test_amdim_has_the_published_strengths() -> None:
    assert Amdim().crop == RandomCrop((0.08, 1.0), (3 / 4, 4 / 3), 0.5, True, 4, 0.8)
    assert Amdim().jitter == RandomJitter(0.4, 0.4, 0.4, 0.2, 0.8)
    assert Amdim().grayscale == 0.25


def test_grayscale_probability() -> None:
    views = draw("amdim", exemplars(200, 5, (8, 8, 3)))
    gray = (views.amax(2) - views.amin(2)).flatten(2).amax(2) < 1e-5
    assert gray.float().mean() == pytest.approx(0.25, abs=0.05)
    assert not torch.equal(gray, gray[:, :1].expand(-1, 5))
    colourful = replace(Amdim(), grayscale=0.0)(
        exemplars(50, 5, (8, 8, 3)), torch.Generator().manual_seed(0)
    )
    assert ((colourful.amax(2) - colourful.amin(2)).flatten(2).amax(2) > 1e-5).all()


def test_unknown_policy_names_the_choices() -> None:
    assert get_policy("amdim") == Amdim()
    with pytest.raises(PseudoshotError, match=r"'nope'.*amdim.*simclr.*randaug.*strokes"):
        get_policy("nope")


def test_identity_is_the_image_itself_or_its_antialiased_resize() -> None:
    images = exemplars(3, 2, (24, 24, 3))
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    whole = get_policy("identity")(images, generator)
    assert torch.equal(whole, images.permute(0, 1, 4, 2, 3) / 255)
    half = get_policy({"name": "identity", "view_scale": 0.5})(images, generator)
    assert torch.equal(generator.get_state(), before), "nothing is random"
    picture = Image.fromarray(images[0, 0].numpy()).resize((12, 12), Image.Resampling.BICUBIC)
    expected = torch.from_numpy(np.asarray(picture)).permute(2, 0, 1) / 255
    assert (half[0, 0] - expected).abs().max() < 2 / 255
