"""Confidence that means what it says: a temperature for a classifier's scores (Guo et al., 2017),
chosen on examples it was not fitted to.

With one example per class there is nothing to hold out, and with two or three little: the choice is
drawn towards a temperature that suited other tasks, in units of the scores' own spread.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from pseudoshot.classifiers import Fitted, Support
from pseudoshot.sorting.held_out import HeldOut, scores_of
from pseudoshot.sorting.inputs import Floats

WIDEST = np.log(100.0)  # of the search, to both sides of the usual temperature
# Chosen on CIFAR-FS validation tasks of 5 and 10 classes, 1 to 20 examples: prototype, logistic
# and ridge.
USUAL = 0.8  # of the scores' spread
PRIOR = 5.0  # weight of the squared logarithm of the ratio to it


def choose_temperature(fitted: Fitted, support: Support, held_out: HeldOut) -> float:
    """By the examples that were held out; `fitted` is to all of them."""
    usual = USUAL * _spread(scores_of(fitted, support.embeddings[0].numpy()))
    scores, labels = held_out.scores, held_out.labels
    if len(labels) == 0:
        return usual

    def cost(log_ratio: float) -> float:
        logs = log_softmax(scores / (usual * np.exp(log_ratio)), axis=1)
        surprise = -logs[np.arange(len(labels)), labels].sum()
        return float(surprise + PRIOR * log_ratio**2)

    best = minimize_scalar(cost, bounds=(-WIDEST, WIDEST), method="bounded")
    return usual * float(np.exp(best.x))


def _spread(scores: Floats) -> float:
    """The root mean square by which scores of an image differ from their mean; 1 for none."""
    spread = float(np.sqrt(np.square(scores - scores.mean(1, keepdims=True)).mean()))
    return spread or 1.0
