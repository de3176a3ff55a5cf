"""The named sets, and what there is of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pseudoshot.data.cifar import FC100, CifarFS
from pseudoshot.data.cub import Cub
from pseudoshot.data.glyphs import Glyphs
from pseudoshot.data.miniimagenet import MiniImageNet
from pseudoshot.data.omniglot import Omniglot
from pseudoshot.data.source import Source, SplitCount, data_roots
from pseudoshot.data.tieredimagenet import TieredImageNet
from pseudoshot.data.tiny_imagenet import TinyImageNet

_ALL: tuple[Source, ...] = (
    Glyphs(),
    CifarFS(),
    FC100(),
    TinyImageNet(),
    Omniglot(),
    Cub(),
    MiniImageNet(),
    TieredImageNet(),
)
SOURCES: dict[str, Source] = {source.name: source for source in _ALL}


@dataclass(frozen=True)
class SourceInfo:
    """A row of `describe`; a `place` of None says that the set is missing."""

    name: str
    place: Path | None
    splits: tuple[SplitCount, ...]
    how_to_get: str


def describe(root: Path | None = None) -> list[SourceInfo]:
    """What there is of every named set, without reading an image."""
    roots = data_roots(root)
    found = [(source, source.locate(roots)) for source in SOURCES.values()]
    return [
        SourceInfo(
            source.name,
            place,
            tuple(source.count(place, split) for split in source.splits),
            source.how_to_get,
        )
        for source, place in found
    ]
