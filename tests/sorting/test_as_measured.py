"""What is measured is what a person gets: test tasks and FewShotClassifier say the same."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from pseudoshot.backbones import build_backbone
from pseudoshot.classifiers import CLASSIFIERS
from pseudoshot.data import load as load_data
from pseudoshot.embedders import Embedder, ModelCard, load
from pseudoshot.evaluation import evaluate
from pseudoshot.evaluation.few_shot import NovelTasks, predict
from pseudoshot.runs import train
from pseudoshot.serve.session import Session
from pseudoshot.serve.sorter import Sorter
from pseudoshot.sorting import FewShotClassifier, save_classifier
from pseudoshot.sorting.folders import classify_folder
from pseudoshot.tasks.similarity import SIMILARITIES
from pseudoshot.tools.errors import PseudoshotError
from tests.training.test_methods import photos

SMALL = {
    "recipe": "paper",
    "size": 16,
    "images": 6,
    "query": 2,
    "tasks": 4,
    "epochs": 1,
    "heads": 1,
}
LEVELS = {"black": 20, "dark": 80, "bright": 150, "white": 230}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a head, which every classifier but one can be fitted with."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "photos").mkdir()
    train(photos(folder / "photos"), folder / "feat", method="feat", **SMALL)
    return folder / "feat"


@pytest.fixture(scope="module")
def run_of_sets(tmp_path_factory):
    """A run with the head that semi-supervised-em needs."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "photos").mkdir()
    small = {"set_size": 3, "samples": 2, "components": 2, "latent": 8}
    small |= {name: SMALL[name] for name in ("recipe", "size", "images", "epochs")}
    train(photos(folder / "photos"), folder / "sets", method="meta-gmvae", **small)
    return folder / "sets"


@settings(max_examples=60)
@given(
    name=st.sampled_from([n for n, kind in CLASSIFIERS.items() if kind.takes == "embeddings"]),
    similarity=st.sampled_from(SIMILARITIES),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3)),
    offset=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 999),
)
def test_test_tasks_and_the_estimator_agree(
    run, run_of_sets, name, similarity, shape, offset, seed
):
    (way, shot, query), tasks = shape, 3
    assume(way * query > 1 or CLASSIFIERS[name].setting == "inductive")  # one alone is refused
    run = run_of_sets if name == "semi-supervised-em" else run
    trained = load(run)
    embedder = Embedder(
        trained.backbone, trained.card.model_copy(update={"similarity": similarity}), run
    )
    count = tasks * way * (shot + query)
    draw = np.random.default_rng(seed)
    table = draw.normal(size=(count, embedder.dim)) + offset
    table += np.repeat(draw.normal(size=(tasks * way, embedder.dim)), shot + query, axis=0)
    rows = torch.arange(count).view(tasks, way, shot + query)
    drawn = NovelTasks(rows[..., :shot], rows[..., shot:])
    measured = predict(torch.from_numpy(table), drawn, embedder.classifier(name))
    for t in range(tasks):
        estimator = FewShotClassifier(embedder, classifier=name)
        estimator.fit(table[drawn.support[t].flatten().numpy()], np.repeat(np.arange(way), shot))
        found = estimator.predict(table[drawn.query[t].flatten().numpy()])
        assert found.tolist() == measured[t].flatten().tolist()


def brightness_model(folder) -> None:
    """A run folder whose embedding is an image's brightness times one direction, and whose card
    says euclidean: its classes differ in length alone, to which SNS is blind."""
    backbone = build_backbone("conv4", 1, 16).eval()
    with torch.no_grad():
        for block in backbone.blocks:
            block.convolution.weight.zero_()
            block.convolution.weight[0, 0, 1, 1] = 1
            if block.convolution.bias is not None:
                block.convolution.bias.zero_()
    card = ModelCard(
        backbone="conv4", channels=1, size=16, mean=(0.0,), std=(1.0,), similarity="euclidean"
    )
    folder.mkdir()
    Embedder(backbone, card).save(folder)


