"""Exported models, as others read them."""

from __future__ import annotations

import shutil

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

import pseudoshot as package
from pseudoshot.sorting import FewShotClassifier
from tests.cli.entry import here

MODEL = "conv4-cifar-fs"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    file = tmp_path_factory.mktemp("export") / "model.onnx"
    result = here("export", MODEL, file)
    assert result.returncode == 0, result.stderr
    assert "divide bytes by 255" in result.stdout
    return file


def test_exported_model_predicts_the_same_on_a_thousand_images(exported):
    draw = np.random.default_rng(0)
    pixels = draw.integers(0, 256, (1000, 32, 32, 3), dtype=np.uint8)
    embedder = package.load(MODEL)
    expected = embedder.embed(pixels).numpy()
    session = onnxruntime.InferenceSession(exported)
    inputs = (pixels.transpose(0, 3, 1, 2) / 255).astype(np.float32)
    classifier = FewShotClassifier().fit(expected[:20], np.arange(20) % 5)
    for batch in (1, 2, 64):
        parts = [
            session.run(None, {"images": inputs[start : start + batch]})[0]
            for start in range(0, 1000, batch)
        ]
        found = np.concatenate(parts)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
        assert (classifier.predict(found) == classifier.predict(expected)).all()


def test_exported_model_says_what_it_takes(exported):
    about = onnxruntime.InferenceSession(exported).get_modelmeta().custom_metadata_map
    assert about["input"].startswith("images, float32 (batch, 3, 32, 32)")
    assert "central square" in about["preprocessing"]
    assert "32" in about["preprocessing"]


@pytest.mark.parametrize(
    ("backbone", "reading", "characters"),
    [
        ("conv4", "described", True),
        ("conv4-pyramid", "crops", False),
        ("conv4-flat", "plain", False),
        pytest.param("resnet12", "joined", False, marks=pytest.mark.slow),
    ],
)
def test_every_small_backbone_can_be_exported(backbone, reading, characters, tmp_path):
    """Untrained, of gray images, with statistics of its own."""
    from pseudoshot.backbones import build_backbone
    from pseudoshot.data import ImageSet
    from pseudoshot.embedders import Embedder, ModelCard
    from pseudoshot.embedders.export import export_onnx
    from pseudoshot.readings import reading_of

    torch.manual_seed(0)
    card = ModelCard(
        backbone=backbone, channels=1, size=20, mean=(0.4,), std=(0.2,), similarity="sns",
        reading=reading_of(reading, characters), characters=characters,
    )  # fmt: skip
    images = ImageSet("some", np.random.default_rng(0).integers(0, 256, (60, 20, 20, 1), np.uint8))
    Embedder(build_backbone(backbone, 1, 20), card).eval().centred_on(images).save(tmp_path)
    export_onnx(tmp_path, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").stat().st_size > 1000


def test_a_picture_is_embedded_alike_by_hand_as_the_metadata_says(exported, support):
    """Following the metadata's words alone."""
    image = Image.open(support / "ash" / "0.jpg")
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    box = (left, top, left + side, top + side)
    square = image.resize((32, 32), Image.Resampling.BICUBIC, box=box)
    pixels = np.asarray(square, np.float32).transpose(2, 0, 1)[None] / 255
    (found,) = onnxruntime.InferenceSession(exported).run(None, {"images": pixels})
    expected = package.load(MODEL).embed(package.load_data(support, size=32)).numpy()[0]
    np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-3)


def test_models_of_every_kind_are_measured(exported, images, tmp_path):
    """As the help says: bundled, lite0 and .onnx."""
    labelled = shutil.copytree(images, tmp_path / "labelled")
    (labelled / "broken.jpg").unlink()
    options = ("--way", 3, "--shot", 1, "--query", 2, "--tasks", 5, "--json")
    for model in (MODEL, "lite0", exported):
        result = here("evaluate", model, labelled, *options)
        assert result.returncode == 0, result.stderr
        assert '"way": 3' in result.stdout
