"""MetaOptNet (Lee et al. 2019) as an unsupervised method: a convex classifier for each task."""

from __future__ import annotations

from typing import Any, Literal

import torch
from pydantic import PositiveFloat
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.methods.base import EpisodicMethod
from pseudoshot.methods.settings import TaskSettings
from pseudoshot.tasks.convex import ridge_logits, svm_logits
from pseudoshot.tasks.gram import gram_matrix, pairs_of, query_cross_entropy
from pseudoshot.tasks.tasks import Tasks

_FIRST_SCALE = 10.0  # of logits, which answer one-hot labels and so lie between 0 and 1


class MetaOptNetSettings(TaskSettings):
    solver: Literal["ridge", "svm"] = "ridge"
    """the classifier fitted to each support: ridge regression or a multi-class SVM"""
    regularisation: PositiveFloat = 1.0
    """of the classifier, in units of the support's mean squared norm"""


class MetaOptNet(EpisodicMethod):
    """MetaOptNet: the support of each task is fitted by ridge regression (or an SVM).

    Eq. 1 with the fitted classifier's scores, times a learned scale, in place of similarities.
    """

    Settings = MetaOptNetSettings
    described = "appendix, Maintaining TSP-Head in Meta-Test or Not?"
    settings: MetaOptNetSettings

    def __init__(self, backbone: Backbone, settings: MetaOptNetSettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.scale = nn.Parameter(torch.tensor(_FIRST_SCALE))

    @classmethod
    def test_classifier(cls, settings: MetaOptNetSettings) -> dict[str, Any]:
        return {"name": settings.solver, "regularisation": settings.regularisation}

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        gram = gram_matrix(embeddings)
        support, query = tasks.support.flatten(1), tasks.query.flatten(1)
        solve = ridge_logits if self.settings.solver == "ridge" else svm_logits
        logits = solve(
            pairs_of(gram, support, support),
            pairs_of(gram, query, support),
            tasks.shot,
            self.settings.regularisation,
        )
        return query_cross_entropy(self.scale * logits, tasks.query.shape[2])