@pytest.fixture(scope="module")
def bright(tmp_path_factory):
    """The model, and pictures of four levels of brightness to show it."""
    folder = tmp_path_factory.mktemp("bright")
    brightness_model(folder / "run")
    draw = np.random.default_rng(0)
    for part, count in (("some", 3), ("all", 20)):
        for name, level in LEVELS.items():
            (folder / part / name).mkdir(parents=True)
            for number in range(count):
                shade = level + int(draw.integers(-10, 11))
                Image.new("L", (16, 16), shade).save(folder / part / name / f"{number}.png")
    return folder


def test_classes_that_differ_in_length_are_told_by_a_euclidean_card_everywhere(bright, tmp_path):
    embedder, images = load(bright / "run"), load_data(bright / "all", size=16)
    tasks = {"way": 4, "shots": (1, 3), "query": 10, "tasks": 50}
    assert [r.accuracy for r in evaluate(embedder, images, **tasks).results] == [100, 100]
    estimator = FewShotClassifier(bright / "run").fit(bright / "some")
    names = np.array(images.classes)[images.labels]
    assert estimator.score(images, names) == 1
    classify_folder(bright / "run", bright / "all", support=bright / "some", csv=tmp_path / "l.csv")
    with (tmp_path / "l.csv").open(newline="") as file:
        assert all(row["file"].split("/")[0] == row["label"] for row in csv.DictReader(file))
    session = Session(bright / "run", bright / "all").begin().wait()
    shown = {session.numbers[f"{name}/0.png"]: name for name in LEVELS}
    sorting = Sorter(session).sort(shown, None).table(session)
    session.close()
    assert [file.split("/")[0] for file in sorting.files] == list(sorting.labels)


def test_sns_is_blind_to_length_everywhere(bright):
    embedder, images = load(bright / "run"), load_data(bright / "all", size=16)
    blind = {"name": "prototype", "similarity": "sns"}
    result = evaluate(
        embedder, images, classifier=blind, way=4, shots=(1,), query=10, tasks=50
    ).results[0]
    assert result.accuracy < 50
    estimator = FewShotClassifier(embedder, classifier=blind).fit(bright / "some")
    assert estimator.score(images, np.array(images.classes)[images.labels]) < 0.5


def test_a_model_is_used_as_it_is_made_for(run, tmp_path):
    """A run of feat: its head adapts the examples, on the page and in the estimator."""
    embedder = load(run)
    assert embedder.card.classifier == {"name": "feat"}
    features = np.random.default_rng(0).normal(size=(6, embedder.dim))
    estimator = FewShotClassifier(run).fit(features, [0, 0, 1, 1, 2, 2])
    assert estimator.classifier_.name == Session(run).embedder.classifier().name == "feat"
    save_classifier(estimator, tmp_path / "c.safetensors")
    again = FewShotClassifier(embedder, classifier="feat").fit(features, [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(again.predict_proba(features), estimator.predict_proba(features))


def test_a_transductive_classifier_sees_all_images_together_and_is_not_saved(run, tmp_path):
    embedder = load(run)
    features = np.random.default_rng(0).normal(size=(30, embedder.dim))
    estimator = FewShotClassifier(embedder, classifier="with-head").fit(features[:3], [0, 1, 2])
    together = estimator.predict_proba(features)
    parts = np.concatenate([estimator.predict_proba(features[i : i + 2]) for i in range(0, 30, 2)])
    assert not np.allclose(together, parts)
    with pytest.raises(PseudoshotError, match="one alone says nothing: give it more"):
        estimator.predict_proba(features[:1])
    with pytest.raises(PseudoshotError, match="'with-head' looks at all images together"):
        save_classifier(estimator, tmp_path / "c.safetensors")
    with pytest.raises(PseudoshotError, match="cannot look at 20,003 images together"):
        estimator.predict(np.zeros((20_000, embedder.dim)))
    assert not list(tmp_path.iterdir())
