"""Heads: from the embeddings of a few labelled images to scores of any image.

All three are linear in the embedding, so fitted they are two arrays, whichever made them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_TINY = 1e-12  # an embedding of length zero has no direction


@dataclass(frozen=True)
class LinearHead:
    """Scores x wᵀ + b of N classes."""

    weight: Floats  # (N, d)
    bias: Floats  # (N,)

    def scores(self, features: Floats) -> Floats:
        """(n, d) to (n, N)."""
        scores: Floats = features @ self.weight.T + self.bias
        return scores


HeadFitter = Callable[[Floats, Labels, int], LinearHead]


def prototype(features: Floats, labels: Labels, way: int) -> LinearHead:
    """SNS (Eq. 6): <q, p> / |p|, p the mean of a class.

    >>> prototype(np.eye(2), np.array([0, 1]), 2).scores(np.array([[3.0, 1.0]]))
    array([[3., 1.]])
    """
    members = _one_hot(labels, way)  # (n, N)
    means = members.T @ features / members.sum(0)[:, None]
    return LinearHead(means / np.maximum(_norms(means), _TINY), np.zeros(way))


def ridge(features: Floats, labels: Labels, way: int) -> LinearHead:
    """Ridge regression onto one-hot labels, every class of equal weight however many examples.

    With M = Xᵀ D X + λ I over embeddings of unit scale: W = M⁻¹ Xᵀ D Y.
    """
    centre, scale = _centre_and_scale(features)
    inputs = (features - centre) / scale
    members = _one_hot(labels, way)
    weights = len(labels) / way / members.sum(0)[labels]  # of each example, 1 on average
    left = (inputs * weights[:, None]).T @ inputs + RIDGE * np.eye(inputs.shape[1])
    right = (inputs * weights[:, None]).T @ (members - 1 / way)
    weight = np.linalg.solve(left, right).T / scale
    return LinearHead(weight, -weight @ centre)


def logistic(features: Floats, labels: Labels, way: int) -> LinearHead:
    """Multinomial logistic regression, every class of equal weight."""
    if way == 1:
        return LinearHead(np.zeros((1, features.shape[1])), np.zeros(1))
    centre, scale = _centre_and_scale(features)
    model = LogisticRegression(C=LOGISTIC, class_weight="balanced", max_iter=1000)
    model.fit((features - centre) / scale, labels)
    weight, bias = model.coef_, model.intercept_
    if way == 2:  # which scikit-learn keeps as one
        weight, bias = np.concatenate((-weight, weight)) / 2, np.concatenate((-bias, bias)) / 2
    weight = weight / scale
    return LinearHead(weight, bias - weight @ centre)


RIDGE, LOGISTIC = 1.0, 1.0  # strength of the one's penalty, inverse strength of the other's
HEADS: dict[str, HeadFitter] = {"prototype": prototype, "logistic": logistic, "ridge": ridge}


def _one_hot(labels: Labels, way: int) -> Floats:
    return np.eye(way)[labels]


def _norms(rows: Floats) -> Floats:
    norms: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    return norms


def _centre_and_scale(features: Floats) -> tuple[Floats, float]:
    """The mean of the examples, and the root mean squared length about it."""
    centre = features.mean(0)
    return centre, max(float(np.sqrt(np.square(features - centre).sum(1).mean())), _TINY)
