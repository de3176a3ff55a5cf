"""Confidence that means what it says: a temperature for a classifier's scores (Guo et al., 2017),
chosen on examples it was not fitted to.

With one example per class there is nothing to hold out, and with two or three little: the choice is
drawn towards a temperature that suited other tasks, in units of the scores' own spread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from torch import Tensor

from pseudoshot.classifiers import Classifier, Fitted, Support
from pseudoshot.sorting.inputs import Floats

Labels = npt.NDArray[np.int64]

FOLDS = 5
WIDEST = np.log(100.0)  # of the search, to both sides of the usual temperature
# Chosen on CIFAR-FS validation tasks of 5 and 10 classes, 1 to 20 examples: prototype, logistic
# and ridge.
USUAL = 0.8  # of the scores' spread
PRIOR = 5.0  # weight of the squared logarithm of the ratio to it


def support_of(features: Floats, labels: Labels, way: int) -> Support:
    """One person's examples: a batch of one task, in double precision."""
    return Support(_tensor(features)[None], _tensor(labels)[None], way)


def scores_of(fitted: Fitted, features: Floats) -> Floats:
    """(n, d) to (n, N)."""
    scores: Floats = fitted.logits(_tensor(features)[None])[0].numpy()
    return scores


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    """Without a copy, but of what may not be written: torch warns of such arrays."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def choose_temperature(
    classifier: Classifier, fitted: Fitted, support: Support, seed: int
) -> float:
    """By cross-validation over the classes of two or more examples; `fitted` is to all of them."""
    features, labels = support.embeddings[0].numpy(), support.labels[0].numpy()
    fold = _folds(labels, support.way, seed)
    held_out = np.flatnonzero(fold >= 0)
    usual = USUAL * _spread(scores_of(fitted, features))
    if len(held_out) == 0:
        return usual
    scores = np.zeros((len(labels), support.way))
    for part in range(fold.max() + 1):
        out = fold == part
        shown = support_of(features[~out], labels[~out], support.way)
        scores[out] = scores_of(classifier.fit(shown), features[out])

    def cost(log_ratio: float) -> float:
        logs = log_softmax(scores[held_out] / (usual * np.exp(log_ratio)), axis=1)
        surprise = -logs[np.arange(len(held_out)), labels[held_out]].sum()
        return float(surprise + PRIOR * log_ratio**2)

    best = minimize_scalar(cost, bounds=(-WIDEST, WIDEST), method="bounded")
    return usual * float(np.exp(best.x))


def _folds(labels: Labels, way: int, seed: int) -> Labels:
    """To which of up to five parts each example belongs; -1: never held out, alone in its class."""
    order = np.random.default_rng(seed).permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    counts = np.bincount(labels, minlength=way)
    rank = np.empty_like(labels)
    rank[by_class] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.where(counts[labels] > 1, rank % FOLDS, -1)


def _spread(scores: Floats) -> float:
    """The root mean square by which scores of an image differ from their mean; 1 for none."""
    spread = float(np.sqrt(np.square(scores - scores.mean(1, keepdims=True)).mean()))
    return spread or 1.0
