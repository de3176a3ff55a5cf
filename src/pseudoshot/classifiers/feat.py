"""FEAT's way of testing: the head adapts the support, queries stay as they are."""

from __future__ import annotations

from dataclasses import replace

from pseudoshot.classifiers.base import ClassifierSettings, HeadClassifier, Linear, Support
from pseudoshot.classifiers.prototype import nearest_mean
from pseudoshot.tools.errors import PseudoshotError


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
        psi, dim = self.adapt(support.embeddings), support.embeddings.shape[2]
        if psi.shape[2] != dim:
            raise PseudoshotError(
                f"classifier 'feat' compares what the head makes of examples, {psi.shape[2]} "
                f"numbers, with embeddings of {dim}: choose with-head or prototype"
            )
        return nearest_mean(self.similarity, replace(support, embeddings=psi).means)
