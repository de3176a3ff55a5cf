"""UFLST (Ji et al. 2019): clusters of the embedding in training, and their hardest triplets."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor

from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.settings import ViewCountSettings
from pseudoshot.tasks.gather import gather_rows
from pseudoshot.tasks.gram import gram_matrix, task_loss
from pseudoshot.tasks.similarity import Similarity, similarity_from_products
from pseudoshot.tasks.tasks import fixed_task


class UFLSTSettings(ViewCountSettings):
    images: PositiveInt = 60
    views_per_class: int = Field(default=6, ge=2)
    """V, images per cluster"""
    loss: Literal["triplet", "prototype", "both"] = "triplet"
    """hard triplets, the cross entropy of one-shot prototypes, or the sum of the two"""
    margin: float | None = Field(default=None, ge=0, le=1e6)
    """of triplets: 1, and 0.5 in the sum, where not given"""

    @property
    def test_similarity(self) -> Similarity:
        return "euclidean"

    @property
    def resolved_margin(self) -> float:
        return (0.5 if self.loss == "both" else 1.0) if self.margin is None else self.margin


class UFLST(Method):
    """UFLST: the farthest image of an image's cluster comes nearer than the nearest of all others.

    The mean of softplus(m + max d_pos - min d_neg) over an episode, d the Euclidean distance; or
    the cross entropy of each cluster's first image as a prototype, by squared distances; or both.
    Clusters are those of the embedding in training, found anew every few epochs. Images are not
    altered. The learning rate is the run's: the authors begin anew with it in every round.
    """

    Settings = UFLSTSettings
    described = "section 6.1, Table of unsupervised meta-learning methods"
    defaults = MappingProxyType(
        {"class_source": "reciprocal-clusters", "views": "identity", "view_scale": 1.0}
        | {"images": 60, "views_per_class": 6}
    )
    settings: UFLSTSettings

    def loss(self, batch: Batch) -> Loss:
        embeddings = batch.embed(self.backbone)  # (CV, d)
        V, parts = batch.views.shape[1], {}
        with torch.autocast(embeddings.device.type, enabled=False):
            if self.settings.loss != "prototype":
                parts["triplet"] = hard_triplets(embeddings, V, self.settings.resolved_margin)
            if self.settings.loss != "triplet":
                task = fixed_task(len(embeddings) // V, 1, V - 1).to(embeddings.device)
                parts["prototype"] = task_loss(gram_matrix(embeddings), task, "euclidean")
            value = torch.stack([*parts.values()]).sum()
        scalars = {name: part.item() for name, part in parts.items()} if len(parts) > 1 else {}
        return Loss(value, embeddings, scalars)


def hard_triplets(embeddings: Tensor, views: int, margin: float) -> Tensor:
    """Of embeddings (CV, d), V of each class after one another; only pairs that are the hardest of
    an image have a gradient.

    >>> points = torch.tensor([[0.0], [1.0], [9.0], [9.0]])
    >>> hard_triplets(points, views=2, margin=8.0).round(decimals=3)
    tensor(0.8480)
    """
    with torch.no_grad():
        gram = gram_matrix(embeddings)
        squares = gram.diagonal()
        near = similarity_from_products("euclidean", gram, squares[:, None], squares)
        classes = torch.arange(len(gram), device=gram.device) // views
        same = classes[:, None] == classes
        positive = near.masked_fill(~same, torch.inf).argmin(1)
        negative = near.masked_fill(same, -torch.inf).argmax(1)
    positive_distance, negative_distance = (
        (embeddings - gather_rows(embeddings, rows)).norm(dim=1) for rows in (positive, negative)
    )
    return F.softplus(margin + positive_distance - negative_distance).mean()
