from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax

from pseudoshot.classifiers import CLASSIFIERS, build_classifier, folds
from pseudoshot.sorting import FewShotClassifier, calibration
from pseudoshot.sorting.calibration import (
    DRAWS,
    agreement,
    choose_temperature,
    expected_accuracy,
)
from pseudoshot.sorting.held_out import hold_out, scores_of, support_of
from tests.sorting import reference

# prototransfer takes steps of one length, whatever the scale
OTHERS = ("auto", "prototransfer")
LINEAR = [name for name, kind in CLASSIFIERS.items() if kind.saveable and not kind.needs_head]
PLAIN = [name for name in LINEAR if name not in OTHERS]


def test_folds_hold_out_part_of_every_class_but_never_all_of_one():
    labels = np.repeat(np.arange(5), [1, 2, 4, 5, 13])
    fold = folds(torch.from_numpy(labels), 5, seed=3).numpy()
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
    fitted, held_out = classifier.fit(support), hold_out(classifier, support, 0)
    chosen = choose_temperature(classifier, fitted, support, held_out)
    fold = folds(torch.from_numpy(labels), 3, seed=0).numpy()
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
        held_out = hold_out(classifier, support, 0)
        chosen = choose_temperature(classifier, fitted, support, held_out)
        ratios.append(scores_of(fitted, scale * features) / chosen)
    np.testing.assert_allclose(*ratios, rtol=1e-5)


def groups(way, apart, count, seed=0, dim=16):
    """Images in groups about centres so far apart, (way * count, dim), and their labels."""
    draw = np.random.default_rng(seed)
    labels = np.repeat(np.arange(way), count)
    return apart * draw.normal(size=(way, dim))[labels] + draw.normal(
        size=(way * count, dim)
    ), labels


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("apart", [0.4, 1.0, 3.0])
def test_one_example_and_unlabelled_images_tell_how_sure_to_be(name, apart):
    errors = []
    for seed in range(12):
        images, labels = groups(5, apart, 41, seed)
        shown = np.arange(0, len(images), 41)
        others = np.delete(np.arange(len(images)), shown)
        estimator = FewShotClassifier(classifier=name, unlabelled=images)  # the examples as well
        likely = estimator.fit(images[shown], labels[shown]).predict_proba(images[others])
        right = (likely.argmax(1) == labels[others]).mean()
        errors.append(likely.max(1).mean() - right)
    assert abs(np.mean(errors)) < 0.1


def test_without_the_images_it_cannot_know_whether_classes_lie_apart():
    """What the test above is worth: from the examples alone confidence is the same."""
    images, labels = groups(5, 3.0, 41)
    shown = np.arange(0, len(images), 41)
    blind = FewShotClassifier().fit(images[shown], labels[shown]).predict_proba(images)
    assert blind.max(1).mean() < (blind.argmax(1) == labels).mean() - 0.15


@pytest.mark.parametrize("apart", [0.0, 0.5, 2.0])
def test_agreement_is_that_of_classifiers_fitted_one_by_one(apart):
    images, labels = groups(3, apart, 30)
    classifier = build_classifier("ridge")
    support = support_of(images[::10], labels[::10], 3)
    others = np.delete(images, np.arange(0, 90, 10), 0)
    found = scores_of(classifier.fit(support), others).argmax(1)
    agreed, draw = [], np.random.default_rng(1)
    for _ in range(200):
        rows = np.array([draw.choice(np.flatnonzero(found == c)) for c in labels[::10]])
        again = classifier.fit(support_of(others[rows], labels[::10], 3))
        rest = np.setdiff1d(np.arange(len(others)), rows)
        agreed.append((scores_of(again, others[rest]).argmax(1) == found[rest]).mean())
    once = agreement(classifier, found, support, others)
    assert abs(once - np.mean(agreed)) <= 4 * np.std(agreed) / DRAWS**0.5


def test_mean_confidence_is_the_accuracy_that_is_expected():
    images, labels = groups(4, 0.8, 30)
    classifier, support = build_classifier("prototype"), support_of(images[::6], labels[::6], 4)
    fitted, held_out = classifier.fit(support), hold_out(classifier, support, 0)
    others = np.delete(images, np.arange(0, 120, 6), 0)
    chosen = choose_temperature(classifier, fitted, support, held_out, images)
    scores = scores_of(fitted, others)
    wanted = expected_accuracy(classifier, scores, support, held_out, others)
    assert softmax(scores / chosen, axis=1).max(1).mean() == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(
    "images", [np.zeros((50, 3)), np.eye(3)[np.arange(50) % 3], np.ones((5, 3))]
)
def test_unlabelled_images_that_say_nothing_leave_finite_confidences(images):
    for labels in (["a", "b", "c"], ["a", "a", "a"]):
        fitted = FewShotClassifier(unlabelled=images).fit(np.eye(3), labels)
        assert np.isfinite(fitted.predict_proba(images)).all()
