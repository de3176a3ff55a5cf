"""A stranger's file cannot exhaust the machine: what it would need is told before it is taken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from pseudoshot.embedders import load, room
from pseudoshot.sorting import FewShotClassifier, load_classifier, save_classifier
from pseudoshot.tools.errors import PseudoshotError

from .test_classifiers import made_up, whole  # noqa: F401 (a fixture)

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)
BESIDE = {"mean": [0.5] * 3, "std": [0.5] * 3}
# What is said, and by how many megabytes the process grew at its largest.
TRIES = """
import resource, sys
import numpy as np
from pseudoshot.embedders import load
from pseudoshot.sorting import load_classifier
from pseudoshot.tools.errors import PseudoshotError

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

warm, name = sys.argv[1:]
images = np.zeros((300, 16, 16, 3), np.uint8)
load(warm).embed(images[:2])
before = most()
try:
    model = load_classifier(name).embedder_ if name.endswith("safetensors") else load(name)
    print(most() - before, model.embed(images[:8]).shape)
except PseudoshotError as error:
    print(most() - before, error)
"""


def attempt(warm: object, name: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", TRIES, str(warm), str(name)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    grew, _, said = done.stdout.partition(" ")
    return int(grew), said


def onnx_file(folder: Path, side: int, scale: int) -> Path:
    """Images of `side` pixels, enlarged within the network `scale` times."""
    nodes = [
        helper.make_node("Resize", ["x", "", "s"], ["large"], mode="nearest"),
        helper.make_node("Add", ["large", "large"], ["twice"]),
        helper.make_node("ReduceMean", ["twice"], ["y"], axes=[2, 3], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 3, side, side))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("s", TensorProto.FLOAT, [4], [1.0, 1.0, scale, scale])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "model.onnx.json").write_text(json.dumps(BESIDE))
    return folder / "model.onnx"


def test_an_onnx_file_that_enlarges_its_images(tmp_path: Path) -> None:
    honest = onnx_file(tmp_path / "honest", 16, 2)
    grew, said = attempt(honest, onnx_file(tmp_path / "greedy", 16, 2000))
    assert "for one image it asks for 11.4 GB at once, where 1 GB" in said
    assert grew < 1024


def test_an_onnx_file_of_which_one_image_fits_and_many_do_not(tmp_path: Path) -> None:
    """400 MB for an image: they are embedded one after the other."""
    honest = onnx_file(tmp_path / "honest", 16, 2)
    grew, said = attempt(honest, onnx_file(tmp_path / "greedy", 16, 250))
    assert said.strip() == "torch.Size([8, 3])"
    assert grew < 1100


def transformers_folder(folder: Path, width: int, size: int) -> Path:
    """Maps of the size of the image, `width` of them, and four times as many in between."""
    transformers = pytest.importorskip("transformers", reason="the extra is not installed")
    config = transformers.ConvNextConfig(
        hidden_sizes=[width, 8, 8, 8], depths=[1, 1, 1, 1], patch_size=1
    )
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    about = {"size": size, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(about))
    return folder


def test_a_transformers_model_of_large_maps(tmp_path: Path) -> None:
    honest = transformers_folder(tmp_path / "honest", 8, 32)
    grew, said = attempt(honest, transformers_folder(tmp_path / "greedy", 64, 900))
    assert "an image of 900 x 900 pixels takes it" in said
    assert "GB, where 1 GB is the limit" in said
    assert grew < 1024


def test_a_batch_is_no_way_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one image takes is known, and so how many fit."""
    model = load(transformers_folder(tmp_path / "model", 48, 64))
    assert model.room.needed > 6 << 20, "found by the network, not by its pixels"
    monkeypatch.setattr(room, "MOST_MEMORY", 3 * model.room.needed)
    seen: list[int] = []
    forward = model.backbone.forward
    model.backbone.forward = lambda images: seen.append(len(images)) or forward(images)
    for batch in (None, 10_000):
        model.embed(np.zeros((7, 16, 16, 3), np.uint8), batch=batch)
    assert max(seen) == 3


def test_a_classifier_whose_card_claims_large_images(whole: bytes, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "c.safetensors"
    file.write_bytes(made_up(whole, size=2048))
    grew, said = attempt("conv4-cifar-fs", file)
    assert "an image of 2048 x 2048 pixels" in said
    assert "about 3.1 GB, where 1 GB is the limit" in said
    assert grew < 1024
    with pytest.raises(PseudoshotError, match=r"3\.1 GB, where 1 GB is the limit"):
        load_classifier(file).predict(IMAGES)


def test_a_saved_classifier_brings_the_limits_of_its_network(tmp_path: Path) -> None:
    onnx = load(onnx_file(tmp_path / "model", 16, 2))
    save_classifier(FewShotClassifier(onnx).fit(IMAGES, [0, 1, 1]), tmp_path / "c.safetensors")
    assert load_classifier(tmp_path / "c.safetensors").predict(IMAGES).shape == (3,)
