"""UMTRA (Khodadadeh et al. 2019): random images stand for classes, views of them are queries."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from pydantic import Field, NonNegativeInt, PositiveInt

from pseudoshot.methods.learner import LearnerMethod, LearnerSettings
from pseudoshot.views import Policy
from pseudoshot.views.identity import Identity


class UMTRASettings(LearnerSettings):
    images: PositiveInt = 40
    inner_steps: NonNegativeInt = Field(default=1, le=1000)
    swap: bool = False
    """the support is the views and the query the images, as in the authors' miniImageNet code; by
    default the other way round, as in their paper and Omniglot code"""

    @property
    def V(self) -> int:  # noqa: N802
        return 2


class UMTRA(LearnerMethod):
    """UMTRA: tasks of N random images, one example each; a view of each image is its query.

    MAML with K = Q = 1, for N images of a large set are likely of N classes. Inner steps and rate
    are the authors' for miniImageNet, one of 0.05 in their sum over five classes; for Omniglot they
    take five of a fifth of it (--inner-steps 5 --inner-lr 0.05). Views are the run's.
    """

    Settings = UMTRASettings
    described = "section 6.1, Table of unsupervised meta-learning methods"
    defaults = MappingProxyType({"images": 40})
    settings: UMTRASettings

    def policies(self, views: Policy) -> Sequence[tuple[int, Policy]]:
        roles = (1, Identity.beside(views)), (1, views)
        return roles[::-1] if self.settings.swap else roles
