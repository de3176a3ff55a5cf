"""Class sources: what says which images are "the same". One file each; a new one is added here."""

from pseudoshot.class_sources.base import ClassSource, Draw, Embed
from pseudoshot.class_sources.clusters import Clusters
from pseudoshot.class_sources.distinct_clusters import DistinctClusters
from pseudoshot.class_sources.exemplars import Exemplars
from pseudoshot.class_sources.labels import Labels
from pseudoshot.class_sources.reciprocal_clusters import ReciprocalClusters
from pseudoshot.tools.registry import Registry

CLASS_SOURCES: Registry[ClassSource] = Registry(
    "class source",
    {
        "exemplars": Exemplars,
        "labels": Labels,
        "clusters": Clusters,
        "distinct-clusters": DistinctClusters,
        "reciprocal-clusters": ReciprocalClusters,
    },
)

__all__ = ["CLASS_SOURCES", "ClassSource", "Draw", "Embed"]
