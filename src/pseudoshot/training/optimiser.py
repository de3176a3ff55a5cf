"""The paper's two optimisers and its cosine annealing."""

from __future__ import annotations

import math
from typing import Any

import torch

from pseudoshot.training.settings import OptimiserName


def build_optimiser(
    name: OptimiserName, groups: list[dict[str, Any]], lr: float
) -> torch.optim.Optimizer:
    """Adam without weight decay; SGD with Nesterov momentum 0.9 and weight decay 5e-4."""
    if name == "adam":
        return torch.optim.Adam(groups, lr=lr)
    return torch.optim.SGD(groups, lr=lr, momentum=0.9, nesterov=True, weight_decay=5e-4)


def cosine_annealed(lr: float, epoch: int, epochs: int) -> float:
    """From lr in epoch 0 towards 0, once an epoch as in the paper's released code.

    >>> cosine_annealed(0.002, 50, 100)
    0.001
    """
    return lr * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
