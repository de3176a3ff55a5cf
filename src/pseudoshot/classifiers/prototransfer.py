"""ProtoTransfer (Medina et al. 2020): a linear layer that begins at the prototypes, tuned."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveFloat
from torch import Tensor

from pseudoshot.classifiers.base import Classifier, ClassifierSettings, Linear, Support
from pseudoshot.classifiers.prototype import nearest_mean


class ProtoTransferSettings(ClassifierSettings):
    name: str = "prototransfer"
    """which classifier"""
    epochs: int = Field(default=15, ge=0, le=10_000)
    """passes over the examples"""
    lr: PositiveFloat = Field(default=1e-3, le=1e3)
    """Adam's learning rate"""


class ProtoTransfer(Classifier):
    """A linear layer from the prototypes, tuned on the support by Adam; the network is frozen.

    It begins as the nearest mean does (under the Euclidean distance W = 2p and b = -|p|²), and
    takes a step by the cross entropy of as many examples as there are classes at a time: of each
    class the one nearest its mean, then the next, and so on, in whatever order they are given. The
    tasks of a batch are tuned side by side, none moves another.
    """

    Settings = ProtoTransferSettings
    settings: ProtoTransferSettings
    called = "a linear layer tuned from the nearest mean"
    rule = (
        "A linear layer that begins at the examples' averages is tuned on the examples, and every "
        "other image goes to the class it scores highest for."
    )

    def fit(self, support: Support) -> Linear:
        start = nearest_mean(self.similarity, support.means)
        weight, bias = start.weight.clone(), start.bias.clone()
        adam = torch.optim.Adam([weight, bias], lr=self.settings.lr)
        features, labels = _in_turn(support)
        batches = torch.split(features, support.way, 1), torch.split(labels, support.way, 1)
        for _ in range(self.settings.epochs):
            for some, theirs in zip(*batches, strict=True):
                probabilities = Linear(weight, bias).logits(some).softmax(2)
                wrong = (probabilities - F.one_hot(theirs, support.way)) / some.shape[1]
                # the gradients of the cross entropy: nothing is asked of autograd, which may be off
                weight.grad, bias.grad = wrong.mT @ some, wrong.sum(1)
                adam.step()
        weight.grad = bias.grad = None
        return Linear(weight, bias)


def _in_turn(support: Support) -> tuple[Tensor, Tensor]:
    """The examples so that the nearest of every class to its mean come before the second."""
    labels, features = support.labels, support.embeddings
    own = support.means.gather(1, labels[..., None].expand_as(features))
    order = (features - own).square().sum(2).argsort(1)
    sorted_labels = labels.gather(1, order)
    so_far = F.one_hot(sorted_labels, support.way).cumsum(1)  # (T, n, N)
    rank = so_far.gather(2, sorted_labels[..., None])[..., 0]
    order = order.gather(1, (rank * support.way + sorted_labels).argsort(1))
    return features.gather(1, order[..., None].expand_as(features)), labels.gather(1, order)
