"""The models that come with the package."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from pseudoshot.embedders import bundled_models, load

MOST_BYTES = 6_000_000


@pytest.mark.parametrize("name", bundled_models())
def test_a_bundled_model_is_small_told_of_and_trained_without_labels(name):
    model = load(name)
    assert model.folder is not None
    files = {path.name: path.stat().st_size for path in model.folder.iterdir()}
    assert set(files) == {"README.md", "model.json", "model.safetensors"}
    assert sum(files.values()) < MOST_BYTES
    assert name in (model.folder / "README.md").read_text(encoding="utf-8")
    assert not model.card.labels
    image = np.random.default_rng(0).integers(0, 256, (1, 70, 60, 3), np.uint8)
    embedding = model.embed(image)
    assert embedding.shape == (1, model.dim)
    assert embedding.isfinite().all()


def test_weights_in_half_precision_are_used_in_single(tmp_path: Path):
    model = load("conv4-cifar-fs")
    model.save(tmp_path, half=True)
    saved = load_file(tmp_path / "model.safetensors")
    assert {value.dtype for value in saved.values()} == {torch.float16, torch.int64}
    again = load(tmp_path)
    assert {p.dtype for p in again.parameters()} == {torch.float32}
    image = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
    torch.testing.assert_close(again.embed(image), model.embed(image), rtol=1e-2, atol=1e-2)
