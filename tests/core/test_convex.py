"""MetaOptNet's classifiers equal those of plain loops and of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC
from torch import Tensor

from pseudoshot.tasks.convex import project_to_simplex, ridge_logits, svm_logits
from tests.core.given_embeddings import DIM, SHAPES, assert_equal, build, drawn, generator
from tests.core.reference_methods import cross_entropy


@pytest.mark.parametrize("shape", SHAPES)
def test_metaoptnet_equals_ridge_regression_in_the_primal(shape):
    method = build("metaoptnet", shape, regularisation=0.3)
    z, tasks = drawn(method)
    K = method.settings.shot
    terms = []
    for support, query in zip(tasks.support, tasks.query, strict=True):
        X = torch.stack([z[row] for row in support.flatten()])
        scale = torch.stack([x @ x for x in X]).mean()
        Y = torch.zeros(len(X), len(support), dtype=torch.float64)
        for i in range(len(X)):
            Y[i, i // K] = 1
        identity = torch.eye(DIM, dtype=torch.float64)
        W = torch.linalg.inv(X.T @ X + 0.3 * scale * identity) @ X.T @ Y
        for label, rows in enumerate(query):
            terms += [cross_entropy(list(method.scale * (z[row] @ W)), label) for row in rows]
    assert_equal(method.objective(z, tasks, generator()), torch.stack(terms).mean(), z, method)


@pytest.mark.parametrize("shot", [1, 4])
def test_the_svm_is_that_of_crammer_and_singer(shot):
    rng = np.random.default_rng(0)
    way, cost = 3, 2.0
    X = rng.normal(size=(way * shot, 8)) + 2 * np.repeat(np.eye(way, 8), shot, 0)
    X /= np.sqrt((X**2).sum(1).mean())
    queries = rng.normal(size=(20, 8))
    labels = np.repeat(np.arange(way), shot)
    model = LinearSVC(
        C=cost, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=100_000
    )
    expected = queries @ model.fit(X, labels).coef_.T
    gram, cross = (torch.from_numpy(a @ X.T)[None] for a in (X, queries))
    ours = svm_logits(gram, cross, shot, 1 / cost)[0]
    np.testing.assert_allclose(ours.numpy(), expected, atol=2e-3)


def test_the_svm_carries_gradient_through_its_solution():
    """Central differences of the solved problem, where no instance changes sides."""
    torch.manual_seed(0)
    X = (torch.rand(6, 5, dtype=torch.float64) + torch.eye(6, 5)).requires_grad_()
    queries = torch.rand(4, 5, dtype=torch.float64)
    weights = torch.rand(4, 3, dtype=torch.float64)

    def value(x: Tensor) -> Tensor:
        return (svm_logits((x @ x.T)[None], (queries @ x.T)[None], 2, 1.0)[0] * weights).sum()

    (gradient,) = torch.autograd.grad(value(X), X)
    numeric = torch.zeros_like(X)
    for i in range(6):
        for j in range(5):
            step = torch.zeros_like(X)
            step[i, j] = 1e-4
            with torch.no_grad():
                numeric[i, j] = (value(X + step) - value(X - step)) / 2e-4
    assert torch.cosine_similarity(gradient.flatten(), numeric.flatten(), dim=0) > 0.99


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0.1, 4))
@settings(deadline=None, max_examples=60)
def test_the_projection_lands_on_the_simplex_and_is_the_nearest_point(values, mass):
    point = torch.tensor(values, dtype=torch.float64)
    landed = project_to_simplex(point, mass)
    assert landed.min() >= 0
    assert float(landed.sum()) == pytest.approx(mass)
    for corner in torch.eye(len(point), dtype=torch.float64) * mass:  # towards no corner is closer
        assert ((point - landed) @ (corner - landed)) <= 1e-9


def test_ridge_does_not_care_for_the_scale_of_embeddings():
    z = torch.rand(2, 6, 4, dtype=torch.float64)
    query = torch.rand(2, 3, 4, dtype=torch.float64)
    small, large = (
        ridge_logits((a * z) @ (a * z).mT, (a * query) @ (a * z).mT, 2, 0.5) for a in (1, 100)
    )
    torch.testing.assert_close(small, large)
