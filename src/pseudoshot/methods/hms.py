"""Hard Mixed Supports: for each query, further classes between it and its nearest strangers."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor

from pseudoshot.backbones import Backbone
from pseudoshot.episode import gram_matrix, own_grams, task_loss
from pseudoshot.methods.base import EpisodeSettings, EpisodicMethod
from pseudoshot.similarity import similarity_from_products
from pseudoshot.tasks import Tasks


class MixSettings(EpisodeSettings):
    """What HMS adds to an episode."""

    neighbours: PositiveInt = 10
    """k, how many of the nearest instances of other pseudo-classes are mixed with a query"""
    strength: float = Field(default=0.5, ge=0, le=1)
    """s: the query's share of a mix is drawn from U(0, s); at 0 neighbours stay unmixed"""
    delay: NonNegativeInt = 0
    """steps without mixes at the start of training"""


class HMSSettings(MixSettings):
    neighbours_from: Literal["task", "batch"] = "task"
    """where neighbours are looked for: the query's task (the paper) or the whole episode"""


class MixingMethod(EpisodicMethod):
    """A method that counts its steps, for mixes may join late."""

    steps: Tensor

    def __init__(self, backbone: Backbone, settings: MixSettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def after_step(self) -> None:
        self.steps += 1


class HMS(MixingMethod):
    """Hard Mixed Supports: mixes of a query and its nearest strangers join its task as classes.

    Algorithm 4 with Eq. 7 (neighbours) and Eq. 8 (mixes), on top of SES and SNS.
    """

    Settings = HMSSettings
    described = "section 5.1, Algorithm 4"
    settings: HMSSettings

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        gram = gram_matrix(embeddings)
        everyone = tasks.members.shape[1] == len(embeddings)
        if self.settings.neighbours_from == "task" and not everyone:
            gram, tasks = own_grams(gram, tasks), tasks.by_position()
        return mixed_loss(gram, tasks, self.settings, int(self.steps), generator)


def mixed_loss(
    gram: Tensor, tasks: Tasks, settings: MixSettings, steps: int, generator: torch.Generator
) -> Tensor:
    """The loss with every query's own mixes as further classes; the plain loss before `delay`."""
    similarity, temperature = settings.similarity, settings.resolved_temperature
    mixes = None
    if steps >= settings.delay:
        shared = gram.dim() == 2  # then each row is mixed once, whichever task asks
        queries = None if shared else tasks.query[0].flatten()
        mixes = mix_logits(gram, queries, settings, generator) / temperature
    return task_loss(gram, tasks, similarity, temperature, mixes)


def mix_logits(
    gram: Tensor, queries: Tensor | None, settings: MixSettings, generator: torch.Generator
) -> Tensor:
    """Sim(q, λq + (1-λ)x) for the k nearest x of other classes, from G alone: (..., n, k).

    `queries` are the n rows to mix, all where None. G is (..., R, R), its rows class by class.
    """
    R = gram.shape[-1]
    queries = torch.arange(R, device=gram.device) if queries is None else queries
    classes = torch.arange(R, device=gram.device) // settings.views
    strangers = classes[queries, None] != classes  # (n, R)
    squares = gram.diagonal(dim1=-2, dim2=-1)  # (..., R)
    rows = gram[..., queries, :]  # (..., n, R)
    qq = squares[..., queries][..., None]  # (..., n, 1)

    nearness = similarity_from_products(
        settings.similarity, rows.detach(), qq.detach(), squares[..., None, :].detach()
    ).masked_fill(~strangers, -torch.inf)
    k = min(settings.neighbours, R - settings.views)  # a task may hold fewer strangers than k
    neighbours = nearness.topk(k, -1).indices  # (..., n, k)
    qx = rows.gather(-1, neighbours)
    xx = squares[..., None, :].expand_as(rows).gather(-1, neighbours)
    share = torch.rand(neighbours.shape, generator=generator).to(gram) * settings.strength
    rest = 1 - share
    qm = share * qq + rest * qx
    mm = share.square() * qq + 2 * share * rest * qx + rest.square() * xx
    return similarity_from_products(settings.similarity, qm, qq, mm)
