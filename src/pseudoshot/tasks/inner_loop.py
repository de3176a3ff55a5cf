"""The inner loop of MAML (Finn et al. 2017): a network adapted to the support of many tasks at
once, each with weights of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeAlias

import torch
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
    by_batch: bool = True,
    at_once: int | None = None,
    own: Weights | None = None,
) -> Tensor:
    """Of tasks with support (T, n, ...) and labels (T, n), or (n,) where all have the same, the
    scores of their queries (T, m, ...) after `steps` of gradient descent on the support: (T, m, N).

    θ_{j+1} = θ_j - α ∇CE(S; θ_j), the mean cross entropy. BatchNorm goes by the statistics of what
    it is given, support or query, or else (`by_batch`) by the running ones; nothing is dropped.
    Gradients flow through the steps, or with `first_order` past them. At most `at_once` tasks are
    held at a time. Weights that each task begins with in place of the network's are its `own`,
    (T, ...) each.
    """

    def scores(weights: Weights, images: Tensor) -> Tensor:
        logits: Tensor = functional_call(network, dict(weights), (images,))
        return logits

    def of_task(support: Tensor, labels: Tensor, query: Tensor, *first: Tensor) -> Tensor:
        def cost(weights: Weights) -> Tensor:
            return F.cross_entropy(scores(weights, support), labels)

        weights = {**start, **dict(zip(names, first, strict=True))}
        return scores(descend(cost, weights, steps, lr, first_order), query)

    start, names = dict(network.named_parameters()), list(own or {})
    tasks = support, labels.expand(support.shape[:2]), query, *(own or {}).values()
    with batch_statistics(network) if by_batch else nullcontext():
        return each_task(of_task, tasks, at_once)


def each_task(
    function: Callable[..., Tensor], tasks: Sequence[Tensor], at_once: int | None
) -> Tensor:
    """The function of every task, a row of each of the tensors, at most `at_once` at a time.

    One at a time they go without vmap, which takes half as long again on a CPU: 3.3 s in place of
    2.3 for the loss and gradient of eight tasks of Conv4, 0.95 in place of 0.61 to first order.
    """
    if at_once != 1:
        found: Tensor = vmap(function, chunk_size=at_once)(*tasks)
        return found
    rows = (map(channels_last, row) for row in zip(*tasks, strict=True))
    return torch.stack([function(*row) for row in rows])


def channels_last(images: Tensor) -> Tensor:
    """Images (n, c, h, w) in the layout of the network's weights; what is no image, as it is.

    Weights say their layout themselves, but those of one channel are the same in every layout, and
    what a step makes of them says another: all maps would then be turned round on the way.
    """
    if images.ndim != 4:
        return images
    return torch.empty_like(images, memory_format=torch.channels_last).copy_(images)


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
    """BatchNorm by the statistics of what it is given, which leave no trace in the running ones;
    nothing is dropped."""
    before = [(part, part.training) for part in network.modules()]
    norms = [part for part, _ in before if isinstance(part, nn.BatchNorm2d)]
    tracked = [norm.track_running_stats for norm in norms]
    network.eval()
    for norm in norms:
        norm.training, norm.track_running_stats = True, False
    try:
        yield
    finally:
        for part, training in before:
            part.training = training
        for norm, was_tracked in zip(norms, tracked, strict=True):
            norm.track_running_stats = was_tracked
