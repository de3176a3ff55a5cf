"""MoCo v2 (He et al. 2020): images are told by keys of a slowly following encoder, from a queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.methods.base import Batch, Loss
from pseudoshot.methods.momentum import follow, follower
from pseudoshot.methods.simclr import ContrastiveSettings, SimCLR

NOBODY = -1  # whose image a random vector of the first queue is


class MoCoSettings(ContrastiveSettings):
    usual_temperature: ClassVar[float] = 0.2
    queue: PositiveInt = Field(default=4096, le=1 << 20)
    """keys of earlier steps that an image is told from"""
    momentum: float = Field(default=0.99, ge=0, le=1)
    """share of its weights that the encoder of the keys keeps in each step"""


class MoCo(SimCLR):
    """MoCo v2: views of an image are told, by its key, from the keys of earlier images.

    The last view of an image goes through an encoder that follows the trained one, and is the key;
    the others are queries. Cross entropy of a query's own key among it and the queue, cosines over
    the temperature. Keys of the query's own image are masked in the queue, which would hold them
    where it is longer than an epoch. BatchNorm's statistics are over the whole episode, in several
    processes by --sync-bn: there is nothing to shuffle. The momentum is that of small sets; so is a
    queue of 4,096, a tenth of their images, where ImageNet's is 65,536. The optimiser is the run's,
    where the authors take SGD.
    """

    Settings = MoCoSettings
    needs_sync_bn = True
    settings: MoCoSettings
    queue: Tensor
    owners: Tensor
    place: Tensor

    def __init__(self, backbone: Backbone, settings: MoCoSettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.key_encoder = follower(nn.Sequential(backbone, self.head))
        keys = F.normalize(torch.randn(settings.queue, settings.projection))
        self.register_buffer("queue", keys)
        self.register_buffer("owners", torch.full((settings.queue,), NOBODY))
        self.register_buffer("place", torch.zeros((), dtype=torch.long))  # of the oldest key
        self._fresh = keys[:0], self.owners[:0]

    @property
    def encoders(self) -> Sequence[nn.Module]:
        return self.backbone, self.key_encoder

    def before_step(self) -> None:
        encoder = nn.Sequential(self.backbone, self.head)
        follow(encoder, self.key_encoder, self.settings.momentum)

    def loss(self, batch: Batch) -> Loss:
        queries, keys = batch.views[:, :-1], batch.views[:, -1]
        projections = batch.join(self.head(self.backbone(queries.flatten(0, 1))).to(queries.dtype))
        with torch.no_grad():
            keys = batch.join(self.key_encoder(keys).to(queries.dtype))
        with torch.autocast(projections.device.type, enabled=False):
            q, k = F.normalize(projections, dim=1), F.normalize(keys, dim=1)
            each = len(q) // len(k)
            self._fresh = k, batch.classes.to(k.device)
            own = self._fresh[1].repeat_interleave(each)[:, None] == self.owners
            positive = (q * k.repeat_interleave(each, 0)).sum(1, keepdim=True)
            negatives = self.negatives(q @ self.queue.T, own, batch.generator)
            logits = torch.cat((positive, negatives), 1) / self.settings.resolved_temperature
        return Loss(F.cross_entropy(logits, logits.new_zeros(len(q), dtype=torch.long)))

    def negatives(self, cosines: Tensor, own: Tensor, generator: torch.Generator) -> Tensor:
        """What queries are told from, of their cosines with the queue, (CQ, queue); those with
        `own` images are masked."""
        return cosines.masked_fill(own, -torch.inf)

    def after_step(self) -> None:
        keys, owners = self._fresh
        size = len(self.queue)
        places = (self.place + torch.arange(len(keys), device=keys.device)) % size
        places, keys, owners = places[-size:], keys[-size:], owners[-size:]
        self.queue[places], self.owners[places] = keys.to(self.queue), owners
        self.place = (self.place + len(self._fresh[0])) % size
