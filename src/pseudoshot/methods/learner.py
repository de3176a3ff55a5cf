"""What several rivals share: an episode is cut into tasks once, and learnt from either by
prototypes or by MAML (Finn et al. 2017)."""

from __future__ import annotations

from typing import Any, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, NonNegativeInt, PositiveFloat, model_validator
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.heads import LinearHead
from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.settings import MethodSettings
from pseudoshot.tasks.gram import gram_matrix, task_loss
from pseudoshot.tasks.inner_loop import adapted_logits
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tasks.tasks import Tasks


class CutSettings(MethodSettings):
    """The tasks that an episode is cut into."""

    way: int = Field(default=5, ge=2)
    """N, classes per task; an episode holds as many tasks as its images make"""

    @property
    def N(self) -> int:  # noqa: N802 (the paper's name)
        return self.way

    @property
    def support_images(self) -> int:
        """K, images of a class that are its support."""
        return 1

    @property
    def unit(self) -> int:
        return self.N * self.support_images

    @model_validator(mode="after")
    def _whole_tasks(self) -> Self:
        if self.images % self.unit:
            raise ValueError(
                f"an episode of {self.images} images cannot be cut into tasks of {self.unit}: "
                f"choose --images as a multiple of {self.unit}"
            )
        return self


class LearnerSettings(CutSettings):
    """The tasks that an episode is cut into, and how they are learnt."""

    learner: Literal["maml", "prototype"] = "maml"
    """maml: from weights that a few steps on the support adapt; prototype: by the nearest mean"""
    inner_steps: NonNegativeInt = Field(default=5, le=1000)
    """maml: J, steps of gradient descent on a task's support"""
    inner_lr: PositiveFloat = Field(default=0.25, le=1e6)
    """maml: their learning rate on the mean cross entropy; published codes sum it over classes, so
    that theirs is N times less"""
    first_order: bool = False
    """maml: gradients flow past the inner steps, not through them; cheaper, and not quite MAML"""
    similarity: Similarity = "euclidean"
    """prototype: how a query is compared with a prototype"""

    @property
    def head_lr_scale(self) -> float:
        """The classifier layer is one of the weights that are adapted, and learnt as all others."""
        return 1.0

    @property
    def support_views(self) -> int:
        """K, views of a class that are its support."""
        return self.support_images

    @property
    def test_similarity(self) -> Similarity:
        return self.similarity


class LearnerMethod(Method):
    """Cross entropy of the queries of each task, by its prototypes or after its inner steps.

    MAML's classifier layer is one of the weights that are adapted, and kept as the head, for
    `finetune` to go on from. Its support and queries are passes of their own in each task,
    BatchNorm by their own batch; the running statistics, which embeddings at test use, follow a
    pass over the queries of all tasks. All weights are adapted, BatchNorm's scale and shift among
    them, which published codes leave as they are; they clip outer gradients on photos, this does
    not. Dropout plays no part in a task. Outer steps are the run's, where published codes take Adam
    at 0.001.
    """

    settings: LearnerSettings

    def __init__(self, backbone: Backbone, settings: LearnerSettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.second_order = settings.learner == "maml"

    @classmethod
    def build_head(cls, dim: int, settings: LearnerSettings) -> LinearHead | None:
        return LinearHead(dim, settings.N) if settings.learner == "maml" else None

    @classmethod
    def test_classifier(cls, settings: LearnerSettings) -> dict[str, Any]:
        if settings.learner == "prototype":
            return {}
        return {"name": "finetune", "lr": settings.inner_lr, "statistics": "batch"}

    def tasks_of(self, rows: Tensor) -> Tensor:
        """The views of an episode, rows (C, V), as tasks (T, N, K + Q), support first."""
        return rows.view(-1, self.settings.N, rows.shape[1])

    def loss(self, batch: Batch) -> Loss:
        maml, V = self.settings.learner == "maml", batch.views.shape[1]
        C = len(batch.views if maml else batch.classes)  # MAML adapts to a process's own alone
        rows = self.tasks_of(torch.arange(C * V).view(C, V))
        K = self.settings.support_views
        tasks = Tasks(rows[..., :K], rows[..., K:])
        if maml:
            views = batch.views.flatten(0, 1)
            return Loss(self._outer_loss(views[tasks.support], views[tasks.query]))
        embeddings = batch.embed(self.backbone)
        with torch.autocast(embeddings.device.type, enabled=False):
            gram = gram_matrix(embeddings)
            value = task_loss(gram, tasks.to(embeddings.device), self.settings.similarity)
        return Loss(value, embeddings)

    def _outer_loss(self, support: Tensor, query: Tensor) -> Tensor:
        """CE(Q; θ_J) of images (T, N, K, c, h, w) and (T, N, Q, c, h, w)."""
        assert self.head is not None
        classes = torch.arange(self.settings.N, device=support.device)
        logits = adapted_logits(
            nn.Sequential(self.backbone, self.head),
            support.flatten(1, 2),
            classes.repeat_interleave(support.shape[2]),
            query.flatten(1, 2),
            steps=self.settings.inner_steps,
            lr=self.settings.inner_lr,
            first_order=self.settings.first_order,
            at_once=1 if support.device.type == "cpu" else None,
        )  # (T, NQ, N)
        with torch.no_grad():
            self.backbone(query.flatten(0, 2))
        labels = classes.repeat_interleave(query.shape[2]).repeat(len(query))
        return F.cross_entropy(logits.flatten(0, 1), labels)
