"""Convex classifiers of a support set, for many tasks at once, from Gram matrices alone.

A support holds N classes of K instances, class by class. `regularisation` is in units of the
support's mean squared norm, so that embeddings of any scale are treated alike.
"""

from __future__ import annotations

import torch
from torch import Tensor

_SEARCH_STEPS = 200  # towards the SVM's solution, without gradient
_LEARNT_STEPS = 50  # from the solution on, with gradient: it converges as the solution did
_TINY = 1e-12


def ridge_logits(support: Tensor, cross: Tensor, shot: int, regularisation: float) -> Tensor:
    """Ridge regression onto one-hot labels in closed form: (T, n, n), (T, m, n) to (T, m, N).

    Of W = argmin |X W - Y|² + λ|W|² only X Xᵀ is needed: W = Xᵀ (X Xᵀ + λ I)⁻¹ Y.
    """
    support, cross = _of_unit_scale(support, cross)
    identity = torch.eye(support.shape[1]).to(support)
    factor = torch.linalg.cholesky(support + regularisation * identity)
    return cross @ torch.cholesky_solve(
        _one_hot(support, shot).expand(len(support), -1, -1), factor
    )


def svm_logits(support: Tensor, cross: Tensor, shot: int, regularisation: float) -> Tensor:
    """A linear multi-class SVM (Crammer and Singer 2001), C = 1 / λ, no intercept.

    Its dual, min ½ tr(αᵀ K α) - tr(Yᵀ α) with CY - α in a simplex of mass C for each instance, is
    solved by accelerated projected gradient (Beck and Teboulle 2009). Further such steps, which
    no longer move the solution, carry its gradient.
    """
    support, cross = _of_unit_scale(support, cross)
    labels = _one_hot(support, shot)
    cost = 1 / regularisation
    # no eigenvalue of K exceeds its largest absolute row sum
    rate = 1 / support.detach().abs().sum(2).amax(1)[:, None, None]

    def descend(alpha: Tensor, steps: int) -> Tensor:
        ahead = alpha
        for count in range(steps):
            moved = ahead - rate * (support @ ahead - labels)
            previous = alpha
            alpha = cost * labels - project_to_simplex(cost * labels - moved, cost)
            ahead = alpha + count / (count + 3) * (alpha - previous)
        return alpha

    with torch.no_grad():
        solution = descend(torch.zeros_like(labels.expand(len(support), -1, -1)), _SEARCH_STEPS)
    return cross @ descend(solution, _LEARNT_STEPS)


def project_to_simplex(points: Tensor, mass: float) -> Tensor:
    """The nearest points with entries of at least 0 that add up to `mass`, along the last axis."""
    descending = points.sort(-1, descending=True).values
    count = torch.arange(1, points.shape[-1] + 1).to(points)
    excess = (descending.cumsum(-1) - mass) / count
    support = (descending > excess).sum(-1, keepdim=True)
    return (points - excess.gather(-1, support - 1)).clamp_min(0)


def _of_unit_scale(support: Tensor, cross: Tensor) -> tuple[Tensor, Tensor]:
    scale = support.diagonal(dim1=1, dim2=2).mean(1).clamp_min(_TINY)[:, None, None]
    return support / scale, cross / scale


def _one_hot(support: Tensor, shot: int) -> Tensor:
    way = support.shape[1] // shot
    return torch.eye(way).to(support).repeat_interleave(shot, 0)  # (n, N)
