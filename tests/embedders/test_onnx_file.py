"""Any network as an ONNX file: read as it should be, or refused in a sentence."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from sklearn.base import clone

from pseudoshot.embedders import load
from pseudoshot.embedders.export import export_onnx
from pseudoshot.sorting import FewShotClassifier, load_classifier, save_classifier
from pseudoshot.tools.errors import PseudoshotError
from tests.cli.entry import here, refused
from tests.pictures import draw_trees

IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
TONES = [helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)]


def network(shape=("n", 3, 8, 8), nodes=TONES, outputs=("y",), kind=TensorProto.FLOAT, weights=()):
    """Images in, the mean of each channel out, unless other nodes are given."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        list(weights),
    )
    opset = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def pixels(count=4, side=8):
    shape = (count, side, side, 3)
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def tones(images):
    """What the network of `network` makes of them."""
    scaled = (images / 255 - IMAGENET["mean"]) / IMAGENET["std"]
    return scaled.mean((1, 2))


@pytest.fixture
def put(tmp_path):
    def write(content: bytes, beside: object = IMAGENET) -> str:
        (tmp_path / "model.onnx").write_bytes(content)
        if beside is not None:
            text = beside if isinstance(beside, str) else json.dumps(beside)
            (tmp_path / "model.onnx.json").write_text(text)
        return str(tmp_path / "model.onnx")

    return write


LAST = [helper.make_node("ReduceMean", ["x"], ["y"], axes=[1, 2], keepdims=0)]
MAPS = [helper.make_node("Identity", ["x"], ["y"])]
TWO = [*TONES, helper.make_node("Neg", ["y"], ["z"])]
NAMED = [helper.make_node("ReduceMean", ["x"], ["image_embeds"], axes=[2, 3], keepdims=0)]
NAMED.append(helper.make_node("Neg", ["image_embeds"], ["logits"]))


@pytest.mark.parametrize(
    ("given", "beside"),
    [
        ({}, {}),
        ({"shape": ("n", "c", "h", "w")}, {"size": 8}),
        ({"shape": (1, 3, 8, 8)}, {}),
        ({"shape": ("n", 8, 8, 3), "nodes": LAST}, {}),
        ({"nodes": MAPS}, {}),
        ({"shape": (1, "h", "w", 3), "nodes": MAPS}, {"size": 8}),
        ({"nodes": TWO, "outputs": ("z", "y")}, {"output": "y"}),
        ({"nodes": NAMED, "outputs": ("logits", "image_embeds")}, {}),
    ],
)
def test_every_layout_gives_the_same_embeddings(put, given, beside):
    embedder = load(put(network(**given), {**IMAGENET, **beside}))
    assert (embedder.dim, embedder.card.size, embedder.card.channels) == (3, 8, 3)
    np.testing.assert_allclose(embedder.embed(pixels()), tones(pixels()), atol=1e-5)


def test_what_is_said_beside_it_is_kept(put):
    said = {"labels": "ours", "trained_on": "boats", "similarity": "cosine"}
    card = load(put(network(), {**IMAGENET, **said})).card
    assert card.model_dump().items() >= said.items()


def test_an_exported_model_comes_back_with_its_card(tmp_path):
    path = tmp_path / "model.onnx"
    export_onnx("conv4-cifar-fs", path)
    model, original = load(path), load("conv4-cifar-fs")
    images = pixels(6, 40)
    torch.testing.assert_close(model.embed(images), original.embed(images), rtol=1e-3, atol=1e-3)
    assert model.card.trained_on == original.card.trained_on
    with pytest.raises(PseudoshotError, match="is an ONNX model already"):
        export_onnx(path, tmp_path / "again.onnx")


def test_it_is_saved_and_copied_whole(put, tmp_path):
    path = put(network(nodes=TWO, outputs=("z", "y")), {**IMAGENET, "output": "z"})
    fitted = FewShotClassifier(load(path)).fit(pixels(), ["a", "a", "b", "b"])
    expected = fitted.predict_proba(pixels())
    save_classifier(fitted, tmp_path / "c.safetensors")
    fitted.embedder_.save(tmp_path)
    (tmp_path / "model.onnx").unlink()
    again = load_classifier(tmp_path / "c.safetensors")
    np.testing.assert_allclose(again.predict_proba(pixels()), expected)
    cloned = clone(fitted).fit(pixels(), ["a", "a", "b", "b"])
    np.testing.assert_allclose(cloned.predict_proba(pixels()), expected)
    for same in (load(tmp_path), copy.deepcopy(fitted.embedder_)):
        np.testing.assert_allclose(same.embed(pixels()), -tones(pixels()), atol=1e-5)


