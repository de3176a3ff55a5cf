"""Vanilla UML: one task an episode under the Euclidean distance."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from pseudoshot.methods.base import EpisodeSettings
from pseudoshot.methods.baseline import Baseline
from pseudoshot.tasks.similarity import Similarity


class VanillaSettings(EpisodeSettings):
    tasks: PositiveInt | Literal["exhaustive"] = 1
    """tasks re-sampled from an episode"""
    similarity: Similarity = "euclidean"
    """sns, cosine, euclidean or inner"""


class Vanilla(Baseline):
    """Vanilla UML: a single task an episode, compared by Euclidean distance.

    Algorithm 1: the baseline's objective with one task and Eq. 3 for the similarity.
    """

    Settings = VanillaSettings
    described = "section 3, Algorithm 1"
