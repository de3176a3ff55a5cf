"""Where images come from: `load` turns a folder or the name of a published set into an ImageSet."""

from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.loading import (
    default_query,
    default_views,
    evaluation_set,
    full_name,
    is_named,
    load,
)
from pseudoshot.data.source import Source, SplitCount
from pseudoshot.data.sources import SOURCES, SourceInfo, describe

__all__ = [
    "SOURCES",
    "ImageSet",
    "Source",
    "SourceInfo",
    "SplitCount",
    "default_query",
    "default_views",
    "describe",
    "evaluation_set",
    "full_name",
    "is_named",
    "load",
]
