"""Vanilla UML: one task per episode under the Euclidean distance."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt

from pseudoshot.methods.baseline import Baseline
from pseudoshot.methods.settings import TaskSettings
from pseudoshot.tasks.similarity import Similarity


class VanillaSettings(TaskSettings):
    tasks: PositiveInt | Literal["exhaustive"] = 1
    similarity: Similarity = "euclidean"


class Vanilla(Baseline):
    """Vanilla UML: a single task per episode, compared by Euclidean distance.

    Algorithm 1: the baseline's objective with one task and Eq. 3 for the similarity.
    """

    Settings = VanillaSettings
    described = "section 3, Algorithm 1"
