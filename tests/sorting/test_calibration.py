from __future__ import annotations

import numpy as np
import pytest

from pseudoshot.classifiers import CLASSIFIERS, build_classifier
from pseudoshot.sorting import calibration
from pseudoshot.sorting.calibration import choose_temperature
from pseudoshot.sorting.held_out import folds, hold_out, scores_of, support_of
from tests.sorting import reference

PLAIN = [name for name, kind in CLASSIFIERS.items() if not kind.needs_head]


def test_folds_hold_out_part_of_every_class_but_never_all_of_one():
    labels = np.repeat(np.arange(5), [1, 2, 4, 5, 13])
    fold = folds(labels, 5, seed=3)
    assert (fold[labels == 0] == -1).all()
    assert (fold[labels > 0] >= 0).all()
    assert fold.max() + 1 == 5, "parts"
    for part in range(fold.max() + 1):
        assert set(labels[fold != part]) == set(range(5))
    for c in range(1, 5):
        sizes = np.bincount(fold[labels == c])
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("name", PLAIN)
def test_temperature_is_the_likeliest_of_what_was_held_out(name, monkeypatch):
    monkeypatch.setattr(calibration, "PRIOR", 0.0)
    draw, classifier = np.random.default_rng(0), build_classifier(name)
    labels = np.repeat(np.arange(3), 10)
    features = np.eye(3)[labels] + draw.normal(size=(30, 3))  # hard to tell: no need for the bounds
    support = support_of(features, labels, 3)
    chosen = choose_temperature(classifier.fit(support), support, hold_out(classifier, support, 0))
    fold = folds(labels, 3, seed=0)
    scores = np.zeros((30, 3))
    for part in range(5):
        out = fold == part
        fitted = classifier.fit(support_of(features[~out], labels[~out], 3))
        scores[out] = scores_of(fitted, features[out])
    best = reference.log_likelihood(scores, labels, chosen)
    for factor in (0.8, 0.95, 1.05, 1.25):
        assert reference.log_likelihood(scores, labels, factor * chosen) < best


@pytest.mark.parametrize("name", PLAIN)
def test_temperature_of_one_example_per_class_follows_the_scale_of_features(name):
    features, labels = np.random.default_rng(0).normal(size=(4, 8)), np.arange(4)
    classifier, ratios = build_classifier(name), []
    for scale in (1, 1000):
        support = support_of(scale * features, labels, 4)
        fitted = classifier.fit(support)
        chosen = choose_temperature(fitted, support, hold_out(classifier, support, 0))
        ratios.append(scores_of(fitted, scale * features) / chosen)
    np.testing.assert_allclose(*ratios, rtol=1e-5)
