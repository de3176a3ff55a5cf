"""FEAT (Ye et al. 2020) as an unsupervised method: the head adapts the support, also at test."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from pseudoshot.heads import Head, TaskTransformer
from pseudoshot.methods.base import EpisodicMethod
from pseudoshot.methods.tsp_head import TransformerSettings, build_transformer
from pseudoshot.tasks.gather import gather_rows
from pseudoshot.tasks.gram import query_cross_entropy
from pseudoshot.tasks.similarity import prototype_similarity
from pseudoshot.tasks.tasks import Tasks


class FEATSettings(TransformerSettings):
    heads: int = Field(default=1, ge=1, le=256)


class FEAT(EpisodicMethod):
    """FEAT: a transformer adapts the support of each task, in training and at test.

    Eq. 1 with prototypes of ψ = T(φ | S); queries stay φ.
    """

    Settings = FEATSettings
    defaults = MappingProxyType({"reading": "plain"})  # which its head goes on from
    described = "section 5.2 (discussion) and appendix, Maintaining TSP-Head in Meta-Test or Not?"
    head: Head

    @classmethod
    def build_head(cls, dim: int, settings: FEATSettings) -> TaskTransformer:
        return build_transformer(dim, settings)

    @classmethod
    def test_classifier(cls, settings: FEATSettings) -> dict[str, Any]:
        return {"name": "feat"}

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        T, N, K = tasks.support.shape
        support = self.head.on_tasks(embeddings, tasks.support.flatten(1))
        prototypes = support.view(T, N, K, -1).mean(2)
        queries = gather_rows(embeddings, tasks.query.flatten(1))
        logits = prototype_similarity(self.settings.similarity, queries, prototypes)
        return query_cross_entropy(
            logits / self.settings.resolved_temperature, tasks.query.shape[2]
        )
