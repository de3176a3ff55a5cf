from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save
from sklearn.utils.estimator_checks import parametrize_with_checks

import pseudoshot
from pseudoshot.classifiers import CLASSIFIERS
from pseudoshot.data import ImageSet
from pseudoshot.data.decode import resize_all
from pseudoshot.sorting import (
    NONE_OF_THESE,
    FewShotClassifier,
    load_classifier,
    save_classifier,
)
from pseudoshot.sorting.inputs import embeddings_of, to_image_set
from pseudoshot.tools.errors import PseudoshotError
from tests.pictures import KINDS, draw_trees, soft_pictures

MODEL = "conv4-cifar-fs"
PLAIN = [name for name, kind in CLASSIFIERS.items() if kind.saveable and not kind.needs_head]


# a pass over the examples is enough to be checked by, and a fifteenth of the usual
FEW_STEPS = {"prototransfer": {"name": "prototransfer", "epochs": 1}}


@parametrize_with_checks([FewShotClassifier(classifier=FEW_STEPS.get(n, n)) for n in PLAIN])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    draw_trees(folder, 6)
    return folder


@pytest.fixture(scope="module")
def files(trees):
    return {kind: sorted(str(path) for path in (trees / kind).iterdir()) for kind in KINDS}


@pytest.mark.parametrize("name", PLAIN)
def test_images_are_told_apart_from_one_to_three_examples(files, name):
    shown = [files["ash"][0], *files["birch"][:3], *files["elm"][:2]]
    classifier = FewShotClassifier(MODEL, classifier=name)
    classifier.fit(shown, ["ash"] + ["birch"] * 3 + ["elm"] * 2)
    found = classifier.predict([file for kind in KINDS for file in files[kind][3:]])
    assert (found == np.repeat(KINDS, 3)).mean() >= 8 / 9
    likely = classifier.predict_proba(files["ash"])
    assert likely.shape == (6, 3)
    np.testing.assert_allclose(likely.sum(1), 1)


def test_files_pillow_images_and_arrays_are_the_same_images(files):
    embedder = pseudoshot.load(MODEL)
    opened = [Image.open(name) for name in files["ash"]]
    arrays = [np.asarray(image) for image in opened]
    expected = embeddings_of(embedder, files["ash"])
    floats = np.stack(arrays) / 255.0
    for same in (
        np.array(files["ash"]),
        opened,
        arrays,
        np.stack(arrays),
        floats,
        floats.astype(np.float32),
    ):
        np.testing.assert_allclose(embeddings_of(embedder, same), expected, atol=1e-3)
    np.testing.assert_array_equal(embeddings_of(embedder, expected), expected)


def test_a_folder_and_an_image_set_bring_their_labels(trees):
    from_folder = FewShotClassifier(MODEL).fit(trees)
    images = pseudoshot.load_data(trees, size=32)
    from_set = FewShotClassifier(MODEL).fit(images)
    assert from_folder.classes_.tolist() == list(KINDS)
    np.testing.assert_allclose(from_folder.predict_proba(images), from_set.predict_proba(trees))
    with pytest.raises(PseudoshotError, match="no labels"):
        FewShotClassifier(MODEL).fit(images.without_labels())


def test_gray_colour_transparent_and_wide_images_mix():
    draw = np.random.default_rng(0)
    images = [
        draw.integers(0, 256, (20, 20), dtype=np.uint8),
        draw.integers(0, 256, (30, 20, 1), dtype=np.uint8),
        draw.integers(0, 256, (20, 40, 3), dtype=np.uint8),
        draw.integers(0, 256, (20, 20, 4), dtype=np.uint8),
        draw.random((20, 20, 3)),
        Image.new("CMYK", (9, 9)),
        Image.new("1", (50, 9)),
    ]
    assert to_image_set(images, 32).images.shape == (7, 32, 32, 3)
    labels = [3, 3, 5, 5, 5, 7, 9]
    assert set(FewShotClassifier(MODEL).fit(images, labels).predict(images)) <= set(labels)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        ([], "no images in the list"),
        (["nowhere.png"], "'nowhere.png' cannot be read"),
        ("nowhere", "is not a folder"),
        ("glyphs", "is not a folder"),
        (np.full((2, 64), np.nan), "must be finite"),
        ([3], "image 0 is a int: give paths"),
        (Image.new("L", (3, 3)), "put it in a list"),
        ([np.zeros((3, 3, 7), np.uint8)], "image 0 cannot be read: its shape is"),
        ([np.array([["a"]])], "not numbers of pixels"),
        (np.zeros((2, 3, 4, 5, 6), np.uint8), "an array of images has the shape"),
        (np.zeros((2, 7)), "embeddings of this model have 64 numbers, not 7"),
    ],
)
def test_what_is_no_image_is_said_so(images, words):
    with pytest.raises(PseudoshotError, match=words):
        embeddings_of(pseudoshot.load(MODEL), images)


def test_numbers_of_images_and_labels_must_agree(files):
    with pytest.raises(PseudoshotError, match="6 images were given, and 2 labels"):
        FewShotClassifier(MODEL).fit(files["ash"], ["a", "b"])


