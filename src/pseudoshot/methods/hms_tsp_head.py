"""HMS and TSP-Head together: harder tasks, and a head that adapts to each."""

from __future__ import annotations

import torch
from torch import Tensor

from pseudoshot.heads import Head, TaskTransformer, adapted_gram
from pseudoshot.methods.hms import MixingMethod, MixSettings, mixed_loss
from pseudoshot.methods.tsp_head import TransformerSettings, build_transformer
from pseudoshot.tasks.tasks import Tasks


class HMSTSPHeadSettings(MixSettings, TransformerSettings):
    """Both methods' settings; neighbours are the task's, as ψ is the task's own."""


class HMSTSPHead(MixingMethod):
    """HMS and TSP-Head together: a task's members are adapted first, then mixed.

    Eq. 7 and 8 over ψ (Eq. 9 to 11) in place of φ.
    """

    Settings = HMSTSPHeadSettings
    described = "sections 5.1 and 5.2 combined"
    settings: HMSTSPHeadSettings
    head: Head

    @classmethod
    def build_head(cls, dim: int, settings: HMSTSPHeadSettings) -> TaskTransformer:
        return build_transformer(dim, settings)

    def objective(self, embeddings: Tensor, tasks: Tasks, generator: torch.Generator) -> Tensor:
        gram, tasks = adapted_gram(self.head, embeddings, tasks)
        return mixed_loss(gram, tasks, self.settings, int(self.steps), generator)
