"""The task-agnostic projection head of contrastive learning, as an unsupervised method."""

from __future__ import annotations

from pseudoshot.heads import Projection
from pseudoshot.methods.base import HeadMethod
from pseudoshot.methods.settings import HeadSettings


class ProjectionHead(HeadMethod):
    """Task-agnostic projection head: a two-layer MLP after the embedding, dropped at test.

    Eq. 1 with ψ(x) = MLP(φ(x)) in place of φ.
    """

    Settings = HeadSettings
    described = "section 5.2 (discussion) and appendix, Table of projection heads"

    @classmethod
    def build_head(cls, dim: int, settings: HeadSettings) -> Projection:
        return Projection(dim)
