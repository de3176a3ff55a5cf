"""Momentum encoders: a copy of a module that follows it slowly and is never trained itself."""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def follower(module: M) -> M:
    """A copy without gradients, to be kept as an attribute of a method: its state is saved."""
    return copy.deepcopy(module).requires_grad_(False)


@torch.no_grad()
def follow(ahead: nn.Module, behind: nn.Module, momentum: float) -> None:
    """θ' ← m θ' + (1 - m) θ for all parameters, in one pass.

    >>> ahead, behind = nn.Linear(1, 1), nn.Linear(1, 1)
    >>> follow(ahead, behind, momentum=0.0)
    >>> torch.equal(ahead.weight, behind.weight)
    True
    """
    torch._foreach_lerp_(list(behind.parameters()), list(ahead.parameters()), weight=1 - momentum)
