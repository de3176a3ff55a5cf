"""Folders of transformers: embeddings as the library's own, or a sentence."""

from __future__ import annotations

import json
import pickle
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from pseudoshot.embedders import load
from pseudoshot.sorting import FewShotClassifier, load_classifier, save_classifier
from pseudoshot.tools.errors import PseudoshotError
from tests.cli.entry import here, refused

transformers = pytest.importorskip("transformers", reason="the extra is not installed")

MEAN, STD = [0.48, 0.46, 0.41], [0.23, 0.22, 0.25]
TOKENS = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SQUARE = {**TOKENS, "intermediate_size": 32, "image_size": 32, "patch_size": 16}
MAPS = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}
TEXT = {**TOKENS, "intermediate_size": 32, "vocab_size": 30, "eos_token_id": 2}
KINDS = {
    "dinov2": lambda: transformers.Dinov2Config(**TOKENS, image_size=56, patch_size=14),
    "siglip": lambda: transformers.SiglipVisionConfig(**SQUARE),
    "convnext": lambda: transformers.ConvNextConfig(**MAPS),
    "resnet": lambda: transformers.ResNetConfig(**MAPS, embedding_size=8),
}


def made(kind: str):
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(KINDS[kind]()).eval()


def written(model, folder, **changes):
    """As the library writes it, with a description of images."""
    model.save_pretrained(folder)
    about = {"size": {"height": 32, "width": 32}, "image_mean": MEAN, "image_std": STD}
    (folder / "preprocessor_config.json").write_text(json.dumps({**about, **changes}))
    return folder


def pixels(count: int = 4, side: int = 32):
    shape = (count, side, side, 3)
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def prepared(images):
    values = (images / 255 - MEAN) / STD
    return torch.from_numpy(values).permute(0, 3, 1, 2).float()


def pooled(model, images):
    with torch.inference_mode():
        return model(pixel_values=prepared(images)).pooler_output.flatten(1)


def as_original(kind, folder, count):
    model, side = made(kind), 28 if kind == "dinov2" else 32
    images = pixels(count, side)
    embedder = load(written(model, folder, size={"height": side, "width": side}))
    assert embedder.dim == 16
    torch.testing.assert_close(embedder.embed(images), pooled(model, images), rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_embeddings_are_the_librarys_own(kind, tmp_path):
    as_original(kind, tmp_path, 200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_embeddings_of_a_thousand_images_are_the_librarys_own(kind, tmp_path):
    as_original(kind, tmp_path, 1_000)


@pytest.mark.parametrize("kind", ["Siglip", "CLIP"])
def test_of_two_towers_the_one_for_images_is_taken(kind, tmp_path):
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(vision_config=SQUARE, text_config=TEXT)
    model = transformers.AutoModel.from_config(config).eval()
    embedder = load(written(model, tmp_path))
    expected = pooled(model.vision_model, pixels())
    torch.testing.assert_close(embedder.embed(pixels()), expected, rtol=0, atol=1e-4)
    assert not any("text" in name for name in embedder.weights())
    assert embedder.card.labels == "captions of the images"


def test_a_pooling_that_has_no_weights_is_not_read(tmp_path):
    torch.manual_seed(0)
    config = transformers.ViTConfig(**SQUARE, num_labels=7)
    model = transformers.ViTForImageClassification(config).eval()
    embedder = load(written(model, tmp_path))
    with torch.inference_mode():
        tokens = model.vit(pixel_values=prepared(pixels())).last_hidden_state
    torch.testing.assert_close(embedder.embed(pixels()), tokens[:, 0], rtol=0, atol=1e-4)
    assert embedder.card.labels == "7 classes"


@pytest.mark.parametrize(
    ("said", "size", "mean"),
    [
        ({"size": 32}, 32, 0.48),
        ({"size": {"shortest_edge": 40}, "resample": 2}, 40, 0.48),
        ({"size": 64, "crop_size": 32, "do_center_crop": True, "resample": 3}, 32, 0.48),
        ({"size": 64, "crop_size": 32, "do_center_crop": False}, 64, 0.48),
        ({"rescale_factor": 2 / 255}, 32, 0.24),
        ({"do_rescale": False}, 32, 0.48 / 255),
        ({"do_normalize": False, "image_mean": None}, 32, 0),
    ],
)
def test_what_is_said_of_images_is_understood(tmp_path, said, size, mean):
    card = load(written(made("resnet"), tmp_path, **said)).card
    assert card.size == size
    assert card.mean[0] == pytest.approx(mean)


def test_later_versions_put_it_into_another_file(tmp_path):
    folder = written(made("resnet"), tmp_path)
    about = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").unlink()
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": about}))
    assert load(folder).card.size == 32


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_saved_whole_and_can_be_trained(kind, tmp_path):
    side = 28 if kind == "dinov2" else 32
    (tmp_path / "run").mkdir()
    embedder = load(written(made(kind), tmp_path / "model", size=side))
    fitted = FewShotClassifier(embedder).fit(pixels(4, side), ["a", "a", "b", "b"])
    embedder.save(tmp_path / "run")
    save_classifier(fitted, tmp_path / "c.safetensors")
    shutil.rmtree(tmp_path / "model")
    again = load_classifier(tmp_path / "c.safetensors")
    images = pixels(9, side)
    np.testing.assert_allclose(again.predict_proba(images), fitted.predict_proba(images))
    assert torch.equal(load(tmp_path / "run").embed(images), embedder.embed(images))
    again.embedder_.train()(torch.rand(2, 3, side, side)).sum().backward()
    assert any(p.grad is not None for p in again.embedder_.parameters())


def test_a_name_is_looked_for_where_models_are_downloaded_to_and_nowhere_else(
    tmp_path, monkeypatch
):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(PseudoshotError, match="first downloaded with `hf download someone/resnet`"):
        load("someone/resnet")
    place = tmp_path / "models--someone--resnet"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("abc")
    written(made("resnet"), place / "snapshots" / "abc")
    assert load("someone/resnet").dim == 16


def edited(name, change):
    def edit(folder):
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**content, **change}))

    return edit


