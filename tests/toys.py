"""Three toys, each of a kind that no method or class source of the package is: what the common
suite runs over them, an author of a new one gets for free."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn
from torch.func import functional_call

from pseudoshot.backbones import Backbone
from pseudoshot.class_sources import ClassSource, Draw, Embed
from pseudoshot.methods import Batch, Loss, Method
from pseudoshot.methods.momentum import follow, follower
from pseudoshot.methods.settings import ViewCountSettings
from pseudoshot.tools.registry import PartSettings
from pseudoshot.views import Policy
from pseudoshot.views.identity import Identity


class QueueSettings(ViewCountSettings):
    momentum: float = Field(default=0.9, ge=0, le=1)
    """of the encoder that follows"""


class Queue(Method):
    """A momentum encoder and a queue: the first view, unaltered, is told from keys of the past."""

    Settings = QueueSettings
    described = "nowhere"

    def __init__(self, backbone: Backbone, settings: QueueSettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.key_encoder = follower(backbone)
        self.register_buffer("queue", F.normalize(torch.randn(32, backbone.dim)))
        self.register_buffer("fresh", torch.zeros(settings.images, backbone.dim))

    def policies(self, views: Policy) -> tuple[tuple[int, Policy], ...]:
        return (1, Identity()), (self.settings.V - 1, views)

    def loss(self, batch: Batch) -> Loss:
        embeddings = batch.embed(self.backbone).unflatten(0, batch.views.shape[:2])  # (C, V, d)
        with torch.no_grad():
            keys = batch.embed(self.key_encoder).unflatten(0, batch.views.shape[:2])[:, 0]
        queries = F.normalize(embeddings.mean(1), dim=1)
        self.fresh = F.normalize(keys, dim=1)
        logits = queries @ torch.cat((self.fresh, self.queue.to(keys))).T / 0.2
        return Loss(F.cross_entropy(logits, torch.arange(len(keys))))

    def after_step(self) -> None:
        follow(self.backbone, self.key_encoder, self.settings.momentum)
        self.queue = torch.cat((self.fresh, self.queue))[:32]


class Halves(ClassSource):
    """Clusters built anew at every epoch: two partitions of four groups of the embeddings."""

    looks = True

    def __init__(self, settings: PartSettings, count: int, labels: Any, generator: Any) -> None:
        super().__init__(settings, count, labels, generator)
        self.groups = torch.zeros(2, count, dtype=torch.long)

    @property
    def classes(self) -> int:
        return 8

    def steps_per_epoch(self, C: int, V: int) -> int:
        return max(1, self.count // (C * V))

    def begin_epoch(self, embed: Embed, C: int, V: int) -> None:
        directions = torch.randn(2, embed().shape[1], generator=self.generator)
        order = (embed() @ directions.T).T.argsort(1).argsort(1)  # (2, n): place along a direction
        self.groups = order * 4 // self.count

    def draw(self, C: int, V: int) -> Draw:
        partition = torch.randint(2, (1,), generator=self.generator)
        chosen = torch.randperm(4, generator=self.generator)[:C]
        likely = (self.groups[partition] == chosen[:, None]).double()
        rows = likely.multinomial(V, generator=self.generator)
        return Draw(rows, 4 * partition + chosen, partition.expand(C))

    def state_dict(self) -> dict[str, Any]:
        return {"groups": self.groups}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.groups = state["groups"]


class SecondOrder(Method):
    """An inner step on one view, the loss on the others: gradients of gradients of the backbone."""

    Settings = ViewCountSettings
    described = "nowhere"
    second_order = True

    def __init__(self, backbone: Backbone, settings: ViewCountSettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.linear = nn.Linear(backbone.dim, settings.images)

    def loss(self, batch: Batch) -> Loss:
        labels = torch.arange(len(batch.views))
        names, weights = zip(*self.backbone.named_parameters(), strict=True)
        inner = F.cross_entropy(self.linear(self.backbone(batch.views[:, 0])), labels)
        gradients = torch.autograd.grad(inner, weights, create_graph=True)
        adapted = [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)]
        others = batch.views[:, 1:].flatten(0, 1)
        fast = functional_call(self.backbone, dict(zip(names, adapted, strict=True)), others)
        repeated = labels.repeat_interleave(batch.views.shape[1] - 1)
        return Loss(F.cross_entropy(self.linear(fast), repeated), scalars={"inner": inner.item()})
