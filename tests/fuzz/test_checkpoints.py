"""Checkpoints that were damaged: the state that was saved, or one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.state_file import load_state, save_state

from .damage import damaged, one_sentence

STATE: dict[str, Any] = {
    "step": 7,
    "loss": 0.25,
    "weights": {"a": torch.arange(40.0).reshape(5, 8), "b": torch.tensor([1, 2, 3])},
    "optimiser": {0: {"momentum": torch.ones(3)}, 1: {"momentum": torch.zeros(3)}},
    "names": ["x", "y"],
}


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, torch.Tensor):
        return found.dtype == expected.dtype and torch.equal(found, expected)
    if isinstance(expected, dict):
        keys = found.keys() == expected.keys()
        return keys and all(same(found[k], v) for k, v in expected.items())
    return bool(found == expected)


@pytest.mark.parametrize(
    "times", [400, pytest.param(20_000, marks=pytest.mark.slow)], ids=["some", "thousands"]
)
def test_a_damaged_checkpoint_is_never_another_state(tmp_path: Path, times: int) -> None:
    file = tmp_path / "latest.safetensors"
    save_state(file, STATE)
    assert same(load_state(file), STATE)
    refused = 0
    for content in damaged(file.read_bytes(), times, 5):
        other = tmp_path / "damaged.safetensors"
        other.write_bytes(content)
        try:
            assert same(load_state(other), STATE)
        except PseudoshotError as error:
            one_sentence(error)
            refused += 1
    assert refused > 0.9 * times