def elsewhere() -> onnx.TensorProto:
    """Weights that lie in another file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3, 1, 1])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


CONVOLVED = [helper.make_node("Conv", ["x", "w"], ["y"])]
FLAT = [helper.make_node("Flatten", ["x"], ["y"], axis=0)]
SUM = [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)]
ONE = [helper.make_node("Reshape", ["x", "s"], ["y"])]
SHAPE = helper.make_tensor("s", TensorProto.INT64, [2], [1, 192])
HALF = TensorProto.FLOAT16


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a network that onnxruntime runs"),
        (b"no network", "not a network that onnxruntime runs"),
        (pickle.dumps({"weights": [1.0]}), "not a network that onnxruntime runs"),
        (network()[:-40], "not a network that onnxruntime runs"),
        (network(shape=("n", 3), nodes=MAPS), r"one input of images is expected, .* not x: "),
        (network(kind=HALF), "one input of images is expected"),
        (network(shape=(7, 3, 8, 8)), "takes 7 images at once and no other number"),
        (network(shape=("n", 4, 8, 8)), "square images of 1 or 3 channels"),
        (network(shape=("n", 3, 8, 9)), "square images of 1 or 3 channels"),
        (network(shape=("n", 3, 100_000, 100_000)), "100000 pixels a side, above the 2048"),
        (network(nodes=TWO, outputs=("z", "y")), "which of its outputs .* There are z, y"),
        (network(nodes=SUM), r"its output 'y' has the shape \(\)"),
        (network(nodes=FLAT), "of two images it makes 1 embeddings"),
        (network(nodes=ONE, weights=[SHAPE]), "it cannot embed two images"),
        (network(nodes=CONVOLVED, weights=[elsewhere()]), "its weights lie in other files"),
        (network(shape=("n", 3, "h", "w")), 'height and width are open: add "size"'),
        (network(shape=("n", 1, 8, 8)), "mean and std are not those of 1 channels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_no_embedding_of_images_is_refused(put, content, words, monkeypatch):
    path = put(content)
    monkeypatch.chdir(Path(path).parent)  # where onnxruntime would find them
    Path("weights.bin").write_bytes(bytes(24))
    with pytest.raises(PseudoshotError, match=f"cannot be used: .*{words}"):
        load(path)


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ("{", "is not a description of images"),
        ("[" * 100_000, "is not a description of images"),
        ({"mean": [0.5]}, "std: Field required"),
        ({**IMAGENET, "maen": 1}, "maen: Extra inputs"),
        ({**IMAGENET, "std": [0, 1, 1]}, "std.0: Input should be greater than 0"),
        ({**IMAGENET, "size": 100_000}, "size: Input should be less than or equal to 2048"),
        ({**IMAGENET, "size": 9}, "its images have 8 pixels a side, not 9"),
        ({**IMAGENET, "output": "q"}, "which of its outputs"),
    ],
)
def test_what_is_wrong_beside_it_is_said(put, beside, words):
    with pytest.raises(PseudoshotError, match=words):
        load(put(network(), beside))


def test_where_nothing_says_how_images_are_prepared_it_asks(put):
    with pytest.raises(PseudoshotError, match=r'write \{"mean": \[0.485.* to \'model.onnx.json\''):
        load(put(network(), None))
    with pytest.raises(PseudoshotError, match=r'write \{"size": 224, "mean"'):
        load(put(network(shape=("n", 3, "h", "w")), None))
    with pytest.raises(PseudoshotError, match=r"there is no file 'no\.onnx'"):
        load("no.onnx")


def test_a_card_inside_that_is_none_is_refused(put):
    model = onnx.load_from_string(network())
    onnx.helper.set_model_props(model, {"card": '{"backbone": 3}'})
    with pytest.raises(PseudoshotError, match="cannot be used: backbone: "):
        load(put(model.SerializeToString(), None))


def test_commands_take_it_as_any_model(put, tmp_path):
    draw_trees(tmp_path / "trees", 6)
    path = put(network())
    tasks = ("--way", 3, "--shot", 1, "--query", 5, "--tasks", 20)
    measured = here("evaluate", path, tmp_path / "trees", *tasks, "--json")
    assert json.loads(measured.stdout)["results"][0]["accuracy"] > 30
    folders = ("--images", tmp_path / "trees", "--support", tmp_path / "trees")
    here("classify", path, *folders, "--csv", tmp_path / "l.csv")
    assert len((tmp_path / "l.csv").read_text().splitlines()) == 19
    refused(here("train", tmp_path / "trees", "--out", tmp_path / "r", "--start-from", path,
                 "--epochs", 1), "no weights that can be trained")  # fmt: skip
    (tmp_path / "model.onnx.json").unlink()
    refused(here("suggest", path, "--images", tmp_path / "trees"), "how are images prepared")
