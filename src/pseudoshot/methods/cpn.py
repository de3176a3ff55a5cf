"""CPN (Wang and Deng 2022): every view of an image is its prototype in turn, and confidence has a
price."""

from __future__ import annotations

from types import MappingProxyType

import torch
import torch.nn.functional as F
from pydantic import Field, NonNegativeFloat, PositiveFloat
from torch import Tensor

from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.settings import ViewCountSettings
from pseudoshot.tasks.gram import gram_matrix
from pseudoshot.tasks.similarity import Similarity, similarity_from_products

STEPS, ENTROPY = 5, 0.5  # of Sinkhorn's iterations, as the authors have them
_TINY = 1e-12


class CPNSettings(ViewCountSettings):
    views_per_class: int = Field(default=4, ge=2)
    """V, views per image"""
    temperature: PositiveFloat | None = None
    """divides the squared distance of two views: 5 where not given"""
    penalty: NonNegativeFloat = 1.0
    """weight of the Wasserstein distance from what is said of a view to a uniform distribution"""
    cost_scale: NonNegativeFloat = Field(default=8.0, le=30)
    """what it costs to move confidence to the image that is least alike (gamma)"""

    @property
    def resolved_temperature(self) -> float:
        return self.temperature or 5.0

    @property
    def test_similarity(self) -> Similarity:
        return "euclidean"


class CPN(Method):
    """CPN: each view is told by each view of every image, and pays for being sure.

    Eq. 1 with Eq. 3 over V² tasks of one shot: view a of all images is the query, view b of all
    images the support, a = b among them. To it comes the Wasserstein confidence penalty: what it
    costs to move the softmax of a query, at temperature √d, to the uniform distribution. Between
    images the cost is γ(1 - cos) of their mean embeddings, each row of it rescaled to [0, 1] before
    γ, and 1 where confidence stays; no gradient goes through it. As the authors' code has it, but
    for the learning rate, which is the run's.
    """

    Settings = CPNSettings
    described = "not in the paper; Wang and Deng, ECCV 2022"
    defaults = MappingProxyType({"views_per_class": 4})
    settings: CPNSettings

    def loss(self, batch: Batch) -> Loss:
        embeddings = batch.embed(self.backbone)  # (CV, d)
        with torch.autocast(embeddings.device.type, enabled=False):
            value = self.objective(embeddings)
        return Loss(value, embeddings)

    def objective(self, embeddings: Tensor) -> Tensor:
        settings, (rows, dim) = self.settings, embeddings.shape
        V = settings.V
        gram = gram_matrix(embeddings)
        squares = gram.diagonal()
        similar = similarity_from_products("euclidean", gram, squares[:, None], squares)
        by_view = similar.view(rows, rows // V, V).transpose(1, 2)  # (CV, V, C)
        logits = by_view.flatten(0, 1)  # (CVV, C): of each query, by each view of the images
        own = torch.arange(rows // V, device=logits.device).repeat_interleave(V * V)
        value = F.cross_entropy(logits / settings.resolved_temperature, own)
        if settings.penalty:
            means = embeddings.detach().view(-1, V, dim).mean(1)
            told = (logits / dim**0.5).softmax(1)
            distance = distance_to_uniform(told, moving_cost(means, settings.cost_scale))
            value = value + settings.penalty * distance
        return value


def moving_cost(means: Tensor, scale: float) -> Tensor:
    """γ(1 - cos) of every two rows (C, d), each row brought to [0, 1] before γ, and 1 for staying:
    (C, C)."""
    directions = F.normalize(means, dim=1)
    apart = 1 - directions @ directions.mT
    least, most = apart.amin(1, keepdim=True), apart.amax(1, keepdim=True)
    staying = torch.eye(len(apart), dtype=apart.dtype, device=apart.device)
    return scale * (apart - least) / (most - least).clamp_min(_TINY) + staying


def distance_to_uniform(told: Tensor, cost: Tensor) -> Tensor:
    """The mean of <T, cost> over distributions (R, C): T, by Sinkhorn's iterations, moves one of
    them to the uniform distribution.

    All share the cost (C, C), and so exp(-cost / ε): a plan is that, times a factor per row and one
    per column, and is never held.
    """
    kernel = (-cost / ENTROPY).exp()
    of_rows, of_columns = told, torch.ones_like(told)
    for _ in range(STEPS):
        of_rows = (told + _TINY) / (of_columns @ kernel.mT)
        of_columns = 1 / (told.shape[1] * (of_rows @ kernel))
    return ((of_rows @ (kernel * cost)) * of_columns).sum(1).mean()
