"""Models that were damaged or made up: one clear sentence, or the embeddings of the whole one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from pseudoshot.embedders import load
from pseudoshot.embedders.card import card_digest
from pseudoshot.embedders.embedder import CARD
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.tensor_file import to_bytes

from .damage import damaged, one_sentence

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)
BUNDLED = "conv4-cifar-fs"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = load(BUNDLED).folder
    assert folder is not None
    return Path(shutil.copytree(folder, tmp_path / "model"))


@pytest.fixture(scope="module")
def expected() -> torch.Tensor:
    return load(BUNDLED).embed(IMAGES)


def attempt(folder: Path, expected: torch.Tensor) -> bool:
    """Whether it is read; if so, it is the whole one."""
    try:
        found = load(folder).embed(IMAGES)
    except PseudoshotError as error:
        one_sentence(error)
        return False
    assert torch.equal(found, expected)
    return True


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
@pytest.mark.parametrize(
    "times", [60, pytest.param(2000, marks=pytest.mark.slow)], ids=["some", "thousands"]
)
def test_a_damaged_model_never_says_anything_else(
    model: Path, expected: torch.Tensor, name: str, times: int
) -> None:
    file = model / name
    whole = file.read_bytes()
    assert attempt(model, expected)
    for content in damaged(whole, times, 3):
        file.write_bytes(content)
        attempt(model, expected)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(model: Path, expected: torch.Tensor, value: float) -> None:
    file = model / "model.safetensors"
    weights = load_file(file)
    weights["blocks.0.convolution.weight"].view(-1)[5] = value
    digest = card_digest((model / "model.json").read_text("utf-8"))
    file.write_bytes(to_bytes(weights, {CARD: digest}))
    with pytest.raises(PseudoshotError, match=r"'blocks\.0\.convolution.*not finite"):
        load(model)


def test_another_card_than_the_weights_were_written_with(model: Path) -> None:
    file = model / "model.json"
    card = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(card))  # another layout of the same
    load(model)
    file.write_text(json.dumps({**card, "mean": [0.1, 0.2, 0.3]}))
    with pytest.raises(PseudoshotError, match=r"model\.json is not the one that was written"):
        load(model)


def test_a_digest_cannot_be_renamed_away(model: Path) -> None:
    file = model / "model.safetensors"
    file.write_bytes(file.read_bytes().replace(b'"digest"', b'"eigest"'))
    with pytest.raises(PseudoshotError, match="its header holds 'eigest', which is not known"):
        load(model)


def test_a_model_of_an_earlier_version_is_read_with_a_word(
    model: Path, expected: torch.Tensor, capfd: pytest.CaptureFixture[str]
) -> None:
    save_file(load_file(model / "model.safetensors"), model / "model.safetensors")
    assert attempt(model, expected)
    assert "has no digest" in capfd.readouterr().err


@pytest.mark.parametrize(("size", "refused"), [(900, False), (2048, True)])
def test_a_card_cannot_claim_more_memory_than_there_is(
    model: Path, size: int, refused: bool
) -> None:
    file = model / "model.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "size": size}))
    weights = load_file(model / "model.safetensors")
    digest = card_digest(file.read_text("utf-8"))
    (model / "model.safetensors").write_bytes(to_bytes(weights, {CARD: digest}))
    large = load(model)
    if refused:
        with pytest.raises(PseudoshotError, match=r"2048 x 2048 pixels, looked at once.* 3\.1 GB"):
            large.embed(IMAGES)
    else:
        assert large.embed(IMAGES).shape == (3, 64)


def test_embeddings_that_are_no_numbers_are_refused() -> None:
    broken = load(BUNDLED)
    with torch.no_grad():
        next(broken.parameters()).fill_(torch.nan)
    with pytest.raises(PseudoshotError, match="no finite number"):
        broken.embed(IMAGES)


NAME = "blocks.0.convolution.weight"


@pytest.mark.parametrize(
    "change",
    [
        lambda w: {**w, "blocks.9.convolution.weight": w[NAME].clone()},
        lambda w: {name: value for name, value in w.items() if name != NAME},
        lambda w: {name.replace("blocks.0", "blocks.é\x00"): v for name, v in w.items()},
        lambda w: {**w, NAME: w[NAME].transpose(0, 1).contiguous()},
        lambda w: {**w, NAME: w[NAME][:1].contiguous()},
        lambda w: {**w, NAME: torch.zeros(0)},
        lambda w: {**w, NAME: torch.zeros(1, 1, 1, 1)},
        lambda w: {**w, NAME: w[NAME].double() * 1e300},
        lambda w: {},
    ],
    ids=["more", "fewer", "names", "turned", "cut", "empty", "small", "extreme", "none"],
)
def test_weights_of_another_network_with_a_digest_that_fits(
    model: Path, expected: torch.Tensor, change
) -> None:
    file = model / "model.safetensors"
    digest = card_digest((model / "model.json").read_text("utf-8"))
    file.write_bytes(to_bytes(change(load_file(file)), {CARD: digest}))
    assert not attempt(model, expected)
