"""As TSP-Head trains: the head adapts support and queries together, which is transductive."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pseudoshot.classifiers.base import ClassifierSettings, Fitted, HeadClassifier, Support
from pseudoshot.classifiers.prototype import nearest_mean
from pseudoshot.tools.errors import PseudoshotError

MOST_FLOATS = 1 << 28  # held by a head at once: 1 GB


class WithHeadSettings(ClassifierSettings):
    name: str = "with-head"
    """which classifier"""


class WithHead(HeadClassifier):
    """The nearest mean after the head adapted support and queries together (TSP-Head)."""

    Settings = WithHeadSettings
    setting = "transductive"
    saveable = False
    called = "nearest mean after a trained head"
    rule = (
        "A trained head adapts examples and all images to recognise together "
        "(transductive), and each goes to the class it is then most similar to."
    )

    def fit(self, support: Support) -> AdaptedTogether:
        return AdaptedTogether(self, support)


@dataclass(frozen=True)
class AdaptedTogether(Fitted):
    """Nothing is known before the queries are."""

    classifier: WithHead
    support: Support

    def logits(self, queries: Tensor) -> Tensor:
        refuse_too_many(self.classifier, self.support, queries)
        examples = self.support.embeddings
        shown = examples.shape[1]
        adapted = self.classifier.adapt(torch.cat((examples, queries), 1))
        seen = replace(self.support, embeddings=adapted[:, :shown])
        return nearest_mean(self.classifier.similarity, seen.means).logits(adapted[:, shown:])


def refuse_too_many(classifier: HeadClassifier, support: Support, queries: Tensor) -> None:
    """More images than a head can look at together."""
    T, shown, dim = support.embeddings.shape
    members = shown + queries.shape[1]
    if T * classifier.floats_a_task(members, dim) > MOST_FLOATS:
        raise PseudoshotError(
            f"the head cannot look at {members:,} images together, which take more than "
            f"{MOST_FLOATS * 4 >> 20:,} MB: classify fewer at a time, or choose another classifier"
        )
