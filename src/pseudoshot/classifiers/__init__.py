"""How a task's queries are classified at test: by prototypes of φ, or with φ adapted to the task.

Inductive ones look at the support alone; a transductive one also at the queries together, which a
user who classifies one image at a time does not have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import torch
from torch import Tensor

from pseudoshot.heads import Head
from pseudoshot.tasks.convex import ridge_logits, svm_logits
from pseudoshot.tasks.similarity import Similarity, prototype_similarity

Setting = Literal["inductive", "transductive"]


class Classifier(ABC):
    """Logits of queries from support (T, N, K, d) and queries (T, M, d): (T, M, N)."""

    name: ClassVar[str]
    setting: ClassVar[Setting] = "inductive"
    needs_head: ClassVar[bool] = False

    def __init__(
        self, similarity: Similarity, head: Head | None = None, regularisation: float = 1.0
    ) -> None:
        self.similarity, self.regularisation = similarity, regularisation
        self._head = head

    @property
    def head(self) -> Head:
        assert self._head is not None
        return self._head

    @abstractmethod
    def logits(self, support: Tensor, queries: Tensor) -> Tensor: ...

    def floats_a_task(self, members: int, dim: int) -> int:
        """Memory a task of N(K + Q) members needs, so that batches stay within bounds."""
        return members * dim


class Prototype(Classifier):
    """The nearest mean of the support (Algorithm 2)."""

    name = "prototype"

    def logits(self, support: Tensor, queries: Tensor) -> Tensor:
        return prototype_similarity(self.similarity, queries, support.mean(2))


class Adapted(Classifier):
    """With a head of the run's; attention holds every pair of members."""

    needs_head = True

    def floats_a_task(self, members: int, dim: int) -> int:
        heads = next(self.head.parameters()).shape[0] // dim  # of the first projection
        return max(1, heads) * members * (4 * dim + 2 * members)


class SupportAdapted(Adapted):
    """As FEAT: the head adapts the support, queries stay as they are."""

    name = "feat"

    def logits(self, support: Tensor, queries: Tensor) -> Tensor:
        adapted = self.head(support.flatten(1, 2)).view_as(support)
        return prototype_similarity(self.similarity, queries, adapted.mean(2))


class WithHead(Adapted):
    """As TSP-Head trains: the head adapts support and queries together."""

    name = "with-head"
    setting = "transductive"

    def logits(self, support: Tensor, queries: Tensor) -> Tensor:
        members = support.flatten(1, 2)
        shots = members.shape[1]
        adapted = self.head(torch.cat((members, queries), 1))
        prototypes = adapted[:, :shots].view_as(support).mean(2)
        return prototype_similarity(self.similarity, adapted[:, shots:], prototypes)


class Ridge(Classifier):
    """As MetaOptNet: ridge regression onto the support's labels."""

    name = "ridge"

    def logits(self, support: Tensor, queries: Tensor) -> Tensor:
        members = support.flatten(1, 2)
        return self.solve(members @ members.mT, queries @ members.mT, support.shape[2])

    def solve(self, support: Tensor, cross: Tensor, shot: int) -> Tensor:
        return ridge_logits(support, cross, shot, self.regularisation)

    def floats_a_task(self, members: int, dim: int) -> int:
        return members * (dim + 2 * members)


class SVM(Ridge):
    """As MetaOptNet: a multi-class linear SVM fitted to the support."""

    name = "svm"

    def solve(self, support: Tensor, cross: Tensor, shot: int) -> Tensor:
        return svm_logits(support, cross, shot, self.regularisation)


CLASSIFIERS: dict[str, type[Classifier]] = {
    classifier.name: classifier for classifier in (Prototype, SupportAdapted, WithHead, Ridge, SVM)
}
