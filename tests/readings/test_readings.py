"""Readings against what they stand for, image by image."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from pseudoshot.backbones import BACKBONES, build_backbone
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder, ModelCard, load
from pseudoshot.readings import COMPLETE, PLAIN, READINGS, Reading, reading_of
from pseudoshot.readings.descriptors import colour_histogram, hog
from pseudoshot.tools.errors import PseudoshotError

LIGHT = [name for name in BACKBONES if name not in ("resnet12", "wrn28-10", "lite0")]


def embedder(reading=PLAIN, backbone="conv4", channels=3, size=16):
    torch.manual_seed(0)
    mean, std = (0.4,) * channels, (0.3,) * channels
    card = ModelCard(
        backbone=backbone, channels=channels, size=size, mean=mean, std=std,
        similarity="sns", reading=reading,
    )  # fmt: skip
    return Embedder(build_backbone(backbone, channels, size), card).eval()


def pictures(count=7, size=16, channels=3):
    random = np.random.default_rng(0)
    return random.integers(0, 256, (count, size, size, channels), np.uint8)


def turned_slowly(pixels, x, y):
    """Pixels (c, h, w) turned by 10 degrees and moved, each by the four it falls between."""
    _, h, w = pixels.shape
    turn = math.radians(10) * x * y
    result = torch.zeros_like(pixels)
    for row in range(h):
        for column in range(w):
            right, below = column - (w - 1) / 2, row - (h - 1) / 2
            across = math.cos(turn) * right - math.sin(turn) * below + x * 0.054 * w + (w - 1) / 2
            down = math.sin(turn) * right + math.cos(turn) * below + y * 0.054 * h + (h - 1) / 2
            across, down = min(max(across, 0), w - 1), min(max(down, 0), h - 1)
            left, top = int(across), int(down)
            for dx, part_x in ((0, 1 - (across - left)), (1, across - left)):
                for dy, part_y in ((0, 1 - (down - top)), (1, down - top)):
                    value = pixels[:, min(top + dy, h - 1), min(left + dx, w - 1)]
                    result[:, row, column] += part_x * part_y * value
    return result


def slowly(model, images, centre=None):
    """One image and one look at a time, block by block."""
    reading, rows = model.card.reading, []
    for image in images:
        pixels = torch.from_numpy(image / 255).float().permute(2, 0, 1)
        side, crop = pixels.shape[-1], round(0.75 * pixels.shape[-1])
        looks = [pixels]
        if reading.turns:
            looks = [turned_slowly(pixels, x, y) for x in (-1, 1) for y in (-1, 1)]
        if reading.crops:
            far = side - crop
            places = [(0, 0), (0, far), (far, 0), (far, far), (far // 2, far // 2)]
            looks += [pixels[:, y : y + crop, x : x + crop] for y, x in places]
        if reading.mirror:
            looks += [look.flip(-1) for look in looks]
        assert len(looks) == reading.looks
        seen = []
        for look in looks:
            x = ((look - 0.4) / 0.3)[None]
            means = []
            for block in model.backbone.blocks:
                x = block(x)
                means.append(x.mean((2, 3))[0])
            seen.append(means[-reading.blocks :])
        parts = [torch.stack(part).mean(0) for part in zip(*seen, strict=True)]
        if centre is not None:
            parts = [part - mean for part, mean in zip(parts, centre, strict=True)]
        rows.append(torch.cat([F.normalize(part, dim=0) for part in parts]))
    return torch.stack(rows)


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("crops", [False, True])
@pytest.mark.parametrize("blocks", [2, 4, 9])
@torch.no_grad()
def test_a_reading_is_what_it_says(mirror, crops, blocks):
    model = embedder(Reading(blocks=blocks, mirror=mirror, crops=crops))
    images = pictures()
    torch.testing.assert_close(model.embed(images), slowly(model, images), rtol=1e-4, atol=1e-5)
    assert model.dim == 64 * min(blocks, 4)


@torch.no_grad()
def test_characters_are_looked_at_four_times_a_little_moved_and_turned():
    model = embedder(Reading(blocks=2, turns=True), channels=1)
    images = pictures(channels=1)
    torch.testing.assert_close(model.embed(images), slowly(model, images), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", READINGS)
def test_a_reading_of_characters_has_no_mirror_image_and_keeps_its_name(name):
    of_photos, of_characters = reading_of(name), reading_of(name, characters=True)
    assert (of_characters.mirror, of_characters.crops) == (False, False)
    assert of_characters.turns == of_photos.mirror
    assert of_characters.centre == of_photos.centre
    assert str(of_characters) == ("described" if name == "crops" else name)


@pytest.mark.parametrize("reading", ["plain", "described"])
@pytest.mark.parametrize("paper", [0.1, 0.9])
def test_ink_is_as_it_was_in_training(reading, paper):
    model = embedder(reading_of(reading, characters=True), channels=1)
    about = {"characters": True, "mean": (paper,)}
    model = Embedder(model.backbone, model.card.model_copy(update=about)).eval()
    light = np.where(pictures(channels=1) > 190, 240, 5).astype(np.uint8)
    assert torch.allclose(model.embed(light), model.embed(255 - light), atol=1e-5)
    trained_on = light if paper < 0.5 else 255 - light
    photos = Embedder(model.backbone, model.card.model_copy(update={"characters": False})).eval()
    assert torch.equal(model.embed(trained_on), photos.embed(trained_on))
    assert not torch.allclose(photos.embed(light), photos.embed(255 - light), atol=1e-2)


def test_a_model_of_characters_is_read_as_such_by_any_name(tmp_path):
    model = embedder(channels=1)
    card = model.card.model_copy(update={"characters": True})
    Embedder(model.backbone, card).save(tmp_path)
    assert load(tmp_path, "crops").card.reading == reading_of("described", characters=True)


@pytest.mark.parametrize("share", [0.5, 1.0])
@torch.no_grad()
def test_centring_subtracts_a_share_of_the_mean_of_each_block(share):
    model = embedder(Reading(blocks=2, centre=share))
    images = pictures(60)
    means = [
        torch.stack([model.backbone.block_means(model.normalise(model.preprocess(i[None])))[b][0]
                     for i in images]).mean(0)
        for b in (2, 3)
    ]  # fmt: skip
    centred = model.centred_on(ImageSet("some", images))
    torch.testing.assert_close(
        centred.embed(images),
        slowly(model, images, [share * mean for mean in means]),
        rtol=1e-3,
        atol=1e-4,
    )


def test_a_few_images_do_not_replace_a_centre_and_a_plain_reading_has_none():
    many, few = ImageSet("many", pictures(60)), ImageSet("few", pictures(10))
    centred = embedder(READINGS["joined"]).centred_on(few)  # better than none
    assert centred.centre
    assert centred.centred_on(few) is centred
    assert centred.centred_on(many) is not centred
    plain = embedder()
    assert plain.centred_on(many) is plain


@torch.no_grad()
def test_the_plain_reading_is_the_network_itself():
    model, images = embedder(), pictures()
    expected = model.backbone(model.normalise(model.preprocess(images)))
    assert torch.equal(model.embed(images), expected)


@pytest.mark.parametrize("name", LIGHT)
@torch.no_grad()
def test_the_last_block_of_every_backbone_is_its_embedding(name):
    backbone = build_backbone(name, 3, 16).eval()
    images = torch.rand(2, 3, 16, 16)
    torch.testing.assert_close(backbone.block_means(images)[-1], backbone(images))


def test_a_saved_model_keeps_its_reading_and_its_centre(tmp_path):
    images = pictures(60)
    model = embedder(READINGS["crops"]).centred_on(ImageSet("some", images))
    model.save(tmp_path)
    assert any(name.startswith("centre.") for name in load_file(tmp_path / "model.safetensors"))
    again = load(tmp_path)
    assert again.card.reading == READINGS["crops"]
    assert torch.equal(again.embed(images), model.embed(images))


def test_the_centre_of_every_block_is_that_of_any_reading():
    images = ImageSet("some", pictures(60))
    complete = embedder(COMPLETE).centred_on(images)
    joined = embedder(READINGS["joined"]).centred_on(images)
    for name, centre in joined.centre.items():
        torch.testing.assert_close(complete.centre[name], centre)


@torch.no_grad()
def test_descriptors_stand_beside_the_blocks_and_weigh_less():
    model, images = embedder(Reading(blocks=2, descriptors=True)), pictures()
    pixels = torch.from_numpy(images / 255).float().permute(0, 3, 1, 2)
    blocks = model.backbone.block_means(model.normalise(pixels))[-2:]
    weighed = [(1.0, part) for part in blocks] + [(0.5, hog(pixels))]
    weighed.append((0.35, colour_histogram(pixels)))
    expected = torch.cat([weight * F.normalize(part, dim=1) for weight, part in weighed], 1)
    torch.testing.assert_close(model.embed(images), expected)
    gray = embedder(Reading(descriptors=True), channels=1)
    assert gray.dim == 64 + 324, "no colours"


@torch.no_grad()
def test_of_descriptors_all_of_the_centre_is_subtracted():
    model, images = embedder(Reading(descriptors=True, centre=0.5)), pictures(60)
    pixels = torch.from_numpy(images / 255).float().permute(0, 3, 1, 2)
    centred = model.centred_on(ImageSet("some", images)).embed(images)
    gradients = hog(pixels)
    expected = 0.5 * F.normalize(gradients - gradients.mean(0), dim=1)
    torch.testing.assert_close(centred[:, 64 : 64 + 324], expected, rtol=1e-4, atol=1e-5)


def test_a_head_goes_on_from_the_plain_reading_alone():
    with pytest.raises(PseudoshotError, match=r"'feat' goes on from .* --reading plain"):
        load("conv4-cifar-fs", "described").classifier("feat")


def test_an_unknown_reading_lists_the_known():
    with pytest.raises(PseudoshotError, match=r"did you mean 'plain'.*joined, described, crops"):
        reading_of("plane")
    assert [str(reading) for reading in READINGS.values()] == list(READINGS)
    assert "blocks 3" in str(Reading(blocks=3))
