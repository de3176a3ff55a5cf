"""Muon (Jordan et al. 2024): a weight matrix moves by its momentum with all singular values near 1,
so that no direction waits for the others; biases and the like move by Adam.

torch's own takes plain matrices alone, no kernels of convolutions, and iterates on the matrix
itself, in bfloat16. Here the iteration runs on the Gram matrix of the smaller side, as every
iterate is a polynomial of it times the first: less arithmetic (`benchmarks/muon.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import torch
from torch import Tensor

MOMENTUM = 0.95
RATE = 5.0  # of a matrix, as a multiple of the learning rate, which is Adam's
STEPS = 5
QUINTIC = (3.4445, -4.7750, 2.0315)  # a x + b x³ + c x⁵, steep at 0 and about 1 further on
_TINY = 1e-14


class Muon(torch.optim.Adam):
    """Adam, but for parameters of two dimensions or more."""

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.ndim > 1 and weight.grad is not None:
                    self._move(weight, group["lr"])
                    weight.grad = None  # Adam passes it over
        loss: float | None = super().step(closure)
        return loss

    def _move(self, weight: Tensor, lr: float) -> None:
        state: dict[str, Any] = self.state[weight]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(weight)
            state["step"] = torch.zeros(())  # which Adam looks for when a state is loaded
        momentum = state["momentum"].mul_(MOMENTUM).add_(weight.grad)
        ahead = momentum.mul(MOMENTUM).add_(weight.grad)  # Nesterov's
        matrix = ahead.movedim(1, -1).flatten(1)  # as it lies in memory where channels are last
        rows, columns = matrix.shape
        direction = orthogonal(matrix) * max(1.0, rows / columns) ** 0.5
        kernel = weight.movedim(1, -1).shape
        weight.add_(direction.view(kernel).movedim(-1, 1), alpha=-RATE * lr)


def orthogonal(matrix: Tensor) -> Tensor:
    """U Vᵀ of U S Vᵀ, nearly: five steps of a Newton-Schulz iteration.

    >>> orthogonal(torch.diag(torch.tensor([4.0, 1.0, 0.5]))).diag().round(decimals=1)
    tensor([0.7000, 0.7000, 0.7000])
    """
    a, b, c = QUINTIC
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    gram = wide @ wide.T
    square = gram.diagonal().sum().clamp_min(_TINY)
    gram = gram / square
    identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    product = identity
    for _ in range(STEPS):
        factor = a * identity + b * gram + c * gram @ gram
        product = factor @ product
        gram = factor @ gram @ factor
    result = product @ wide / square.sqrt()
    return result if wide is matrix else result.T
