"""A linear multi-class support vector machine."""

from __future__ import annotations

from pydantic import PositiveFloat

from pseudoshot.classifiers.base import Classifier, ClassifierSettings, Linear, Support
from pseudoshot.tasks.convex import svm_coefficients
from pseudoshot.tools.errors import PseudoshotError

MOST_EXAMPLES = 8_192  # of a task: all pairs of them take half a gigabyte


class SVMSettings(ClassifierSettings):
    name: str = "svm"
    """which classifier"""
    regularisation: PositiveFloat = 1.0
    """1 / C, in units of the support's mean squared norm"""


class SVM(Classifier):
    """A linear SVM (Crammer and Singer), as MetaOptNet trains with; every class counts alike."""

    Settings = SVMSettings
    called = "a support vector machine"
    rule = "A support vector machine fitted to the examples classifies every other image."
    settings: SVMSettings

    def fit(self, support: Support) -> Linear:
        examples, scale = support.embeddings, support.mean_square
        if examples.shape[1] > MOST_EXAMPLES:
            raise PseudoshotError(
                f"an SVM takes at most {MOST_EXAMPLES:,} examples, not {examples.shape[1]:,}: "
                f"choose ridge or logistic"
            )
        cost = support.balance[..., None] / self.settings.regularisation  # (T, n, 1)
        alpha = svm_coefficients(examples @ examples.mT / scale, support.one_hot, cost)
        weight = alpha.mT @ examples / scale
        return Linear(weight, weight.new_zeros(weight.shape[:2]))

    def floats_a_task(self, members: int, dim: int) -> int:
        return members * (dim + 2 * members)
