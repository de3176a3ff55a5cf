"""What every head is, and how the tasks of an episode see it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn

from pseudoshot.tasks.gather import gather_rows
from pseudoshot.tasks.gram import gram_matrix
from pseudoshot.tasks.tasks import Tasks


class Head(nn.Module, ABC):
    """ψ = T(φ(x) | x ∈ S ∪ Q): each set of embeddings adapted in the light of its members."""

    task_specific: ClassVar[bool] = True  # False: ψ(x) depends on φ(x) alone

    @property
    def attention_heads(self) -> int:
        """How many hold a number for every pair of members; 1 where none does."""
        return 1

    @abstractmethod
    def forward(self, sets: Tensor) -> Tensor:
        """ψ of every member of every set, (T, R, d) to (T, R, d)."""

    def on_tasks(self, embeddings: Tensor, members: Tensor) -> Tensor:
        """ψ of tasks (T, R) that draw their members from the same rows (n, d): (T, R, d).

        The same as `self(embeddings[members])`; heads do better by working on rows first.
        """
        psi: Tensor = self(gather_rows(embeddings, members))
        return psi


def adapted_gram(head: Head, embeddings: Tensor, tasks: Tasks) -> tuple[Tensor, Tasks]:
    """The Gram matrix of ψ and the tasks that index it.

    One matrix for all tasks where ψ is the same in all of them: the head does not look at the task,
    or every task holds the whole episode (N = C). Else one matrix a task.
    """
    if not head.task_specific or tasks.members.shape[1] == len(embeddings):
        return gram_matrix(head(embeddings[None])[0]), tasks
    return gram_matrix(head.on_tasks(embeddings, tasks.members)), tasks.by_position()
