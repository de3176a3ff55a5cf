"""Draws of the beta distribution."""

from __future__ import annotations

import torch
from scipy.special import betaincinv
from torch import Tensor


def beta_draws(shape: tuple[int, ...], a: float, b: float, generator: torch.Generator) -> Tensor:
    """Beta(a, b) in double precision: one uniform draw each, through the inverse of its
    distribution function.

    >>> beta_draws((2,), 1.0, 1.0, torch.Generator().manual_seed(0)).shape
    torch.Size([2])
    """
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
    return torch.as_tensor(betaincinv(a, b, uniform.numpy()))


def symmetric_beta_draws(shape: tuple[int, ...], whole: int, generator: torch.Generator) -> Tensor:
    """Beta(a, a) of a whole number a, many at a time: the median of 2a - 1 uniform draws, a twelfth
    of the time at a = 2.

    >>> symmetric_beta_draws((2,), 2, torch.Generator().manual_seed(0)).shape
    torch.Size([2])
    """
    return torch.rand(*shape, 2 * whole - 1, generator=generator).median(-1).values
