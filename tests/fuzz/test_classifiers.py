"""Saved classifiers that were damaged or made up: one clear sentence, or a classifier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load, save

from pseudoshot.sorting import FewShotClassifier, load_classifier
from pseudoshot.sorting.saved import to_bytes
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.tensor_file import to_bytes as file_bytes

from .damage import damaged, one_sentence

KEY = "pseudoshot.classifier"
DESCRIPTIONS = (
    *("", "null", "[]", "{}", "{", "9" * 5000, "[" * 50_000, '{"format": 3}', '{"classes": []}'),
    '{"format": 1, "classes": ["a"], "head": "prototype", "temperature": 0}',
    '{"format": 1, "classes": ["a"], "head": "prototype", "temperature": 1e999}',
    '{"format": 1, "classes": ["a"], "head": "tree", "temperature": 1}',
    '{"format": 1, "classes": ["a", "b", "c"], "head": "ridge", "temperature": 1}',
    '{"format": 1, "classes": ["a", "b"], "head": "ridge", "temperature": 1, "card": 5}',
    '{"format": 1, "classes": ["a", "b"], "head": {"ridge": 1}, "temperature": 1}',
    '{"format": 2, "classes": ["a"], "classifier": {}, "temperature": 1}',
    '{"format": 2, "classes": ["a"], "classifier": {"name": [1]}, "temperature": 1}',
    '{"format": 2, "classes": ["a"], "classifier": {"name": "tree"}, "temperature": 1}',
    '{"format": 2, "classes": ["a", "b", "c"], "classifier": {"name": "svm"}, "temperature": 1}',
)


IMAGES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)


def attempt(file: Path, content: bytes, untouched: bytes = b"") -> bool:
    """Whether it is read; and if so, whether it gives the labels of the untouched file."""
    file.write_bytes(content)
    try:
        classifier = load_classifier(file)
        probabilities = classifier.predict_proba(IMAGES)
    except PseudoshotError as error:
        one_sentence(error)
        return False
    file.write_bytes(untouched)
    np.testing.assert_array_equal(probabilities, load_classifier(file).predict_proba(IMAGES))
    return True


@pytest.fixture(scope="module")
def whole() -> bytes:
    features = np.random.default_rng(0).normal(size=(4, 64))
    return to_bytes(FewShotClassifier("conv4-cifar-fs").fit(features, ["a", "b", "a", "b"]))


def description_of(whole: bytes) -> str:
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
    text: str = header["__metadata__"][KEY]
    return text


def made_up(whole: bytes, **changed: object) -> bytes:
    """With a description of its own and a digest that fits."""
    told = json.loads(description_of(whole))
    card = {**told["card"], **{k: v for k, v in changed.items() if k in told["card"]}}
    others = {k: v for k, v in changed.items() if k not in card}
    return file_bytes(load(whole), {KEY: json.dumps({**told, "card": card, **others})})


def test_damage_anywhere(whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "c.safetensors"
    read = [attempt(file, content, whole) for content in damaged(whole, 120, 0)]
    assert not any(read), "the digest tells"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_damage_by_the_thousand(whole: bytes, tmp_path: Path, seed: int) -> None:
    for content in damaged(whole, 1000, 10 + seed):
        attempt(tmp_path / "c.safetensors", content, whole)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["classifier.weight", "classifier.bias", "backbone.blocks.0"])
def test_weights_that_are_no_numbers(whole: bytes, tmp_path: Path, name: str, value: float) -> None:
    """With a digest that fits: whoever made the file meant it."""
    weights = load(whole)
    chosen = next(n for n in sorted(weights) if n.startswith(name))
    weights[chosen].view(-1)[0] = value
    content = file_bytes(weights, {KEY: description_of(whole)})
    assert not attempt(tmp_path / "c.safetensors", content)


@pytest.mark.parametrize(
    "changed",
    [
        *({"mean": [1e308] * 3}, {"mean": [-1e200] * 3}, {"std": [1e-300] * 3}),
        *({"std": [1e308] * 3}, {"temperature": 1e-320}, {"temperature": 1e300}),
        *({"size": 100_000}, {"size": -1}, {"channels": 2}, {"backbone": "conv5"}),
    ],
)
def test_extremes_in_the_description(whole: bytes, tmp_path: Path, changed: dict[str, Any]) -> None:
    assert not attempt(tmp_path / "c.safetensors", made_up(whole, **changed))


def test_the_same_description_made_up_again_is_the_same_classifier(
    whole: bytes, tmp_path: Path
) -> None:
    assert attempt(tmp_path / "c.safetensors", made_up(whole), whole)


def test_a_file_without_a_digest_is_read_with_a_word(whole, tmp_path, capfd) -> None:
    content = save(load(whole), {KEY: description_of(whole)})
    assert attempt(tmp_path / "c.safetensors", content, whole)
    assert "has no digest" in capfd.readouterr().err


def test_damage_to_the_description(whole: bytes, tmp_path: Path) -> None:
    head = 8 + int.from_bytes(whole[:8], "little")
    for content in damaged(whole[:head], 200, 1):
        attempt(tmp_path / "c.safetensors", content + whole[head:], whole)


@pytest.mark.parametrize("description", DESCRIPTIONS)
def test_descriptions_that_do_not_fit(whole: bytes, tmp_path: Path, description: str) -> None:
    weights = load(whole)
    content = save(weights, {"pseudoshot.classifier": description})
    assert not attempt(tmp_path / "c.safetensors", content)


@pytest.mark.parametrize("content", [b"", b"\x80\x04.", b"PK\x03\x04", b"{}" * 100, bytes(1000)])
def test_files_of_other_kinds(content: bytes, tmp_path: Path) -> None:
    assert not attempt(tmp_path / "c.safetensors", content)


def test_a_file_without_a_description(tmp_path: Path, whole: bytes) -> None:
    assert not attempt(tmp_path / "c.safetensors", save(load(whole)))
