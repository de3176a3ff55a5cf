"""What UMTRA and CUMCA share: an image stands for a class, and its view is the other example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import PositiveInt

from pseudoshot.methods.learner import LearnerMethod, LearnerSettings
from pseudoshot.views import Policy
from pseudoshot.views.identity import Identity


class PairSettings(LearnerSettings):
    images: PositiveInt = 40
    augmented: Literal["support", "query"] = "query"
    """the side of a task that holds views; the other holds the images as they are"""

    @property
    def V(self) -> int:  # noqa: N802
        return 2


class PairMethod(LearnerMethod):
    """Tasks of N images: an image is an example on one side of a task, its view on the other."""

    settings: PairSettings

    def policies(self, views: Policy) -> Sequence[tuple[int, Policy]]:
        roles = (1, Identity.beside(views)), (1, views)
        return roles if self.settings.augmented == "query" else roles[::-1]
