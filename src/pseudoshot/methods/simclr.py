"""SimCLR (Chen et al. 2020): two views of an image are told from the views of all others."""

from __future__ import annotations

from types import MappingProxyType
from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor

from pseudoshot.heads import Projection
from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.settings import ViewCountSettings
from pseudoshot.tasks.gram import gram_matrix
from pseudoshot.tasks.similarity import Similarity


class ContrastiveSettings(ViewCountSettings):
    """Of methods that compare projections of views by their cosine."""

    images: PositiveInt = 192
    views_per_class: int = Field(default=2, ge=2)
    """V, views per image"""
    temperature: PositiveFloat | None = None
    """divides the cosine of two projections: 0.5 for simclr and 0.2 for moco-v2 and mochi where not
    given"""
    projection: PositiveInt = 128
    """numbers in a projection; it is dropped at test"""
    head_lr_scale: PositiveFloat = 1.0
    """the projection's learning rate as a multiple of the backbone's"""

    usual_temperature: ClassVar[float] = 0.5

    @property
    def test_similarity(self) -> Similarity:
        return "cosine"

    @property
    def resolved_temperature(self) -> float:
        return self.temperature or self.usual_temperature


class SimCLR(Method):
    """SimCLR: views of one image attract each other and repel all others of the episode.

    NT-Xent of projections by a two-layer MLP. For each view and each other view of its image, the
    cross entropy of that one among all views but itself; with two views per image this is the
    original's, with more each other view is the positive in turn. As many images as make the
    baseline's number of views; the temperature is that of the authors' CIFAR recipe, the optimiser
    the run's in place of their LARS.
    """

    Settings = ContrastiveSettings
    described = "section 6.1, Table of self-supervised methods"
    defaults = MappingProxyType({"images": 192, "views_per_class": 2, "head_lr_scale": 1.0})
    settings: ContrastiveSettings
    head: Projection

    @classmethod
    def build_head(cls, dim: int, settings: ContrastiveSettings) -> Projection:
        return Projection(dim, settings.projection)

    def loss(self, batch: Batch) -> Loss:
        embeddings = batch.embed(self.backbone)  # (CV, d)
        with torch.autocast(embeddings.device.type, enabled=False):
            projections = F.normalize(self.head(embeddings), dim=1)
            value = nt_xent(projections, batch.views.shape[1], self.settings.resolved_temperature)
        return Loss(value, embeddings)


def nt_xent(projections: Tensor, views: int, temperature: float) -> Tensor:
    """Of unit vectors (CV, p), V of each image after one another.

    >>> nt_xent(torch.eye(2).repeat_interleave(2, 0), views=2, temperature=0.01).item()
    0.0
    """
    images = torch.arange(len(projections), device=projections.device) // views
    own = torch.eye(len(images), dtype=torch.bool, device=images.device)
    logits = (gram_matrix(projections) / temperature).masked_fill(own, -torch.inf)
    positives = (images[:, None] == images) & ~own
    return (logits.logsumexp(1) - logits.masked_fill(~positives, 0.0).sum(1) / (views - 1)).mean()