def pickled(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"w": 1}))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (pickled, "holds no model.safetensors, the only form"),
        (edited("config.json", {"auto_map": {"AutoModel": "x.Y"}}), "brings code of its own"),
        (edited("config.json", {"model_type": "bert"}), "cannot be used"),
        (edited("config.json", {"model_type": "nothing"}), "cannot be used"),
        (edited("config.json", {"hidden_sizes": [8, 8, 16, 10**9]}), "cannot be used"),
        (edited("config.json", {"depths": [1, 1, 1, 2]}), "cannot be used: its weights lack"),
        (lambda f: (f / "config.json").write_text("["), "is not a model's configuration"),
        (lambda f: (f / "config.json").write_text("[]"), "is not a model's configuration"),
        (lambda f: (f / "model.safetensors").write_bytes(b"12"), "cannot be used"),
        (lambda f: (f / "preprocessor_config.json").unlink(), "how are images prepared"),
        (lambda f: (f / "preprocessor_config.json").write_text("7"), "a description of images"),
        (edited("preprocessor_config.json", {"size": 100_000}), "100000 pixels a side: 1 to 2048"),
        (edited("preprocessor_config.json", {"size": {"a": 1, "b": 2}}), "not squares of one size"),
        (edited("preprocessor_config.json", {"image_mean": None}), "do not say how to normalise"),
        (edited("preprocessor_config.json", {"image_std": [0, 1, 1]}), r"equal to 0\.0001"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path, spoil, words):
    folder = written(made("resnet"), tmp_path)
    spoil(folder)
    with pytest.raises(PseudoshotError, match=words):
        load(folder)


def test_a_saved_classifier_with_other_weights_than_it_says_is_refused(tmp_path):
    load(written(made("resnet"), tmp_path / "model")).save(tmp_path)
    edited("model.json", {"config": {"config": KINDS["convnext"]().to_dict(), "read": "pooled"}})(
        tmp_path
    )
    weights = tmp_path / "model.safetensors"
    save_file(load_file(weights), weights)  # without the digest, which would tell first
    with pytest.raises(PseudoshotError, match="not those of its configuration"):
        load(tmp_path)


def test_a_command_refuses_alike(tmp_path):
    folder = written(made("resnet"), tmp_path)
    pickled(folder)
    refused(here("suggest", folder, "--images", tmp_path), r"holds no model\.safetensors")
