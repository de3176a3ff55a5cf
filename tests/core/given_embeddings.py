"""Methods on embeddings that are given, for tests against plain loops."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pseudoshot.backbones.base import Backbone
from pseudoshot.methods import METHODS, Batch, Method
from pseudoshot.tasks.tasks import Tasks

# images, way, shot, query, tasks
SHAPES = [(4, None, 1, 2, 3), (5, 3, 1, 2, 4), (5, 2, 2, 1, 3), (4, None, 2, 2, 2), (3, 3, 1, 1, 5)]
DIM = 6


class Table(Backbone):
    """A backbone that is never asked: objectives are given embeddings."""

    dim = DIM

    def __init__(self) -> None:
        super().__init__(1, 1)


def build(name: str, shape: tuple[Any, ...], **options: Any) -> Method:
    torch.manual_seed(0)
    images, way, shot, query, tasks = shape
    method = METHODS[name]
    chosen = method.Settings(images=images, way=way, shot=shot, query=query, tasks=tasks, **options)
    return method(Table(), chosen).double().eval()


def drawn(method: Method, seed: int = 1) -> tuple[Tensor, Tasks]:
    generator = torch.Generator().manual_seed(seed)
    rows = method.settings.images * method.settings.V
    z = torch.rand(rows, DIM, generator=generator, dtype=torch.float64) + 0.1
    batch = Batch(torch.empty(0), generator, torch.arange(method.settings.images))
    return z.requires_grad_(), method.draw_tasks(batch)


def assert_equal(fast: Tensor, slow: Tensor, z: Tensor, method: Method) -> None:
    torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-11)
    learnt = [z, *(p for p in method.parameters())]
    for ours, theirs in zip(
        torch.autograd.grad(fast, learnt, allow_unused=True),
        torch.autograd.grad(slow, learnt, allow_unused=True),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-10)


def generator(seed: int = 7) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
