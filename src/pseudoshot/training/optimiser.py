"""The paper's two optimisers, and the learning rate of each step."""

from __future__ import annotations

import math
from typing import Any

import torch

from pseudoshot.training.recipes import OptimiserName
from pseudoshot.training.settings import RunSettings


def build_optimiser(
    name: OptimiserName, groups: list[dict[str, Any]], lr: float
) -> torch.optim.Optimizer:
    """Adam without weight decay; SGD with Nesterov momentum 0.9 and weight decay 5e-4."""
    if name == "adam":
        return torch.optim.Adam(groups, lr=lr)
    return torch.optim.SGD(groups, lr=lr, momentum=0.9, nesterov=True, weight_decay=5e-4)


def learning_rate(settings: RunSettings, step: int, steps_per_epoch: int) -> float:
    """A cosine from lr to 0, in steps of an epoch as the paper's released code, or smoothly.

    Over the first `warm_up` steps it is also held below a straight rise to lr.
    """
    since = step // steps_per_epoch * steps_per_epoch if settings.annealing == "epoch" else step
    progress = since / (settings.epochs * steps_per_epoch)
    rising = min(1.0, (step + 1) / settings.warm_up) if settings.warm_up else 1.0
    return settings.lr * rising * 0.5 * (1 + math.cos(math.pi * progress))
