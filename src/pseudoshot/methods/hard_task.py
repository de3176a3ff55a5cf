"""Hard Task sampling (Sun et al. 2019, 2020) on one episode's embeddings."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from pseudoshot.methods.base import EpisodicMethod
from pseudoshot.methods.settings import TaskSettings
from pseudoshot.tasks.gram import gram_matrix, task_logits, task_loss
from pseudoshot.tasks.tasks import Tasks, split_views

_RARELY = 1e-3  # the weight of a class that was never the hardest, against one that was once


class HardTaskSettings(TaskSettings):
    way: int | None = Field(default=5, ge=2)
    """N, classes per task: less than --images, or there is nothing to choose"""


class HardTask(EpisodicMethod):
    """Hard Task sampling: the hardest classes of earlier tasks meet each other in new ones.

    The first half of an episode's tasks is drawn at random; the class with the highest loss in
    each is collected, and the second half is drawn among those, as often as they were met.
    """

    Settings = HardTaskSettings
    described = "appendix, Comparison with Sampling Strategies"

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        settings = self.settings
        gram = gram_matrix(embeddings)
        first = Tasks(*(rows[: (len(rows) + 1) // 2] for rows in (tasks.support, tasks.query)))
        with torch.no_grad():
            met = hardest_classes(gram, first, settings)
        counts = torch.bincount(met, minlength=len(embeddings) // settings.V).cpu()
        draws, way = first.query.shape[:2]
        classes = weighted_choices(counts + _RARELY, draws, way, generator)
        hard = split_views(classes, settings.shot, settings.query, generator).to(gram.device)
        both = Tasks(torch.cat((first.support, hard.support)), torch.cat((first.query, hard.query)))
        return task_loss(gram, both, settings.similarity, settings.resolved_temperature)


def hardest_classes(gram: Tensor, tasks: Tasks, settings: TaskSettings) -> Tensor:
    """The class with the highest mean loss of each task, (T,), as a class of the episode."""
    logits = task_logits(gram, tasks, settings.similarity, settings.resolved_temperature)
    correct = logits.diagonal(dim1=1, dim2=3)  # (T, Q, N)
    losses = (logits.logsumexp(3).mT - correct).mean(1)  # (T, N)
    worst = losses.argmax(1, keepdim=True)
    return tasks.support[:, :, 0].gather(1, worst)[:, 0] // settings.V


def weighted_choices(weights: Tensor, draws: int, way: int, generator: torch.Generator) -> Tensor:
    """`way` distinct indices a draw, one after the other in proportion to their weights.

    The largest of log w plus Gumbel noise are such a draw (Efraimidis and Spirakis).
    """
    noise = torch.rand(draws, len(weights), generator=generator).clamp_min(1e-20)
    return (weights.log() - (-noise.log()).log()).topk(way, 1).indices
