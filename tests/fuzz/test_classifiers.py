"""Saved classifiers that were damaged or made up: one clear sentence, or a classifier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load, save

from pseudoshot.sorting import FewShotClassifier, load_classifier
from pseudoshot.sorting.saved import to_bytes
from pseudoshot.tools.errors import PseudoshotError

from .damage import damaged, one_sentence

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


def attempt(file: Path, content: bytes) -> bool:
    """Whether it is read; and if so, whether it classifies."""
    file.write_bytes(content)
    try:
        classifier = load_classifier(file)
    except PseudoshotError as error:
        one_sentence(error)
        return False
    dim = classifier.n_features_in_
    assert classifier.predict(np.ones((3, dim))).shape == (3,)
    return True


@pytest.fixture(scope="module")
def whole() -> bytes:
    features = np.random.default_rng(0).normal(size=(4, 64))
    return to_bytes(FewShotClassifier("conv4-cifar-fs").fit(features, ["a", "b", "a", "b"]))


def test_damage_anywhere(whole: bytes, tmp_path: Path) -> None:
    read = [attempt(tmp_path / "c.safetensors", content) for content in damaged(whole, 120, 0)]
    assert not all(read)


def test_damage_to_the_description(whole: bytes, tmp_path: Path) -> None:
    head = 8 + int.from_bytes(whole[:8], "little")
    for content in damaged(whole[:head], 200, 1):
        attempt(tmp_path / "c.safetensors", content + whole[head:])


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
