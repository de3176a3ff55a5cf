from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pseudoshot.sorting import calibration
from pseudoshot.sorting.heads import HEADS, RIDGE, logistic, prototype, ridge
from tests.sorting import reference


def examples(seed: int = 0, way: int = 3, dim: int = 6):
    """Classes of unequal size about centres of their own."""
    draw = np.random.default_rng(seed)
    labels = np.repeat(np.arange(way), [1 + 3 * c for c in range(way)])
    centres = 3 * draw.normal(size=(way, dim))
    return centres[labels] + draw.normal(size=(len(labels), dim)), labels, centres


@pytest.mark.parametrize("seed", range(5))
def test_prototype_equals_the_plain_loop(seed):
    features, labels, _ = examples(seed)
    queries = np.random.default_rng(9).normal(size=(7, 6))
    expected = reference.prototype_scores(features, labels, 3, queries)
    np.testing.assert_allclose(prototype(features, labels, 3).scores(queries), expected)


@pytest.mark.parametrize("seed", range(5))
def test_ridge_is_at_the_least_of_its_loss(seed):
    features, labels, _ = examples(seed)
    head = ridge(features, labels, 3)
    scale = np.sqrt(np.square(features - features.mean(0)).sum(1).mean())

    def loss(weight):
        bias = -weight @ features.mean(0)
        return reference.ridge_loss(weight, bias, features, labels, 3, scale, RIDGE)

    draw, least = np.random.default_rng(seed), loss(head.weight)
    for size in (1e-3, 1e-1, 1):
        for _ in range(10):
            assert loss(head.weight + size * draw.normal(size=head.weight.shape)) > least


@pytest.mark.parametrize("way", [2, 4])
def test_logistic_says_what_scikit_learn_says(way):
    features, labels, _ = examples(way=way)
    centred = features - features.mean(0)
    unit = centred / np.sqrt(np.square(centred).sum(1).mean())
    expected = LogisticRegression(class_weight="balanced", max_iter=1000).fit(unit, labels)
    scores = logistic(features, labels, way).scores(features)
    likely = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(likely, expected.predict_proba(unit), atol=1e-6)


@pytest.mark.parametrize("name", HEADS)
def test_every_head_finds_classes_apart_and_takes_one_class_alone(name):
    features, labels, centres = examples()
    assert (HEADS[name](features, labels, 3).scores(centres).argmax(1) == np.arange(3)).all()
    alone = HEADS[name](features[:1], np.array([0]), 1).scores(features)
    assert alone.shape == (len(features), 1)
    assert np.isfinite(alone).all()


@pytest.mark.parametrize("name", HEADS)
def test_examples_that_are_all_the_same_give_finite_scores(name):
    scores = HEADS[name](np.zeros((4, 3)), np.array([0, 0, 1, 1]), 2).scores(np.ones((2, 3)))
    assert np.isfinite(scores).all()


def test_folds_hold_out_part_of_every_class_but_never_all_of_one():
    labels = np.repeat(np.arange(5), [1, 2, 4, 5, 13])
    fold = calibration._folds(labels, 5, seed=3)
    assert (fold[labels == 0] == -1).all()
    assert (fold[labels > 0] >= 0).all()
    for part in range(fold.max() + 1):
        assert set(labels[fold != part]) == set(range(5))
    for c in range(1, 5):
        sizes = np.bincount(fold[labels == c])
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("name", HEADS)
def test_temperature_is_the_likeliest_of_what_was_held_out(name, monkeypatch):
    monkeypatch.setattr(calibration, "PRIOR", 0.0)
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 10)
    features = np.eye(3)[labels] + draw.normal(size=(30, 3))  # hard to tell: no need for the bounds
    chosen = calibration.choose_temperature(HEADS[name], features, labels, 3, seed=0)
    fold = calibration._folds(labels, 3, seed=0)
    scores = np.zeros((30, 3))
    for part in range(5):
        out = fold == part
        scores[out] = HEADS[name](features[~out], labels[~out], 3).scores(features[out])
    best = reference.log_likelihood(scores, labels, chosen)
    for factor in (0.8, 0.95, 1.05, 1.25):
        assert reference.log_likelihood(scores, labels, factor * chosen) < best


@pytest.mark.parametrize("name", HEADS)
def test_temperature_of_one_example_a_class_follows_the_scale_of_features(name):
    features, labels = np.random.default_rng(0).normal(size=(4, 8)), np.arange(4)
    ratios = []
    for scale in (1, 1000):
        head = HEADS[name](scale * features, labels, 4)
        chosen = calibration.choose_temperature(HEADS[name], scale * features, labels, 4, 0)
        ratios.append(head.scores(scale * features) / chosen)
    np.testing.assert_allclose(*ratios, rtol=1e-5)
