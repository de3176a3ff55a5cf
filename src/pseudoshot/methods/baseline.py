"""The paper's UML baseline: Sufficient Episodic Sampling with Semi-Normalized Similarity."""

from __future__ import annotations

from pseudoshot.episode import task_loss
from pseudoshot.methods.base import Batch, Loss, Method


class Baseline(Method):
    """SES + SNS (section 4.1, Algorithm 3): the mean cross entropy (Eq. 1) of many tasks re-split
    from one episode's embeddings, logits by SNS (Eq. 6)."""

    def loss(self, batch: Batch) -> Loss:
        embeddings = self.backbone(batch.views.flatten(0, 1))  # (CV, d)
        tasks = self.settings.draw_tasks(len(batch.views), batch.generator)
        value = task_loss(
            embeddings @ embeddings.T,
            tasks.to(embeddings.device),
            self.settings.similarity,
            self.settings.resolved_temperature,
        )
        return Loss(value, embeddings)
