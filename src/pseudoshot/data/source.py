"""Source: what every named image set says about itself, and where named sets are looked for."""

from __future__ import annotations

import functools
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import ClassVar

from pseudoshot.data.cache import cache_folder
from pseudoshot.data.image_set import ImageSet
from pseudoshot.tools.errors import PseudoshotError


@dataclass(frozen=True)
class SplitCount:
    """The size of a split: `present` of its `classes` are on disk; `images` is None if unknown."""

    split: str
    classes: int
    present: int
    images: int | None
    published: bool  # the number of images is the published one, not counted on disk


class Source(ABC):
    """A named image set: a subclass fills in the facts and says how to count and load one split."""

    name: ClassVar[str]
    default_size: ClassVar[int]
    splits: ClassVar[tuple[str, ...]] = ("train", "val", "test")
    views: ClassVar[str] = "amdim"  # the view policy that suits these images
    query: ClassVar[int] = 15  # queries per class in an evaluation's tasks
    rotations: ClassVar[bool] = False  # may rotated copies count as extra classes?
    places: ClassVar[tuple[str, ...]] = ()  # where under a data root it may be, the usual one first
    how_to_get: ClassVar[str]
    put_at: ClassVar[str] = ""  # where the download belongs, if not at the first of `places`

    def locate(self, roots: Sequence[Path]) -> Path | None:
        """The first place under `roots` that holds this set."""
        candidates = (root / place for root in roots for place in self.places)
        return next((path for path in candidates if self.recognises(path)), None)

    def recognises(self, place: Path) -> bool:
        return place.exists()

    @abstractmethod
    def count(self, place: Path | None, split: str) -> SplitCount:
        """The size of a split without reading an image; `place` is None if the set is missing."""

    @abstractmethod
    def load(self, place: Path, split: str, size: int) -> ImageSet:
        """The images of one split at `size` x `size` pixels, labelled."""

    def missing(self, roots: Sequence[Path]) -> PseudoshotError:
        usual = " or ".join(str(root / (self.put_at or self.places[0])) for root in roots)
        return PseudoshotError(
            f"'{self.name}' was not found: get {self.how_to_get}, and put it at {usual}. "
            "PSEUDOSHOT_DATA or --data-root can point to another folder"
        )


def data_roots(root: Path | None) -> list[Path]:
    """Where named sets are looked for: `root` or PSEUDOSHOT_DATA, then the user's cache."""
    given = root or os.environ.get("PSEUDOSHOT_DATA")
    return [*([Path(given).expanduser()] if given else []), cache_folder()]


@functools.cache
def class_list(name: str, split: str) -> tuple[str, ...]:
    """The classes of a benchmark's split, as published; that of Tiny ImageNet is this project's.

    >>> class_list("cifar-fs", "test")[:3]
    ('baby', 'bed', 'bicycle')
    """
    text = (resources.files("pseudoshot.data") / "splits" / f"{name}.json").read_text("utf-8")
    return tuple(json.loads(text)[split])
