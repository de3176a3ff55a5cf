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
    """Ridge regression onto one-hot labels in closed form: (T, n, n), (T, m, n) to (T, m, N)."""
    support, cross = _of_unit_scale(support, cross)
    labels = _one_hot(support, shot).expand(len(support), -1, -1)
    return cross @ ridge_coefficients(support, labels, regularisation)


def ridge_coefficients(
    gram: Tensor, labels: Tensor, regularisation: float, balance: Tensor | None = None
) -> Tensor:
    """α (T, n, N) of W = Xᵀ α = argmin |D^½ (X W - Y)|² + λ|W|², from X Xᵀ (T, n, n) and Y.

    α = (X Xᵀ + λ D⁻¹)⁻¹ Y; D, the weight of each instance (T, n), is 1 where not given.
    """
    identity = torch.eye(gram.shape[1]).to(gram)
    penalty = identity if balance is None else identity / balance[:, None]
    return torch.cholesky_solve(labels, torch.linalg.cholesky(gram + regularisation * penalty))


def svm_logits(support: Tensor, cross: Tensor, shot: int, regularisation: float) -> Tensor:
    """A linear multi-class SVM, C = 1 / λ: (T, n, n), (T, m, n) to (T, m, N)."""
    support, cross = _of_unit_scale(support, cross)
    labels = _one_hot(support, shot).expand(len(support), -1, -1)
    return cross @ svm_coefficients(support, labels, 1 / regularisation)


def svm_coefficients(gram: Tensor, labels: Tensor, cost: float | Tensor) -> Tensor:
    """α (T, n, N) of W = Xᵀ α, a linear SVM (Crammer and Singer 2001) without intercept.

    Its dual, min ½ tr(αᵀ K α) - tr(Yᵀ α) with CY - α in a simplex of mass C for each instance, is
    solved by accelerated projected gradient (Beck and Teboulle 2009). Further such steps, which
    no longer move the solution, carry its gradient. C is one for all or (T, n, 1).
    """
    # no eigenvalue of K exceeds its largest absolute row sum
    rate = 1 / gram.detach().abs().sum(2).amax(1).clamp_min(_TINY)[:, None, None]
    most = cost * labels

    def descend(alpha: Tensor, steps: int) -> Tensor:
        ahead = alpha
        for count in range(steps):
            moved = ahead - rate * (gram @ ahead - labels)
            previous = alpha
            alpha = most - project_to_simplex(most - moved, cost)
            ahead = alpha + count / (count + 3) * (alpha - previous)
        return alpha

    with torch.no_grad():
        solution = descend(torch.zeros_like(labels), _SEARCH_STEPS)
    return descend(solution, _LEARNT_STEPS)


def project_to_simplex(points: Tensor, mass: float | Tensor) -> Tensor:
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
