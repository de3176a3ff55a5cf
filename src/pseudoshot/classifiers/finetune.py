"""MAML's way of testing (Finn et al. 2017): the whole network is adapted to a task's support."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor, nn

from pseudoshot.backbones import Backbone, compiled
from pseudoshot.classifiers.base import Classifier, ClassifierSettings, Fitted, Support
from pseudoshot.classifiers.prototype import nearest_mean
from pseudoshot.heads import Head, LinearHead
from pseudoshot.tasks.inner_loop import adapted_logits, batch_statistics, each_task
from pseudoshot.tasks.similarity import Similarity

MOST_FLOATS = 1 << 24  # of maps, in tasks that are adapted side by side: 64 MB, or one task


class FinetuneSettings(ClassifierSettings):
    name: str = "finetune"
    """which classifier"""
    steps: int = Field(default=50, ge=0, le=10_000)
    """J, steps of gradient descent on a task's support"""
    lr: PositiveFloat = Field(default=0.01, le=1e6)
    """learning rate of the steps"""
    statistics: Literal["running", "batch"] = "running"
    """what BatchNorm goes by: running, those of training; batch, those of the support and of the
    queries, each together, as MAML is published: transductive"""


class Finetune(Classifier):
    """The network and a linear layer, adapted to the support by gradient descent (MAML).

    θ_{j+1} = θ_j - α ∇CE(S; θ_j), then the scores of the queries by θ_J, each task from the same
    weights. The layer begins as it was trained, where MAML trained one (of fewer classes its first
    rows), else at the prototypes, as the nearest mean does.
    """

    Settings = FinetuneSettings
    settings: FinetuneSettings
    takes = "images"
    saveable = False
    plain_reading = True
    called = "a network adapted to the examples"
    rule = (
        "The whole network is adapted to the examples by a few steps of gradient descent, and "
        "every other image goes to the class it then scores highest for."
    )

    def __init__(
        self,
        settings: FinetuneSettings,
        similarity: Similarity = "sns",
        head: Head | None = None,
        network: Backbone | None = None,
    ) -> None:
        super().__init__(settings, similarity, head, network)
        self.by_batch = settings.statistics == "batch"
        if self.by_batch:
            self.setting = "transductive"

    @property
    def network(self) -> Backbone:
        assert self._network is not None
        return self._network

    def fit(self, support: Support) -> Adapted:
        return Adapted(self, support)

    def first_layer(self, support: Support, at_once: int) -> Mapping[str, Tensor]:
        """W (T, N, d) and b (T, N) of the layer that each task begins with."""
        tasks, way = len(support.labels), support.way
        trained = self._head.layer if isinstance(self._head, LinearHead) else None
        if trained is not None and way <= trained.out_features:
            images = support.embeddings
            weight, bias = (part[:way].to(images) for part in (trained.weight, trained.bias))
            return {"weight": weight.expand(tasks, -1, -1), "bias": bias.expand(tasks, -1)}
        with batch_statistics(self.network) if self.by_batch else nullcontext():
            embeddings = each_task(self.network, (support.embeddings,), at_once)
        start = nearest_mean(self.similarity, Support(embeddings, support.labels, way).means)
        return {"weight": start.weight, "bias": start.bias}

    def floats_a_task(self, members: int, dim: int) -> int:
        return members * dim // self.network.channels * self.network.floats_a_pixel


def tasks_at_once(floats: int, device: torch.device) -> int:
    """Of so many floats each; on a CPU, side by side they take longer than one by one."""
    return 1 if device.type == "cpu" else max(1, MOST_FLOATS // floats)


@dataclass(frozen=True)
class Adapted(Fitted):
    """Nothing is kept of an adapted network but what it says of the queries."""

    classifier: Finetune
    support: Support

    def logits(self, queries: Tensor) -> Tensor:
        # what was made in inference mode has no gradient, nor do the compiled steps have one here
        with torch.inference_mode(False), torch.no_grad(), compiled.set_aside():
            device = next(self.classifier.network.parameters()).device
            tensors = (self.support.embeddings, self.support.labels, queries)
            images, labels, queries = (tensor.to(device, copy=True) for tensor in tensors)
            return self._logits(Support(images, labels, self.support.way), queries).cpu()

    def _logits(self, support: Support, queries: Tensor) -> Tensor:
        network, settings = self.classifier.network, self.classifier.settings
        images = support.embeddings
        members = images.shape[1] + queries.shape[1]
        floats = self.classifier.floats_a_task(members, images[0, 0].numel())
        at_once = tasks_at_once(floats, images.device)
        layer = self.classifier.first_layer(support, at_once)
        whole = nn.Sequential(network, nn.Linear(network.dim, support.way, device="meta"))
        return adapted_logits(
            whole,
            images,
            support.labels,
            queries,
            steps=settings.steps,
            lr=settings.lr,
            first_order=True,
            by_batch=self.classifier.by_batch,
            at_once=at_once,
            own={f"1.{name}": value for name, value in layer.items()},
        )
