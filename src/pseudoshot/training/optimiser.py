"""The paper's two optimisers and its cosine annealing."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import nn

from pseudoshot.training.settings import OptimiserName


def build_optimiser(
    name: OptimiserName, parameters: Iterable[nn.Parameter], lr: float
) -> torch.optim.Optimizer:
    """Adam without weight decay; SGD with Nesterov momentum 0.9 and weight decay 5e-4."""
    if name == "adam":
        return torch.optim.Adam(parameters, lr=lr)
    return torch.optim.SGD(parameters, lr=lr, momentum=0.9, nesterov=True, weight_decay=5e-4)


def cosine_annealed(lr: float, step: int, steps: int) -> float:
    """From lr at step 0 to 0 at the end.

    >>> cosine_annealed(0.002, 50, 100)
    0.001
    """
    return lr * 0.5 * (1 + math.cos(math.pi * step / steps))
