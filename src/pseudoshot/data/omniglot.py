"""Omniglot (Lake et al.): 1,623 handwritten characters by 20 drawers, split of Vinyals et al."""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pseudoshot.data.folder import images_below
from pseudoshot.data.from_files import Encoded, Form, Listing, load_files
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.source import Source, SplitCount, class_list
from pseudoshot.tools.errors import PseudoshotError

PARTS = ("images_background", "images_evaluation")  # the split draws on both
DRAWERS = 20
MOST_BYTES = 1 << 20  # of one drawing, which has a few hundred


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
        images = Listing(image for name in classes for image in by_class[name])
        form = Form(size, invert=True)  # the originals are black on white
        return load_files(f"{self.name}:{split}", place, images, form, classes, split)


def _part(place: Path, part: str) -> Path:
    return place / part if (place / part).is_dir() else place / f"{part}.zip"


def _images(place: Path, part: str) -> Iterator[Encoded]:
    """The drawings of a part, labelled alphabet/character, from its folder or archive."""
    where = _part(place, part)
    for image in images_below(place, part) if where.is_dir() else _zipped(where, part):
        label = image.name.removeprefix(f"{part}/").rpartition("/")[0]
        yield image._replace(label=label)


def _zipped(path: Path, part: str) -> Iterator[Encoded]:
    """What lies in the part's own folder within the archive; no name leads to a file outside."""
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:  # a damaged directory of an archive leads to errors of any kind
        raise PseudoshotError(f"{path} cannot be read ({error}): download it again") from error
    opener = partial(_member, archive)
    for name, info in sorted(archive.NameToInfo.items()):
        if name.startswith(f"{part}/") and name.endswith(".png"):
            yield Encoded(name, (info.file_size, info.CRC), opener)


def _member(archive: zipfile.ZipFile, name: str) -> io.BytesIO:
    size = archive.getinfo(name).file_size
    if size > MOST_BYTES:  # no more than the declared size is ever unpacked
        raise PseudoshotError(f"of {size:,} bytes, above the limit of {MOST_BYTES:,}: no drawing")
    try:
        return io.BytesIO(archive.read(name))
    except Exception as error:  # of the archive or of any kind of compression it names
        raise PseudoshotError(f"damaged in {archive.filename}: {error}") from error
