"""What every classifier is: fitted to the examples of many tasks at once, it scores their queries.

One user's examples are a batch of one task. Inductive classifiers look at the support alone; a
transductive one also at the queries together, which a user with one image at a time does not have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from pseudoshot.backbones import Backbone
from pseudoshot.heads import Head
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.registry import PartSettings

Setting = Literal["inductive", "transductive"]
Takes = Literal["embeddings", "images"]

TINY = 1e-12  # a squared length of zero has no direction


@dataclass(frozen=True)
class Support:
    """The labelled examples of T tasks; every class has one or more, not all the same number.

    Of a classifier that takes images, these stand in place of embeddings, (T, n, c, h, w).

    >>> Support(torch.eye(3)[None], torch.tensor([[0, 1, 1]]), way=2).balance
    tensor([[1.5000, 0.7500, 0.7500]])
    """

    embeddings: Tensor  # (T, n, d)
    labels: Tensor  # (T, n), from 0 to way - 1
    way: int

    @classmethod
    def balanced(cls, embeddings: Tensor) -> Self:
        """Of tasks with as many examples of every class, (T, N, K, ...)."""
        T, N, K = embeddings.shape[:3]
        labels = torch.arange(N, device=embeddings.device).repeat_interleave(K)
        return cls(embeddings.flatten(1, 2), labels.expand(T, -1), N)

    @property
    def one_hot(self) -> Tensor:
        """(T, n, N)."""
        return F.one_hot(self.labels, self.way).to(self.embeddings)

    @property
    def balance(self) -> Tensor:
        """The weight of each example that gives classes equal weight, 1 on average: (T, n)."""
        counts = self.one_hot.sum(1)  # (T, N)
        return self.labels.shape[1] / self.way / counts.gather(1, self.labels)

    @property
    def means(self) -> Tensor:
        """The prototype of every class, (T, N, d)."""
        members = self.one_hot
        return members.mT @ self.embeddings / members.sum(1)[..., None]

    @property
    def mean_square(self) -> Tensor:
        """The mean squared length of the examples, (T, 1, 1); never 0."""
        return self.embeddings.square().sum(2).mean(1).clamp_min(TINY)[:, None, None]


class Fitted(ABC):
    """What is known of each of T tasks once its support was seen."""

    @abstractmethod
    def logits(self, queries: Tensor) -> Tensor:
        """The score of every class for every query: (T, M, d), or images, to (T, M, N)."""


@dataclass(frozen=True)
class Linear(Fitted):
    """Scores q wᵀ + b: whatever fitted it, two arrays are all there is to keep.

    >>> Linear(torch.eye(2)[None], torch.zeros(1, 2)).logits(torch.tensor([[[3.0, 1.0]]]))
    tensor([[[3., 1.]]])
    """

    weight: Tensor  # (T, N, d)
    bias: Tensor  # (T, N)

    def logits(self, queries: Tensor) -> Tensor:
        return queries @ self.weight.mT + self.bias[:, None]


class ClassifierSettings(PartSettings):
    """Those of a classifier that has nothing to set."""


class Classifier(ABC):
    """How the queries of a task are told apart by its support."""

    Settings: ClassVar[type[ClassifierSettings]] = ClassifierSettings
    setting: Setting = "inductive"
    takes: ClassVar[Takes] = "embeddings"  # images: those that the network takes, normalised
    saveable: ClassVar[bool] = True  # what is fitted is Linear
    needs_head: ClassVar[bool] = False
    plain_reading: ClassVar[bool] = False  # True: it goes on from the network, however it is read
    called: ClassVar[str]  # in a sentence
    rule: ClassVar[str]  # what happens to an image that is to be recognised

    def __init__(
        self,
        settings: ClassifierSettings,
        similarity: Similarity = "sns",
        head: Head | None = None,
        network: Backbone | None = None,
    ) -> None:
        self.settings, self.similarity = settings, similarity
        self._head, self._network = head, network

    @property
    def name(self) -> str:
        return self.settings.name

    @abstractmethod
    def fit(self, support: Support) -> Fitted: ...

    def floats_a_task(self, members: int, dim: int) -> int:
        """Memory a task of N(K + Q) members needs, so that batches stay within bounds; `dim`
        numbers are what it takes of each."""
        return members * dim


class HeadClassifier(Classifier):
    """With the head that was trained beside the embedding; attention holds every pair of members.

    The head computes in the precision it was trained in, whatever that of the embeddings.
    """

    needs_head = True
    plain_reading = True
    kind_of_head: ClassVar[type] = Head
    trained_by: ClassVar[str] = "feat or tsp-head"  # methods that leave such a head

    @property
    def head(self) -> Head:
        assert self._head is not None
        return self._head

    def adapt(self, members: Tensor) -> Tensor:
        """ψ of the members of each task, (T, R, d) to (T, R, d)."""
        precision = next(self.head.parameters()).dtype
        with torch.no_grad():
            adapted: Tensor = self.head(members.to(precision))
        return adapted.to(members)

    def floats_a_task(self, members: int, dim: int) -> int:
        return self.head.attention_heads * members * (4 * dim + 2 * members)
