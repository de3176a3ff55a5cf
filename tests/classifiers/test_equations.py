"""Each classifier is what its equation says: slow loops, or scikit-learn, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from pseudoshot.classifiers import Support, build_classifier
from pseudoshot.classifiers.ridge import in_examples, in_features
from pseudoshot.tasks.convex import ridge_logits, svm_logits
from pseudoshot.tasks.similarity import SIMILARITIES
from tests.classifiers import reference
from tests.core.reference import slow_similarity


def examples(seed: int = 0, way: int = 3, dim: int = 6):
    """Classes of unequal size about centres of their own."""
    draw = np.random.default_rng(seed)
    labels = np.repeat(np.arange(way), [1 + 3 * c for c in range(way)])
    centres = 3 * draw.normal(size=(way, dim))
    return centres[labels] + draw.normal(size=(len(labels), dim)), labels


def support_of(features, labels, way: int) -> Support:
    return Support(torch.from_numpy(features)[None], torch.from_numpy(labels)[None], way)


def scores(chosen, features, labels, way, queries, similarity="sns"):
    fitted = build_classifier(chosen, similarity).fit(support_of(features, labels, way))
    return fitted.logits(torch.from_numpy(queries)[None])[0].numpy()


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("seed", range(3))
def test_prototype_differs_from_the_similarity_by_what_no_class_is_told_by(similarity, seed):
    features, labels = examples(seed)
    queries = np.random.default_rng(9).normal(size=(7, 6))
    found = scores("prototype", features, labels, 3, queries, similarity)
    for row, query in zip(found, queries, strict=True):
        q = torch.from_numpy(query)
        expected = []
        for c in range(3):
            members = [torch.from_numpy(x) for x, y in zip(features, labels, strict=True) if y == c]
            mean = sum(members) / len(members)
            expected.append(float(slow_similarity(similarity, q, mean)))
        length = float(q.norm()) if similarity == "cosine" else 1.0
        shift = -float(q @ q) if similarity == "euclidean" else 0.0
        np.testing.assert_allclose(row / length + shift, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dim", [6, 30])
@pytest.mark.parametrize("seed", range(3))
def test_ridge_is_at_the_least_of_its_loss(seed, dim):
    features, labels = examples(seed, dim=dim)
    chosen = {"name": "ridge", "regularisation": 0.3}
    weight = build_classifier(chosen).fit(support_of(features, labels, 3)).weight[0].numpy()

    def loss(at):
        return reference.ridge_loss(at, features, labels, 3, 0.3)

    draw, least = np.random.default_rng(seed), loss(weight)
    for size in (1e-3, 1e-1, 1):
        for _ in range(10):
            assert loss(weight + size * draw.normal(size=weight.shape)) > least


@pytest.mark.parametrize("dim", [6, 30])
def test_ridge_is_the_same_in_both_its_forms(dim):
    support = support_of(*examples(way=4, dim=dim), 4)
    torch.testing.assert_close(in_examples(support, 0.7), in_features(support, 0.7))


@pytest.mark.parametrize(("name", "solve"), [("ridge", ridge_logits), ("svm", svm_logits)])
def test_of_balanced_tasks_it_is_what_metaoptnet_trains_with(name, solve):
    generator = torch.Generator().manual_seed(0)
    shown = torch.randn(3, 4, 2, 10, generator=generator, dtype=torch.float64)
    queries = torch.randn(3, 9, 10, generator=generator, dtype=torch.float64)
    members = shown.flatten(1, 2)
    expected = solve(members @ members.mT, queries @ members.mT, 2, 0.4)
    classifier = build_classifier({"name": name, "regularisation": 0.4})
    torch.testing.assert_close(
        classifier.fit(Support.balanced(shown)).logits(queries), expected, rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("way", [2, 4])
def test_the_svm_is_that_of_crammer_and_singer_with_classes_of_equal_weight(way):
    features, labels = examples(way=way, dim=8)
    unit = reference.unit_scale(features)
    model = LinearSVC(
        C=2.0,
        multi_class="crammer_singer",
        class_weight="balanced",
        fit_intercept=False,
        tol=1e-8,
        max_iter=1_000_000,
    )
    queries = np.random.default_rng(3).normal(size=(20, 8))
    expected = queries @ model.fit(unit, labels).coef_.T
    if way == 2:  # which scikit-learn keeps as one
        expected = np.concatenate((-expected, expected), 1) / 2
    found = scores({"name": "svm", "regularisation": 0.5}, unit, labels, way, queries)
    if way == 2:
        found = found - found.mean(1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=2e-2)


@pytest.mark.parametrize("strength", [1.0, 30.0])
@pytest.mark.parametrize("dim", [6, 40])
@pytest.mark.parametrize("way", [2, 3, 4])
def test_logistic_says_what_scikit_learn_says(way, dim, strength):
    features, labels = examples(way=way, dim=dim)
    unit = reference.unit_scale(features - features.mean(0))
    model = LogisticRegression(C=strength, class_weight="balanced", max_iter=10_000, tol=1e-9)
    chosen = {"name": "logistic", "inverse_regularisation": strength}
    found = scores(chosen, features, labels, way, features)
    likely = np.exp(found) / np.exp(found).sum(1, keepdims=True)
    np.testing.assert_allclose(likely, model.fit(unit, labels).predict_proba(unit), atol=1e-6)


def test_logistic_of_one_class_says_nothing():
    features = np.random.default_rng(0).normal(size=(4, 3))
    assert (scores("logistic", features, np.zeros(4, np.int64), 1, features) == 0).all()


@pytest.mark.parametrize("name", ["ridge", "svm", "logistic"])
def test_the_scale_of_embeddings_does_not_matter(name):
    features, labels = examples()
    small, large = (scores(name, a * features, labels, 3, a * features) for a in (1.0, 1000.0))
    np.testing.assert_allclose(small, large, rtol=1e-6, atol=1e-8)
