"""Class sources: what says which images are "the same". One file each; a new one is added here."""

from pseudoshot.class_sources.base import ClassSource, Draw, Embed
from pseudoshot.class_sources.exemplars import Exemplars
from pseudoshot.class_sources.labels import Labels
from pseudoshot.tools.registry import Registry

CLASS_SOURCES: Registry[ClassSource] = Registry(
    "class source", {"exemplars": Exemplars, "labels": Labels}
)

__all__ = ["CLASS_SOURCES", "ClassSource", "Draw", "Embed"]
