"""Omniglot (Lake et al.): 1,623 handwritten characters by 20 drawers, split of Vinyals et al."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pseudoshot.data.encoded import Encoded, Form, load_encoded
from pseudoshot.data.folder import images_below
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.source import Source, SplitCount, class_list
from pseudoshot.errors import PseudoshotError

PARTS = ("images_background", "images_evaluation")  # the split draws on both
DRAWERS = 20


class Omniglot(Source):
    name = "omniglot"
    default_size = 28
    views = "strokes"
    rotations = True
    places = ("omniglot", ".")
    how_to_get = (
        "images_background.zip and images_evaluation.zip from the Omniglot page of its authors"
    )

    def recognises(self, place: Path) -> bool:
        return all(_part(place, part).exists() for part in PARTS)

    def count(self, place: Path | None, split: str) -> SplitCount:
        classes = len(class_list(self.name, split))
        return SplitCount(
            split, classes, classes if place else 0, classes * DRAWERS, published=True
        )

    def load(self, place: Path, split: str, size: int) -> ImageSet:
        classes = class_list(self.name, split)
        by_class: dict[str, list[Encoded]] = defaultdict(list)
        for part in PARTS:
            for image in _images(place, part):
                by_class[image.label].append(image)
        absent = [name for name in classes if name not in by_class]
        if absent:
            raise PseudoshotError(
                f"'{self.name}:{split}' has {len(classes)} characters, of which {len(absent)} are "
                f"missing under {place}, the first of them {absent[0]}: get {self.how_to_get} again"
            )
        images = [image for name in classes for image in by_class[name]]
        form = Form(size, invert=True)  # the originals are black on white
        return load_encoded(f"{self.name}:{split}", place, images, form, classes)


def _part(place: Path, part: str) -> Path:
    return place / part if (place / part).is_dir() else place / f"{part}.zip"


def _images(place: Path, part: str) -> Iterator[Encoded]:
    """The drawings of a part, named and labelled alphabet/character, from its folder or archive."""
    where = _part(place, part)
    images = images_below(where) if where.is_dir() else _zipped(where)
    for image in images:
        label = image.name.rpartition("/")[0]
        yield replace(image, name=f"{part}/{image.name}", label=label)


def _zipped(path: Path) -> Iterator[Encoded]:
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise PseudoshotError(f"{path} cannot be read ({error}): download it again") from error
    for info in sorted(archive.infolist(), key=lambda info: info.filename):
        if info.filename.endswith(".png"):
            name = info.filename.partition("/")[2]
            yield Encoded(name, (info.file_size, info.CRC), partial(_member, archive, info))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> io.BytesIO:
    try:
        return io.BytesIO(archive.read(info))
    except (OSError, zipfile.BadZipFile, zlib.error) as error:
        raise PseudoshotError(f"damaged in {archive.filename}: {error}") from error
