"""Heads T: trained beside the embedding φ, dropped at test. A head turns φ into ψ (Eq. 9)."""

from pseudoshot.heads.base import Head, adapted_gram
from pseudoshot.heads.film import FiLM
from pseudoshot.heads.linear import LinearHead
from pseudoshot.heads.projection import Projection
from pseudoshot.heads.set_encoder import SetEncoder
from pseudoshot.heads.transformer import Residual, TaskTransformer

__all__ = [
    "FiLM",
    "Head",
    "LinearHead",
    "Projection",
    "Residual",
    "SetEncoder",
    "TaskTransformer",
    "adapted_gram",
]