def test_doubtful_images_are_rejected_by_name_or_by_minus_one():
    features = np.array([[1.0, 0], [0, 1.0]])
    between, clear = [[1.0, 1.0]], [[5.0, 0.0]]
    named = FewShotClassifier(reject=0.7).fit(features, ["cat", "dog"])
    assert named.predict(between).tolist() == [NONE_OF_THESE]
    assert named.predict(clear).tolist() == ["cat"]
    numbered = FewShotClassifier(reject=0.7).fit(features, [4, 8])
    assert numbered.predict(between).tolist() == [-1]
    assert numbered.score(clear, [4]) == 1
    assert named.score([*clear, *between], ["cat", "cat"]) == 0.5
    assert FewShotClassifier(reject=0.7).fit(features, [True, False]).predict(clear)[0]
    with pytest.raises(PseudoshotError, match="'none of these' stands for rejected"):
        FewShotClassifier(reject=0.5).fit(features, ["cat", NONE_OF_THESE])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"classifier": "forest"}, "unknown classifier 'forest'"),
        ({"reject": 1.5}, "from 0 to 1"),
        ({"unlabelled": np.ones(3)}, r"expected as an array \(n, d\)"),
        ({"seed": -1}, "a seed is at least 0"),
        ({"model": "nowhere"}, "holds no model.*conv4-cifar-fs"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, words):
    with pytest.raises(PseudoshotError, match=words):
        FewShotClassifier(**options).fit(np.eye(2), [0, 1])


def test_confidence_is_about_right_on_classes_that_overlap():
    draw = np.random.default_rng(0)
    labels = np.arange(4000) % 4
    features = 2 * np.eye(4)[labels] + draw.normal(size=(4000, 4))
    for shot in (5, 20):
        few = slice(0, 4 * shot)
        classifier = FewShotClassifier().fit(features[few], labels[few])
        likely = classifier.predict_proba(features[200:])
        right = (likely.argmax(1) == labels[200:]).mean()
        assert abs(likely.max(1).mean() - right) < 0.1


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize(
    "labels",
    [["a", "b", "b", "c"], [10, 20, 20, 30], [1.0, 2.0, 2.0, 1.0], [True, False, False, True]],
)
def test_a_saved_classifier_says_the_same(tmp_path, files, name, labels):
    shown = [*files["ash"][:1], *files["birch"][:2], *files["elm"][:1]]
    classifier = FewShotClassifier(MODEL, classifier=name, reject=0.1).fit(shown, labels)
    save_classifier(classifier, tmp_path / "c.safetensors")
    again = load_classifier(tmp_path / "c.safetensors")
    np.testing.assert_allclose(
        again.predict_proba(files["elm"]), classifier.predict_proba(files["elm"])
    )
    assert again.predict(files["elm"]).tolist() == classifier.predict(files["elm"]).tolist()
    assert again.reject == 0.1
    assert again.classes_.tolist() == classifier.classes_.tolist()


@pytest.mark.parametrize("name", ["prototype", "logistic", "ridge"])
def test_a_file_of_format_1_still_loads(tmp_path, name):
    """As pseudoshot wrote it when its three classifiers were called heads."""
    weights = {"head.weight": torch.eye(3, dtype=torch.float64), "head.bias": torch.zeros(3)}
    about = {"format": 1, "classes": ["a", "b", "c"], "head": name, "temperature": 0.5}
    about |= {"reject": None, "card": None}
    (tmp_path / "old").write_bytes(save(weights, {"pseudoshot.classifier": json.dumps(about)}))
    classifier = load_classifier(tmp_path / "old")
    assert classifier.predict(np.eye(3)).tolist() == ["a", "b", "c"]
    assert classifier.classifier_.name == name
    save_classifier(classifier, tmp_path / "new")
    again = load_classifier(tmp_path / "new")
    np.testing.assert_array_equal(
        again.predict_proba(np.eye(3)), classifier.predict_proba(np.eye(3))
    )


def test_a_classifier_of_features_is_saved_too(tmp_path):
    classifier = FewShotClassifier().fit(np.eye(3), ["a", "b", "c"])
    save_classifier(classifier, tmp_path / "c.safetensors")
    assert load_classifier(tmp_path / "c.safetensors").predict(np.eye(3)).tolist() == list("abc")


def test_an_image_set_is_taken_at_any_size():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 50, 50, 1), dtype=np.uint8)
    images = ImageSet("odd", pixels, labels=np.array([0, 0, 1, 1]), classes=("x", "y"))
    assert FewShotClassifier(MODEL).fit(images).predict(images).shape == (4,)


@pytest.mark.parametrize("side", [20, 64, 96])
def test_an_image_set_of_another_size_is_classified_as_at_the_models(side):
    labels, classes = np.repeat(np.arange(5), 8), tuple("abcde")
    large, shown = soft_pictures(5, 8, 96), np.arange(0, 40, 4)
    given, own = (ImageSet("soft", resize_all(large, s), labels, classes) for s in (side, 32))
    expected = FewShotClassifier(MODEL).fit(own.take(shown)).predict_proba(own)
    fitted = FewShotClassifier(MODEL).fit(given.take(shown))
    np.testing.assert_allclose(fitted.predict_proba(own), expected, atol=0.1)
    np.testing.assert_allclose(fitted.predict_proba(given), expected, atol=0.1)


def test_it_transforms_images_to_embeddings_and_saves_itself(trees, tmp_path):
    model = pseudoshot.load("conv4-cifar-fs")
    classifier = FewShotClassifier(model).fit(trees)
    images = pseudoshot.load_data(trees, size=32)
    np.testing.assert_array_equal(classifier.transform(trees), model.embed(images).double())
    assert len(classifier.get_feature_names_out()) == model.dim
    expected = classifier.predict_proba(trees)
    classifier.save(tmp_path / "c.safetensors")
    framed = load_classifier(tmp_path / "c.safetensors").set_output(transform="pandas")
    assert framed.transform(trees).shape == (len(images), model.dim)
    np.testing.assert_allclose(framed.predict_proba(trees), expected)
