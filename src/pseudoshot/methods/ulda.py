"""ULDA (Qin et al. 2020): support and queries of a task by different views, mixed and turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import torch
import torch.nn.functional as F
from pydantic import NonNegativeFloat, PositiveInt
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.learner import CutSettings
from pseudoshot.tasks.similarity import Similarity, prototype_similarity
from pseudoshot.tools.beta import beta_draws
from pseudoshot.views import Policy
from pseudoshot.views.autoaug import AutoAug
from pseudoshot.views.colour import RandomJitter
from pseudoshot.views.identity import Identity
from pseudoshot.views.photos import PhotoPolicy

TURNS = 4  # quarter turns, one for each query view of an image
SHIFT = 4  # pixels, to all sides


class ULDASettings(CutSettings):
    images: PositiveInt = 80
    support_mix: NonNegativeFloat = 0.8
    """a: support views are mixed with others of their task, λ ~ Beta(a, a) + 0.5; 0: not mixed"""
    query_mix: NonNegativeFloat = 0.6
    """a: query views are mixed with others of their task, λ the larger of b and 1 - b,
    b ~ Beta(a, a); 0: not mixed"""
    rotation_weight: NonNegativeFloat = 1.0
    """weight of the cross entropy of how far a query was turned"""

    @property
    def V(self) -> int:  # noqa: N802
        return 1 + TURNS

    @property
    def test_similarity(self) -> Similarity:
        return "euclidean"


class ULDA(Method):
    """ULDA: a support view by AutoAugment, four light query views turned by quarters, all mixed.

    x ← λx + (1-λ)x' with another of the task, the label that of x; one λ and one permutation per
    episode for all supports and one for all queries. Eq. 1 of tasks of N random images, under
    -s|q - p|²/d with a learned s; to it comes the cross entropy of the quarter turn of each query,
    by layers of its own that are dropped at test. Photos have policies after the authors' two: the
    whole image by AutoAugment, and a shift of up to 4 pixels (theirs is 8 of 84) with jitter.
    Characters, which neither suits, have the run's views in both roles. Support and queries are
    passes of their own, each with its own BatchNorm statistics; at test these are the running ones.
    The optimiser is the run's, where the authors take SGD.
    """

    Settings = ULDASettings
    described = "section 6.1, Table of unsupervised meta-learning methods"
    defaults = MappingProxyType({"images": 80})
    mixes = True
    settings: ULDASettings

    def __init__(self, backbone: Backbone, settings: ULDASettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.scale = nn.Parameter(torch.ones(()))
        if settings.rotation_weight:
            self.turn_of = nn.Sequential(
                nn.BatchNorm1d(backbone.dim),
                nn.LeakyReLU(0.2),
                nn.Dropout(0.5),
                nn.Linear(backbone.dim, TURNS),
            )

    def policies(self, views: Policy) -> Sequence[tuple[int, Policy]]:
        if views.of_characters:
            return (1, views), (TURNS, views)
        whole = Identity.beside(views).crop
        shifted = replace(whole, shift=SHIFT, shift_probability=1.0)
        light = PhotoPolicy(shifted, RandomJitter(0.4, 0.4, 0.4, 0.0, probability=1.0))
        return (1, AutoAug(whole)), (TURNS, light)

    def loss(self, batch: Batch) -> Loss:
        settings, N = self.settings, self.settings.N
        tasks = batch.views.view(-1, N, *batch.views.shape[1:])  # (T, N, V, c, h, w)
        turned = [tasks[:, :, 1 + turn].rot90(turn, (-2, -1)) for turn in range(TURNS)]
        support = mixed(tasks[:, :, 0], self._support_share(batch.generator), batch.generator)
        queries = torch.stack(turned, 2).flatten(1, 2)  # (T, 4N, c, h, w)
        queries = mixed(queries, self._query_share(batch.generator), batch.generator)
        prototypes, asked = self._embedded(support), self._embedded(queries)
        with torch.autocast(asked.device.type, enabled=False):
            similar = prototype_similarity("euclidean", asked, prototypes) / asked.shape[2]
            classes = torch.arange(N, device=asked.device).repeat_interleave(TURNS)
            value = _mean_cross_entropy(self.scale * similar, classes)
            if settings.rotation_weight:
                told = self.turn_of(asked.flatten(0, 1)).view(*asked.shape[:2], TURNS)
                turns = torch.arange(TURNS, device=asked.device).repeat(N)
                value = value + settings.rotation_weight * _mean_cross_entropy(told, turns)
        return Loss(value)

    def _embedded(self, images: Tensor) -> Tensor:
        """φ of images (T, n, ...), in full precision whatever the backbone's."""
        embeddings = self.backbone(images.flatten(0, 1)).to(images.dtype)
        return embeddings.view(*images.shape[:2], -1)

    def _support_share(self, generator: torch.Generator) -> float:
        a = self.settings.support_mix
        return float(beta_draws((), a, a, generator)) + 0.5 if a else 1.0

    def _query_share(self, generator: torch.Generator) -> float:
        a = self.settings.query_mix
        share = float(beta_draws((), a, a, generator)) if a else 1.0
        return max(share, 1 - share)


def mixed(images: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Of each task, (T, n, ...), every image with another of its own, the same places in all."""
    order = torch.randperm(images.shape[1], generator=generator).to(images.device)
    return share * images + (1 - share) * images[:, order]


def _mean_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Of logits (T, n, N) and labels (n,) that all tasks share."""
    return F.cross_entropy(logits.flatten(0, 1), labels.repeat(len(logits)))
