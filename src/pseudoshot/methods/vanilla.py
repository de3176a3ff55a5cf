"""Vanilla UML: one task an episode under the Euclidean distance."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from pseudoshot.methods.base import EpisodeSettings
from pseudoshot.methods.baseline import Baseline
from pseudoshot.similarity import Similarity


class VanillaSettings(EpisodeSettings):
    tasks: PositiveInt | Literal["exhaustive"] = 1
    similarity: Similarity = "euclidean"


class Vanilla(Baseline):
    """Algorithm 1: the baseline's objective with a single task and Eq. 3 for the similarity."""

    Settings = VanillaSettings
