"""CACTUs (Hsu et al. 2018): tasks whose classes are clusters of a run's embeddings."""

from __future__ import annotations

from types import MappingProxyType

from pydantic import PositiveInt

from pseudoshot.methods.learner import LearnerMethod, LearnerSettings


class CACTUsSettings(LearnerSettings):
    images: PositiveInt = 40
    shot: PositiveInt = 1
    """K, images of a cluster that are its support"""
    query: PositiveInt = 5
    """Q, images of a cluster that are its queries: K + Q of each"""

    @property
    def support_views(self) -> int:
        return self.shot

    @property
    def V(self) -> int:  # noqa: N802
        return self.shot + self.query


class CACTUs(LearnerMethod):
    """CACTUs: tasks of N clusters of another run's embeddings, by MAML or prototypes.

    The inner rate is the authors' for five ways, 0.05 in their sum over classes; their prototypes
    are learnt from one task per step, of 15 queries (--learner prototype --images 5 --query 15).
    Images are not altered, unless --views says so. With SES and SNS, as the paper has it too, it is
    the baseline on these clusters: --method baseline --class-source clusters.
    """

    Settings = CACTUsSettings
    described = "section 6.1, Table of unsupervised meta-learning methods"
    defaults = MappingProxyType(
        {"class_source": "clusters", "views": "identity", "view_scale": 1.0}
        | {"images": 40, "query": 5}
    )
    settings: CACTUsSettings
