"""Supervised pre-training: an ordinary classifier of the base classes."""

from __future__ import annotations

from types import MappingProxyType

import torch.nn.functional as F
from torch import nn

from pseudoshot.backbones import Backbone
from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.settings import ViewCountSettings


class Supervised(Method):
    """Supervised pre-training: a linear classifier over all base classes, dropped at test.

    Cross entropy of W φ(x) + b; fine-tuning such a run with all labels gives ProtoNet†.
    """

    Settings = ViewCountSettings
    described = "section 7.3, Comparison with the supervised upper-bound"
    defaults = MappingProxyType({"class_source": "labels"})

    def __init__(self, backbone: Backbone, settings: ViewCountSettings, classes: int = 0) -> None:
        super().__init__(backbone, settings, classes)
        self.linear = nn.Linear(backbone.dim, classes)

    def loss(self, batch: Batch) -> Loss:
        embeddings = batch.embed(self.backbone)  # (CV, d)
        labels = batch.classes.to(embeddings.device).repeat_interleave(batch.views.shape[1])
        return Loss(F.cross_entropy(self.linear(embeddings), labels), embeddings)
