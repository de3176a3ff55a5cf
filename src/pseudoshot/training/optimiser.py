"""The optimisers, the paper's two and Muon, and the learning rate of each step."""

from __future__ import annotations

import math
from typing import Any

import torch

from pseudoshot.settings.tree import OptimisationSettings, Optimiser
from pseudoshot.training.muon import Muon

END = 0.2  # of a training


def build_optimiser(
    name: Optimiser, groups: list[dict[str, Any]], lr: float
) -> torch.optim.Optimizer:
    """Adam and Muon without weight decay; SGD with Nesterov momentum 0.9 and weight decay 5e-4."""
    if name == "adam":
        return torch.optim.Adam(groups, lr=lr)
    if name == "muon":
        return Muon(groups, lr=lr)
    return torch.optim.SGD(groups, lr=lr, momentum=0.9, nesterov=True, weight_decay=5e-4)


def learning_rate(settings: OptimisationSettings, step: int, steps_per_epoch: int) -> float:
    """Of one step: held below a straight rise to lr over the first `warm_up` steps, and annealed.

    By a cosine from lr to 0, which moves on every `epoch` (the paper's released code) or every
    `step`; or by a straight line over the last fifth of the training, the `end`. It depends on the
    step and the epochs in all alone: a run that is trained further has, from there on, the rate of
    a training of so many epochs, which may be well above where the shorter one ended.
    """
    since = step // steps_per_epoch * steps_per_epoch if settings.annealing == "epoch" else step
    progress = since / (settings.epochs * steps_per_epoch)
    if settings.annealing == "end":
        annealed = min(1.0, (1 - progress) / END)
    else:
        annealed = 0.5 * (1 + math.cos(math.pi * progress))
    rising = min(1.0, (step + 1) / settings.warm_up) if settings.warm_up else 1.0
    return settings.lr * rising * annealed
