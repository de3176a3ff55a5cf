"""Networks from outside that were damaged: one clear sentence, or finite embeddings.

Such files have no digest of ours, so that a weight may have another value; once they are saved
here they have one, and say what they said or are refused.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper

from pseudoshot.embedders import load
from pseudoshot.tools.errors import PseudoshotError
from tests.embedders.test_onnx_file import CONVOLVED, IMAGENET, network
from tests.embedders.test_transformers_folder import made, written

from .damage import damaged, one_sentence

TIMES = [24, pytest.param(1000, marks=pytest.mark.slow)]
POOLED = [helper.make_node("ReduceMean", ["y"], ["z"], axes=[2, 3], keepdims=0)]
WEIGHTS = helper.make_tensor("w", TensorProto.FLOAT, [5, 3, 3, 3], np.linspace(-1, 1, 135))
IMAGES = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), np.uint8)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ONNX file with weights and a folder of transformers, each also as saved here."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "onnx").mkdir()
    file = folder / "onnx" / "model.onnx"
    content = network(("n", 3, 32, 32), [*CONVOLVED, *POOLED], outputs=("z",), weights=[WEIGHTS])
    file.write_bytes(content)
    (folder / "onnx" / "model.onnx.json").write_text(json.dumps(IMAGENET))
    written(made("resnet"), folder / "transformers")
    for name, path in (("onnx", file), ("transformers", folder / "transformers")):
        (folder / f"saved {name}").mkdir()
        load(path).save(folder / f"saved {name}")
    return folder


def attempt(path: Path) -> torch.Tensor | None:
    """Its embeddings, where it is read."""
    try:
        found = load(path).embed(IMAGES)
    except PseudoshotError as error:
        one_sentence(error)
        return None
    assert found.ndim == 2
    assert len(found) == len(IMAGES)
    assert bool(found.isfinite().all())
    return found


@pytest.mark.parametrize("times", TIMES, ids=["some", "a thousand"])
@pytest.mark.parametrize(
    ("model", "file"),
    [
        *(("onnx", "model.onnx"), ("onnx", "model.onnx.json")),
        *(("transformers", "model.safetensors"), ("transformers", "config.json")),
        ("transformers", "preprocessor_config.json"),
    ],
)
def test_a_damaged_file_is_refused_or_still_a_network(
    models: Path, tmp_path: Path, model: str, file: str, times: int
) -> None:
    folder = Path(shutil.copytree(models / model, tmp_path / model))
    path = folder / "model.onnx" if model == "onnx" else folder
    assert attempt(path) is not None
    for content in damaged((models / model / file).read_bytes(), times, 5):
        (folder / file).write_bytes(content)
        attempt(path)


@pytest.mark.parametrize("times", TIMES, ids=["some", "a thousand"])
@pytest.mark.parametrize("file", ["model.safetensors", "model.json"])
@pytest.mark.parametrize("model", ["saved onnx", "saved transformers"])
def test_once_saved_it_never_says_anything_else(
    models: Path, tmp_path: Path, model: str, file: str, times: int
) -> None:
    folder = Path(shutil.copytree(models / model, tmp_path / model))
    expected = attempt(folder)
    assert expected is not None
    for content in damaged((models / model / file).read_bytes(), times, 6):
        (folder / file).write_bytes(content)
        found = attempt(folder)
        assert found is None or torch.equal(found, expected)
