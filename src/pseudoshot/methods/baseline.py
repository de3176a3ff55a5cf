"""The paper's UML baseline: Sufficient Episodic Sampling with Semi-Normalized Similarity."""

from __future__ import annotations

import torch
from torch import Tensor

from pseudoshot.methods.base import EpisodicMethod
from pseudoshot.tasks.gram import gram_matrix, task_loss
from pseudoshot.tasks.tasks import Tasks


class Baseline(EpisodicMethod):
    """The UML baseline: many tasks re-split from one episode (SES), compared by SNS.

    Algorithm 3: the mean cross entropy (Eq. 1) of all tasks, logits by SNS (Eq. 6).
    """

    described = "section 4.1, Algorithm 3"

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        return task_loss(
            gram_matrix(embeddings),
            tasks,
            self.settings.similarity,
            self.settings.resolved_temperature,
        )
