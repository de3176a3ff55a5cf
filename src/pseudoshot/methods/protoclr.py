"""ProtoCLR (Medina et al. 2020): an image is the prototype of its views."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import torch
from pydantic import PositiveFloat, PositiveInt

from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.settings import MethodSettings
from pseudoshot.tasks.gram import gram_matrix, task_loss
from pseudoshot.tasks.similarity import Similarity, default_temperature
from pseudoshot.tasks.tasks import fixed_task
from pseudoshot.views import Policy
from pseudoshot.views.identity import Identity


class ProtoCLRSettings(MethodSettings):
    images: PositiveInt = 50
    query: PositiveInt = 3
    """Q, views per image, each compared with the images themselves"""
    similarity: Similarity = "euclidean"
    """how a view is compared with an image"""
    temperature: PositiveFloat | None = None
    """divides the similarity: 0.5 for cosine and 1 for the others where not given"""

    @property
    def V(self) -> int:  # noqa: N802
        return 1 + self.query

    @property
    def test_similarity(self) -> Similarity:
        return self.similarity

    @property
    def resolved_temperature(self) -> float:
        return self.temperature or default_temperature(self.similarity)


class ProtoCLR(Method):
    """ProtoCLR: every view is told, among all images of the episode as they are, by its own.

    Eq. 1 with one task per episode, whose support is the images without any change, under Eq. 3;
    gradients go through both sides. At test `prototransfer` tunes a linear layer that begins at the
    prototypes. The learning rate is the run's, where the authors halve 0.001 every 25,000 steps.
    """

    Settings = ProtoCLRSettings
    described = "section 6.1 (ProtoTransfer)"
    defaults = MappingProxyType({"images": 50, "query": 3})
    settings: ProtoCLRSettings

    @classmethod
    def test_classifier(cls, settings: ProtoCLRSettings) -> dict[str, Any]:
        return {"name": "prototransfer"}

    def policies(self, views: Policy) -> Sequence[tuple[int, Policy]]:
        return (1, Identity.beside(views)), (self.settings.query, views)

    def loss(self, batch: Batch) -> Loss:
        embeddings = batch.embed(self.backbone)  # (CV, d)
        tasks = fixed_task(len(batch.classes), 1, self.settings.query).to(embeddings.device)
        with torch.autocast(embeddings.device.type, enabled=False):
            value = task_loss(
                gram_matrix(embeddings),
                tasks,
                self.settings.similarity,
                self.settings.resolved_temperature,
            )
        return Loss(value, embeddings)
