"""One image from each of several clusters: pseudo-classes that are pure, and differ."""

from __future__ import annotations

from pseudoshot.class_sources.base import Draw, Embed
from pseudoshot.class_sources.clusters import Clusters


class DistinctClusters(Clusters):
    """One image from each of C clusters of one partition, its members its views.

    CUMCA (Xu et al. 2021): as with exemplars a pseudo-class is one image, but no two of an episode
    are of one cluster. With every image a cluster of its own these are exemplars.
    """

    repeats = True

    def steps_per_epoch(self, C: int, V: int) -> int:
        return super().steps_per_epoch(C, 1)

    def begin_epoch(self, embed: Embed, C: int, V: int) -> None:
        super().begin_epoch(embed, C, 1)

    def draw(self, C: int, V: int) -> Draw:
        drawn = super().draw(C, 1)
        return drawn._replace(rows=drawn.rows.expand(-1, V))
