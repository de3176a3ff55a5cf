"""TSP-Head: a task-specific projection head, trained beside the embedding and dropped at test."""

from __future__ import annotations

from pydantic import Field

from pseudoshot.heads import Residual, TaskTransformer
from pseudoshot.methods.base import HeadMethod
from pseudoshot.methods.settings import HeadSettings


class TransformerSettings(HeadSettings):
    """An episode, and the task transformer."""

    heads: int = Field(default=8, ge=1, le=256)
    """attention heads, each of the embedding's size"""
    layers: int = Field(default=1, ge=1, le=64)
    """attention layers"""
    residual: Residual = "paper"
    """paper: φ + L(attention); released: LayerNorm(φ + dropout(linear(attention)))"""
    dropout: float = Field(default=0.2, ge=0, lt=1)
    """of L's features"""
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)
    """of attention weights"""


def build_transformer(dim: int, settings: TransformerSettings) -> TaskTransformer:
    return TaskTransformer(
        dim,
        settings.heads,
        settings.layers,
        settings.residual,
        settings.dropout,
        settings.attention_dropout,
    )


class TSPHead(HeadMethod):
    """Task-specific projection head: a transformer over each task's members, dropped at test.

    Algorithm 5: Eq. 1 with ψ = T(φ | S ∪ Q) (Eq. 9 to 11) in place of φ.
    """

    Settings = TransformerSettings
    described = "section 5.2, Algorithm 5"

    @classmethod
    def build_head(cls, dim: int, settings: TransformerSettings) -> TaskTransformer:
        return build_transformer(dim, settings)
