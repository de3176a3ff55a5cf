"""DeepSets + FiLM as the task-specific head, as an unsupervised method."""

from __future__ import annotations

from pseudoshot.heads import FiLM
from pseudoshot.methods.base import HeadMethod
from pseudoshot.methods.settings import HeadSettings


class DeepSetsFiLM(HeadMethod):
    """DeepSets + FiLM head: each task scales and shifts its embeddings, dropped at test.

    Eq. 1 with ψ = γ ⊙ φ + β, (γ, β) = h(Σ f(φ)), in place of φ.
    """

    Settings = HeadSettings
    described = "appendix, Configurations of DeepSets and FiLM"

    @classmethod
    def build_head(cls, dim: int, settings: HeadSettings) -> FiLM:
        return FiLM(dim)
