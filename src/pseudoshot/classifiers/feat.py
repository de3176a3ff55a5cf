"""FEAT's way of testing: the head adapts the support, queries stay as they are."""

from __future__ import annotations

from dataclasses import replace

from pseudoshot.classifiers.base import ClassifierSettings, HeadClassifier, Linear, Support
from pseudoshot.classifiers.prototype import nearest_mean


class FEATSettings(ClassifierSettings):
    name: str = "feat"
    """which classifier"""


class SupportAdapted(HeadClassifier):
    """The nearest mean of the support as the head adapted it to the task (FEAT)."""

    Settings = FEATSettings
    called = "nearest mean after a trained head"
    rule = (
        "A trained head adapts the examples to the task, and every other image goes to the class "
        "whose examples, averaged, it is most similar to."
    )

    def fit(self, support: Support) -> Linear:
        adapted = replace(support, embeddings=self.adapt(support.embeddings))
        return nearest_mean(self.similarity, adapted.means)
