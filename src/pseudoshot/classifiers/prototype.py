"""The nearest class mean, under any of the four similarities."""

from __future__ import annotations

from torch import Tensor

from pseudoshot.classifiers.base import TINY, Classifier, ClassifierSettings, Linear, Support
from pseudoshot.heads import Head
from pseudoshot.tasks.similarity import Similarity


class PrototypeSettings(ClassifierSettings):
    name: str = "prototype"
    """which classifier"""
    similarity: Similarity | None = None
    """sns, cosine, euclidean or inner; the model's own where not given"""


class Prototype(Classifier):
    """The nearest mean of the support (Algorithm 2)."""

    Settings = PrototypeSettings
    called = "nearest mean"
    rule = "Every other image goes to the class whose examples, averaged, it is most similar to."

    def __init__(
        self,
        settings: PrototypeSettings,
        similarity: Similarity = "sns",
        head: Head | None = None,
    ) -> None:
        super().__init__(settings, settings.similarity or similarity, head)

    def fit(self, support: Support) -> Linear:
        return nearest_mean(self.similarity, support.means)


def nearest_mean(similarity: Similarity, means: Tensor) -> Linear:
    """Scores that order the means (T, N, d) as the similarity to a query does.

    They are linear because what depends on the query alone, and so moves no class before another,
    is left out: its length from cosine, its square from -|q - p|² = 2<q, p> - |p|² - |q|².
    """
    squares = means.square().sum(-1)  # (T, N)
    match similarity:
        case "inner":
            return Linear(means, squares.new_zeros(squares.shape))
        case "euclidean":
            return Linear(2 * means, -squares)
        case "sns" | "cosine":
            lengths = squares.clamp_min(TINY).sqrt()
            return Linear(means / lengths[..., None], squares.new_zeros(squares.shape))
