"""Hard Mixed Supports: for each query, further classes between it and its nearest strangers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor

from pseudoshot.backbones import Backbone
from pseudoshot.methods.base import EpisodicMethod
from pseudoshot.methods.settings import TaskSettings
from pseudoshot.tasks.gram import gram_matrix, pairs_of, square_norms, task_loss
from pseudoshot.tasks.similarity import similarity_from_products
from pseudoshot.tasks.tasks import Tasks


class MixSettings(TaskSettings):
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
        by_task = self.settings.neighbours_from == "task"
        gram = gram_matrix(embeddings)
        return mixed_loss(gram, tasks, self.settings, int(self.steps), generator, by_task)


def mixed_loss(
    gram: Tensor,
    tasks: Tasks,
    settings: MixSettings,
    steps: int,
    generator: torch.Generator,
    by_task: bool = True,
) -> Tensor:
    """The loss with every query's own mixes as further classes; the plain loss before `delay`.

    Neighbours come from the query's task, or from the whole episode, whose rows are then mixed once
    each, whichever task asks.
    """
    similarity, temperature = settings.similarity, settings.resolved_temperature
    mixes = None
    if steps >= settings.delay:
        everyone = tasks.members.shape[1] == gram.shape[-1]
        if gram.dim() == 2 and (everyone or not by_task):
            products = Products.of_rows(gram, settings.V)
        else:
            products = Products.of_tasks(gram, tasks)
        mixes = mix_logits(products, settings, generator) / temperature
    return task_loss(gram, tasks, similarity, temperature, mixes)


@dataclass(frozen=True)
class Products:
    """All that mixing n queries with M candidates needs to know of their embeddings."""

    qx: Tensor  # (..., n, M): <q, x>
    qq: Tensor  # (..., n, 1): |q|²
    xx: Tensor  # (..., 1, M): |x|²
    strangers: Tensor  # (n, M): whether x is of another pseudo-class than q

    @classmethod
    def of_rows(cls, gram: Tensor, views: int) -> Products:
        """Every row of a shared Gram matrix with every other."""
        squares = gram.diagonal()
        classes = torch.arange(len(gram), device=gram.device) // views
        return cls(gram, squares[:, None], squares[None, :], classes[:, None] != classes)

    @classmethod
    def of_tasks(cls, gram: Tensor, tasks: Tasks) -> Products:
        """The queries of each task with its members: (T, NQ, NV)."""
        query, members = tasks.query.flatten(1), tasks.members
        positions = tasks.by_position()
        N, V = positions.support.shape[1], members.shape[1] // positions.support.shape[1]
        classes = torch.arange(N, device=gram.device).repeat_interleave(V)
        strangers = classes[positions.query[0].flatten(), None] != classes
        if gram.dim() == 2:
            qx = pairs_of(gram, query, members)
        else:
            qx = gram.index_select(1, positions.query[0].flatten())
        qq, xx = square_norms(gram, query), square_norms(gram, members)
        return cls(qx, qq[..., None], xx[:, None], strangers)


def mix_logits(products: Products, settings: MixSettings, generator: torch.Generator) -> Tensor:
    """Sim(q, λq + (1-λ)x) for the k nearest x of other classes, from products: (..., n, k)."""
    qq, similarity = products.qq, settings.similarity
    nearness = similarity_from_products(
        similarity, products.qx.detach(), qq.detach(), products.xx.detach()
    ).masked_fill(~products.strangers, -torch.inf)
    k = min(settings.neighbours, nearness.shape[-1] - settings.V)  # a task may hold fewer
    neighbours = nearness.topk(k, -1).indices  # (..., n, k)
    qx = products.qx.gather(-1, neighbours)
    xx = products.xx.expand_as(products.qx).gather(-1, neighbours)
    share = torch.rand(neighbours.shape, generator=generator).to(qx) * settings.strength
    rest = 1 - share
    qm = share * qq + rest * qx
    mm = share.square() * qq + 2 * share * rest * qx + rest.square() * xx
    return similarity_from_products(similarity, qm, qq, mm)
