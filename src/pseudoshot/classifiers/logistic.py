"""Multinomial logistic regression of many tasks at once."""

from __future__ import annotations

import torch
from pydantic import PositiveFloat
from torch import Tensor

from pseudoshot.classifiers.base import TINY, Classifier, ClassifierSettings, Linear, Support

_MOST_STEPS = 500
_PRECISION = 1e-8  # of the gradient; in single precision what can be had
_LOOKED_AT = 10  # steps after which it is asked whether all tasks are solved


class LogisticSettings(ClassifierSettings):
    name: str = "logistic"
    """which classifier"""
    inverse_regularisation: PositiveFloat = 1.0
    """scikit-learn's C, for examples of unit scale about their mean: larger fits them closer"""


class Logistic(Classifier):
    """Multinomial logistic regression with an L2 penalty; every class counts alike."""

    Settings = LogisticSettings
    called = "logistic regression"
    rule = "A logistic regression fitted to the examples classifies every other image."
    settings: LogisticSettings

    def fit(self, support: Support) -> Linear:
        centre = support.embeddings.mean(1, keepdim=True)
        centred = support.embeddings - centre
        scale = centred.square().sum(2).mean(1).clamp_min(TINY**2).sqrt()[:, None, None]
        inputs, basis = in_their_span(centred / scale)
        # Of two classes scikit-learn learns one weight, w₁ - w₀, and so penalises twice as much.
        penalty = (2 if support.way == 2 else 1) / self.settings.inverse_regularisation
        solution = minimise(inputs, support.one_hot, support.balance[..., None], penalty).mT
        weight = solution[..., :-1] @ basis.mT / scale  # (T, N, d)
        return Linear(weight, solution[..., -1] - (weight * centre).sum(2))

    def floats_a_task(self, members: int, dim: int) -> int:
        return members * (dim + 4 * min(members, dim))


def in_their_span(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Coordinates (T, n, r) of examples (T, n, d) and the basis (T, d, r), r the smaller of n, d.

    With fewer examples than dimensions no weight leaves their span, and no step needs to see d.
    """
    T, n, d = inputs.shape
    if n >= d:
        return inputs, torch.eye(d).to(inputs).expand(T, d, d)
    basis, triangle = torch.linalg.qr(inputs.mT)
    return triangle.mT, basis


def minimise(inputs: Tensor, labels: Tensor, weights: Tensor, penalty: float) -> Tensor:
    """(T, r + 1, N): coefficients, and the intercepts, which are not penalised.

    No Hessian exceeds H = ½ Xᵀ D X + λ I for each class (Böhning 1992). In coordinates in which H
    is the identity, gradient steps of length 1 go down; they are accelerated (Nesterov), anew in
    every task in which they last led up (O'Donoghue and Candès 2015).
    """
    T, _, r = inputs.shape
    features = torch.cat((inputs, torch.ones_like(inputs[..., :1])), 2)
    penalties = torch.full((r + 1,), penalty).to(inputs)
    penalties[-1] = 0
    bound = features.mT @ (weights * features) / 2 + penalties.diag()
    factor = torch.linalg.cholesky(bound)  # L, H = L Lᵀ
    inverse = torch.linalg.solve_triangular(factor, torch.eye(r + 1).to(factor), upper=False)
    features = features @ inverse.mT
    curvature = inverse * penalties @ inverse.mT  # of the penalty
    tolerance = max(_PRECISION, 100 * torch.finfo(inputs.dtype).eps)

    solution = ahead = inputs.new_zeros(T, r + 1, labels.shape[2])
    since_restart = inputs.new_zeros(T, 1, 1)
    for step in range(1, _MOST_STEPS + 1):
        wrong = weights * ((features @ ahead).softmax(2) - labels)
        gradient = features.mT @ wrong + curvature @ ahead
        moved = ahead - gradient
        change = moved - solution
        led_up = (gradient * change).sum((1, 2), keepdim=True) > 0
        since_restart = torch.where(led_up, 0, since_restart + 1)
        solution, ahead = moved, moved + since_restart / (since_restart + 3) * change
        if step % _LOOKED_AT == 0 and gradient.abs().amax() < tolerance:
            break
    coefficients: Tensor = inverse.mT @ solution
    return coefficients
