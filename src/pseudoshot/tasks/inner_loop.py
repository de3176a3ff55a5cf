"""The inner loop of MAML (Finn et al. 2017): a network adapted to the support of many tasks at
once, each with weights of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

Weights: TypeAlias = Mapping[str, Tensor]


def adapted_logits(
    network: nn.Module,
    support: Tensor,
    labels: Tensor,
    query: Tensor,
    *,
    steps: int,
    lr: float,
    first_order: bool = False,
    at_once: int | None = None,
) -> Tensor:
    """Of tasks with support (T, n, ...) of the same labels (n,), the scores of their queries
    (T, m, ...) after `steps` of gradient descent on the support: (T, m, N).

    θ_{j+1} = θ_j - α ∇CE(S; θ_j), the mean cross entropy; BatchNorm by the statistics of what it is
    given, support or query. Gradients flow through the steps, or with `first_order` past them. At
    most `at_once` tasks are held at a time.
    """

    def scores(weights: Weights, images: Tensor) -> Tensor:
        logits: Tensor = functional_call(network, dict(weights), (images,))
        return logits

    def of_task(support: Tensor, query: Tensor) -> Tensor:
        def cost(weights: Weights) -> Tensor:
            return F.cross_entropy(scores(weights, support), labels)

        return scores(descend(cost, start, steps, lr, first_order), query)

    start = dict(network.named_parameters())
    with batch_statistics(network):
        logits: Tensor = vmap(of_task, chunk_size=at_once)(support, query)
    return logits


def descend(
    cost: Callable[[Weights], Tensor], weights: Weights, steps: int, lr: float, first_order: bool
) -> Weights:
    """Plain gradient descent.

    >>> import torch
    >>> found = descend(lambda w: w["x"] ** 2, {"x": torch.tensor(1.0)}, 2, 0.25, False)
    >>> found["x"]
    tensor(0.2500)
    """
    for _ in range(steps):
        gradients = grad(cost)(weights)
        if first_order:
            gradients = {name: gradient.detach() for name, gradient in gradients.items()}
        weights = {name: weight - lr * gradients[name] for name, weight in weights.items()}
    return weights


@contextmanager
def batch_statistics(network: nn.Module) -> Iterator[None]:
    """BatchNorm by the statistics of what it is given, which leave no trace in the running ones."""
    norms = [part for part in network.modules() if isinstance(part, nn.BatchNorm2d)]
    before = [(norm.training, norm.track_running_stats) for norm in norms]
    for norm in norms:
        norm.training, norm.track_running_stats = True, False
    try:
        yield
    finally:
        for norm, (training, tracked) in zip(norms, before, strict=True):
            norm.training, norm.track_running_stats = training, tracked
