"""OpTA (Poulakakis-Daktylidis and Jamali-Rad 2024): prototypes moved into the cloud of queries."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from pydantic import Field, PositiveFloat
from torch import Tensor

from pseudoshot.classifiers.base import Classifier, ClassifierSettings, Fitted, Support
from pseudoshot.classifiers.prototype import nearest_mean
from pseudoshot.tasks.transport import transport_plan

STEPS = 50  # of Sinkhorn's iterations


class OpTASettings(ClassifierSettings):
    name: str = "opta"
    """which classifier"""
    entropy: PositiveFloat = Field(default=0.05, ge=1e-3, le=1e3)
    """of the transport, in units of squared distances of unit vectors"""
    passes: int | None = Field(default=None, ge=1, le=1000)
    """how often prototypes are moved; 5 times where each class has one example, else once"""
    blend: float | None = Field(default=None, ge=0, le=1)
    """share of the queries in a moved prototype; 1 where each class has one example, else 0.7"""


class OpTA(Classifier):
    """The nearest mean after optimal transport of the prototypes into the cloud of queries.

    Of unit vectors: a prototype becomes the mean of the queries that the plan takes its mass to,
    blended with itself. The plan gives every class as many queries as any other, which suits tasks
    that are made so, and no others; one query alone is no cloud, and moves nothing. The authors of
    BECLR, whose it is, then fit a logistic regression; here the nearest mean decides.
    """

    Settings = OpTASettings
    settings: OpTASettings
    setting = "transductive"
    saveable = False
    called = "nearest mean after optimal transport"
    rule = (
        "The averages of the examples are moved into the cloud of all images to recognise "
        "(transductive), as many of them to each class, and each goes to the nearest one."
    )

    def fit(self, support: Support) -> Transported:
        return Transported(self, support)

    def moved(self, support: Support, queries: Tensor) -> Tensor:
        """The prototypes (T, N, d) among unit vectors (T, M, d)."""
        settings, one_shot = self.settings, support.labels.shape[1] == support.way
        passes = settings.passes or (5 if one_shot else 1)
        if queries.shape[1] == 1:
            passes = 0
        blend = settings.blend if settings.blend is not None else (1.0 if one_shot else 0.7)
        units = Support(F.normalize(support.embeddings, dim=2), support.labels, support.way)
        prototypes = F.normalize(units.means, dim=2)
        for _ in range(passes):
            squared = 2 - 2 * prototypes @ queries.mT
            plan = transport_plan(squared, settings.entropy, STEPS)
            arrived = plan @ queries * support.way  # a row of the plan sums to 1 / N
            prototypes = F.normalize(blend * arrived + (1 - blend) * prototypes, dim=2)
        return prototypes

    def floats_a_task(self, members: int, dim: int) -> int:
        return members * (2 * dim + 4 * members)


@dataclass(frozen=True)
class Transported(Fitted):
    """Nothing is known before the queries are."""

    classifier: OpTA
    support: Support

    def logits(self, queries: Tensor) -> Tensor:
        units = F.normalize(queries, dim=2)
        return nearest_mean("cosine", self.classifier.moved(self.support, units)).logits(units)
