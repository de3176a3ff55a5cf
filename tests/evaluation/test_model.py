"""The embedder: what is saved comes back, any image fits, and the batch does not matter."""

import json

import numpy as np
import pytest
import torch

from pseudoshot.backbones import build_backbone
from pseudoshot.data import ImageSet
from pseudoshot.data.decode import resize_all
from pseudoshot.embedders import Embedder, ModelCard, channel_statistics, load
from pseudoshot.evaluation import evaluate
from pseudoshot.evaluation.pseudo_tasks import pseudo_accuracy
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.views import get_policy
from tests.pictures import soft_pictures


def make(channels: int = 3, size: int = 16) -> Embedder:
    torch.manual_seed(0)
    card = ModelCard(
        backbone="conv4",
        channels=channels,
        size=size,
        mean=(0.4,) * channels,
        std=(0.2,) * channels,
        similarity="sns",
    )
    return Embedder(build_backbone("conv4", channels, size), card).eval()


def pixels(count: int, side: int, channels: int) -> np.ndarray:
    shape = (count, side, side, channels)
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def test_what_is_saved_comes_back(tmp_path):
    embedder = make()
    embedder.backbone.train()(torch.rand(8, 3, 16, 16))  # running statistics of its own
    embedder.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.card == embedder.card
    images = pixels(5, 16, 3)
    assert torch.equal(loaded.embed(images), embedder.embed(images))
    assert not loaded.training


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("given", [(20, 1), (20, 3), (16, 1), (16, 3), (9, 3)])
def test_any_image_is_brought_to_the_model(channels, given):
    side, given_channels = given
    embedder = make(channels)
    images = pixels(3, side, given_channels)
    assert embedder.preprocess(images).shape == (3, channels, 16, 16)
    assert embedder.embed(images).isfinite().all()


@pytest.mark.parametrize("side", [20, 64, 96])
def test_a_set_of_another_size_is_embedded_and_scored_as_at_the_models(side):
    embedder = load("conv4-cifar-fs")
    labels, classes = np.repeat(np.arange(5), 8), tuple("abcde")
    large = soft_pictures(5, 8, 96)
    given, own = (ImageSet("soft", resize_all(large, s), labels, classes) for s in (side, 32))
    expected = embedder.embed(own)
    distances = (embedder.embed(given) - expected).norm(dim=1) / expected.norm(dim=1)
    assert distances.max() < 0.1
    scores = [
        evaluate(embedder, images, shots=(1,), query=3, tasks=200).results[0].accuracy
        for images in (given, own)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1)


def test_preprocessing_is_the_documented_arithmetic():
    image = pixels(1, 16, 3)
    expected = (torch.from_numpy(image[0]).permute(2, 0, 1).float() / 255 - 0.4) / 0.2
    model = make()
    torch.testing.assert_close(model.normalise(model.preprocess(image))[0], expected)
    gray = (image[0] @ np.array([0.299, 0.587, 0.114])).round().astype(np.float32) / 255
    np.testing.assert_allclose(make(1).preprocess(image)[0, 0], gray, atol=1e-6)


def test_the_batch_does_not_matter():
    embedder, images = make(), pixels(10, 16, 3)
    torch.testing.assert_close(embedder.embed(images, batch=3), embedder.embed(images, batch=10))


def test_embedding_leaves_training_mode_and_statistics_alone():
    embedder = make().train()
    before = embedder.backbone.state_dict()["blocks.0.norm.running_mean"].clone()
    embedder.embed(pixels(4, 16, 3))
    assert embedder.backbone.training
    assert torch.equal(before, embedder.backbone.state_dict()["blocks.0.norm.running_mean"])


def test_channel_statistics_are_mean_and_deviation():
    images = pixels(30, 8, 3)
    mean, std = channel_statistics(ImageSet("toy", images))
    scaled = images.reshape(-1, 3) / 255
    np.testing.assert_allclose(mean, scaled.mean(0))
    np.testing.assert_allclose(std, scaled.std(0))


def test_pseudo_accuracy_is_that_of_telling_images_apart():
    embedder, policy = make(), get_policy("simple")
    same = ImageSet("same", np.repeat(pixels(1, 16, 3), 8, axis=0))
    different = np.stack([np.full((16, 16, 3), level, np.uint8) for level in range(0, 256, 32)])
    first, again = (pseudo_accuracy(embedder, same, policy, "sns") for _ in range(2))
    assert first == again
    assert first < 40, "copies of one image cannot be told apart"
    shifted = get_policy("strokes")  # keeps the gray level
    assert pseudo_accuracy(embedder, ImageSet("levels", different), shifted, "euclidean") > 90


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: (p / "model.json").unlink(), "holds no model: give a run folder"),
        (lambda p: (p / "model.json").write_text("{"), "is not a model description"),
        (lambda p: (p / "model.json").write_text('{"backbone": 1}'), "not a model description"),
        (lambda p: (p / "model.safetensors").write_bytes(b"12"), "cannot be read"),
        (lambda p: (p / "model.safetensors").unlink(), "cannot be read"),
    ],
)
def test_a_spoilt_model_is_a_clear_error(tmp_path, spoil, message):
    make().save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(PseudoshotError, match=message):
        load(tmp_path)


def made_for(embedder: Embedder, classifier: dict[str, object]) -> Embedder:
    card = ModelCard.model_validate({**embedder.card.model_dump(), "classifier": classifier})
    return Embedder(embedder.backbone, card)


def test_a_model_brings_the_classifier_it_is_made_for():
    assert make().classifier().name == "prototype"
    assert make().classifier("svm").settings.regularisation == 1.0
    embedder = made_for(make(), {"name": "ridge", "regularisation": 0.3})
    for chosen in (None, "ridge"):
        assert embedder.classifier(chosen).settings.regularisation == 0.3
    assert embedder.classifier({"name": "ridge"}).settings.regularisation == 1.0
    euclidean = made_for(make(), {"name": "prototype", "similarity": "euclidean"})
    assert euclidean.classifier().similarity == "euclidean"


@pytest.mark.parametrize("about", [{"name": "tree"}, {"name": "ridge", "depth": 2}, {"name": [1]}])
def test_a_card_that_names_no_classifier_is_refused(about, tmp_path):
    make().save(tmp_path)
    card = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**card, "classifier": about}))
    with pytest.raises(PseudoshotError, match=r"not a model description: .*classifier"):
        load(tmp_path)


def test_a_head_is_read_from_the_run_folder_alone(tmp_path):
    with pytest.raises(PseudoshotError, match="was not loaded from a run folder"):
        make().classifier("feat")
    make().save(tmp_path)
    with pytest.raises(PseudoshotError, match="holds no run and so no head"):
        load(tmp_path).classifier("feat")
    for content in ("{", "[]", "{}", '{"settings": 5}', "[" * 50_000):
        (tmp_path / "run.json").write_text(content)
        with pytest.raises(PseudoshotError, match=r"run\.json cannot be read"):
            load(tmp_path).classifier("feat")


def test_weights_of_another_shape_are_refused(tmp_path):
    make().save(tmp_path)
    card = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**card, "backbone": "resnet12"}))
    with pytest.raises(PseudoshotError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["9" * 5000, "a\0b"])
def test_a_name_that_no_folder_can_have_holds_no_model(name):
    with pytest.raises(PseudoshotError, match="holds no model"):
        load(name)
