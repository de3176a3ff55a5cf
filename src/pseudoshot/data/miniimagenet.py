"""miniImageNet (Vinyals et al., split of Ravi and Larochelle): 100 classes of ImageNet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pseudoshot.data import safe_pickle
from pseudoshot.data.class_folders import ClassFolderSource
from pseudoshot.data.folder import images_below
from pseudoshot.data.from_arrays import load_arrays
from pseudoshot.data.from_files import Encoded, Listing
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.source import SplitCount, class_list
from pseudoshot.tools.errors import PseudoshotError

IMAGES_A_CLASS = 600
WNID = 9  # characters of a WordNet id, with which the file names of the flat layout begin
KIND = "a miniImageNet cache file"


class MiniImageNet(ClassFolderSource):
    """Class folders, one flat folder of images, or the field's mini-imagenet-cache-*.pkl files."""

    name = "miniimagenet"
    places = ("miniimagenet", "mini-imagenet", "miniImageNet")
    how_to_get = (
        "mini-imagenet-cache-train.pkl, -val.pkl and -test.pkl as published with the code of Ren "
        "et al., or the images of its 100 classes from the ImageNet site, one folder per class"
    )

    def published_images(self, split: str) -> int | None:
        return IMAGES_A_CLASS * len(class_list(self.name, split))

    def count(self, place: Path | None, split: str) -> SplitCount:
        if place is None or not _pickle(place, split).is_file():
            return super().count(place, split)
        classes = len(class_list(self.name, split))
        return SplitCount(split, classes, classes, self.published_images(split), published=True)

    def image_counts(self, place: Path, split: str) -> dict[str, int]:
        flat = _flat_images(place, split)
        return super().image_counts(place, split) or {name: len(flat[name]) for name in flat}

    def class_images(self, place: Path, split: str) -> dict[str, Listing]:
        return super().class_images(place, split) or _flat_images(place, split)

    def load(self, place: Path, split: str, size: int) -> ImageSet:
        path = _pickle(place, split)
        if not path.is_file():
            return super().load(place, split, size)
        classes = class_list(self.name, split)
        read = partial(read_classes, path, classes)
        return load_arrays(f"{self.name}:{split}", [path], classes, size, read)


def read_classes(path: Path, classes: tuple[str, ...]) -> Iterator[npt.NDArray[np.uint8]]:
    """The images (n, 84, 84, 3) of each class in turn."""
    try:
        with path.open("rb") as file:
            content = safe_pickle.load(file, path, KIND)
    except OSError as error:
        raise PseudoshotError(f"{path} cannot be read: {error.strerror}") from error
    try:
        images = np.asarray(content["image_data"])
        members = {safe_pickle.text(name): rows for name, rows in content["class_dict"].items()}
        rows_of = [_rows(members[name], len(images)) for name in classes]
    except (KeyError, AttributeError, TypeError, IndexError, ValueError, OverflowError) as error:
        raise PseudoshotError(
            f"{path} is not {KIND}: expected 'image_data' and a 'class_dict' with "
            f"{len(classes)} classes ({type(error).__name__}: {safe_pickle.brief(error)})"
        ) from error
    for rows in rows_of:
        yield images[rows]


def _rows(given: object, count: int) -> npt.NDArray[np.int64]:
    rows = np.asarray(given)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= count:
        raise ValueError(f"a class whose images are not among the {count}")
    return rows.astype(np.int64)


def _flat_images(place: Path, split: str) -> dict[str, Listing]:
    """The images of a folder whose files are named by class and number: n0153282900000005.jpg."""
    folder = place / "images" if (place / "images").is_dir() else place
    wanted = set(class_list(MiniImageNet.name, split))
    found: dict[str, list[Encoded]] = defaultdict(list)
    for image in images_below(folder):
        wnid = image.name[:WNID]
        if wnid in wanted and not image.label:
            found[wnid].append(image._replace(label=wnid))
    return {wnid: Listing(images) for wnid, images in found.items()}


def _pickle(place: Path, split: str) -> Path:
    return place / f"mini-imagenet-cache-{split}.pkl"
