"""What the tests of rivals share: a small network, an episode for it, and MAML in plain loops."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from pseudoshot.backbones.base import Backbone
from pseudoshot.methods import METHODS, Batch, Method
from tests.core.reference_methods import cross_entropy

IMAGES, SIDE, DIM = 4, 3, 6


class Linear(Backbone):
    """Small enough for loops, and with weights that a gradient reaches."""

    dim = DIM

    def __init__(self) -> None:
        super().__init__(1, SIDE)
        self.layer = nn.Linear(SIDE * SIDE, DIM)

    def forward(self, images: Tensor) -> Tensor:
        embeddings: Tensor = self.layer(images.flatten(1))
        return embeddings


def build(name: str, **options: Any) -> Method:
    torch.manual_seed(0)
    method = METHODS[name]
    return method(Linear(), method.Settings(images=IMAGES, **options)).double()


def episode(method: Method, seed: int = 3) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    shape = (IMAGES, method.settings.V, 1, SIDE, SIDE)
    views = torch.rand(shape, generator=generator, dtype=torch.float64)
    return Batch(views, generator, 10 * seed + torch.arange(IMAGES))


def assert_equal(fast: Tensor, slow: Tensor, method: Method) -> None:
    torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-11)
    learnt = [p for p in method.parameters() if p.requires_grad]
    for ours, theirs in zip(
        torch.autograd.grad(fast, learnt), torch.autograd.grad(slow, learnt), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-10)


def unit(vector: Tensor) -> Tensor:
    return vector / vector.norm()


class Normed(Linear):
    """With BatchNorm, of which MAML takes the batch's own statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(1)

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(self.norm(images)).tanh()


def slow_maml(method: Method, tasks: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Task by task and step by step, on (N·K, ...) and (N·Q, ...) images of each."""
    s, terms = method.settings, []
    for support, query in tasks:
        layer, norm, linear = method.backbone.layer, method.backbone.norm, method.head.layer
        theta = [layer.weight, layer.bias, norm.weight, norm.bias, linear.weight, linear.bias]
        for step in range(s.inner_steps + 1):
            images = support if step < s.inner_steps else query
            mean, deviation = images.mean(), (images.var(correction=0) + norm.eps).sqrt()
            normed = (images - mean) / deviation * theta[2] + theta[3]
            z = (normed.flatten(1) @ theta[0].T + theta[1]).tanh()
            logits = z @ theta[4].T + theta[5]
            each = len(images) // s.way
            cost = torch.stack(
                [cross_entropy(list(row), i // each) for i, row in enumerate(logits)]
            ).mean()
            if step < s.inner_steps:
                gradients = torch.autograd.grad(cost, theta, create_graph=not s.first_order)
                theta = [w - s.inner_lr * g for w, g in zip(theta, gradients, strict=True)]
        terms.append(cost)
    return torch.stack(terms).mean()


def build_learner(name: str, **options: Any) -> Method:
    torch.manual_seed(0)
    method = METHODS[name]
    return method(Normed(), method.Settings(images=IMAGES, way=2, **options)).double()
