"""AAL (Antoniou and Storkey 2019): random images under random labels."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from pydantic import PositiveInt
from torch import Tensor

from pseudoshot.methods.learner import LearnerMethod, LearnerSettings
from pseudoshot.views import Policy
from pseudoshot.views.identity import Identity


class AALSettings(LearnerSettings):
    images: PositiveInt = 40
    shot: PositiveInt = 1
    """K, unrelated images that are given the same label"""

    @property
    def support_images(self) -> int:
        return self.shot

    @property
    def V(self) -> int:  # noqa: N802
        return 2


class AAL(LearnerMethod):
    """AAL: N times K random images share N random labels; a view of each image is its query.

    With K = 1 the tasks are UMTRA's; with more, a class is of unrelated images, as the authors have
    it. Plain MAML at the rate of CACTUs, in place of MAML++, which learns a rate for each layer and
    step from 0.01 (miniImageNet) or 0.1 (Omniglot) on; views are the run's.
    """

    Settings = AALSettings
    described = "section 6.1, Table of unsupervised meta-learning methods"
    defaults = MappingProxyType({"images": 40})
    settings: AALSettings

    def policies(self, views: Policy) -> Sequence[tuple[int, Policy]]:
        return (1, Identity.beside(views)), (1, views)

    def tasks_of(self, rows: Tensor) -> Tensor:
        grouped = rows.view(-1, self.settings.N, self.settings.shot, 2)  # (T, N, K, 2)
        return grouped.transpose(2, 3).flatten(2)
