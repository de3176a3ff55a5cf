"""Tiny ImageNet (Stanford CS231n): 200 classes of ImageNet at 64 pixels."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from pseudoshot.data.class_folders import ClassFolderSource
from pseudoshot.data.folder import images_below
from pseudoshot.data.from_files import Encoded, Listing
from pseudoshot.data.source import class_list
from pseudoshot.tools.errors import PseudoshotError

IMAGES_A_CLASS = 550  # 500 for training, 50 for validation


class TinyImageNet(ClassFolderSource):
    """Its classes in the roles tieredImageNet gives them: 138 for training, 17, and 45 for test.

    Splits divide classes, not images: those the authors set aside for validation belong to the same
    200 classes and count as images of their class, as CIFAR-FS does with CIFAR-100's test images.
    The images of `test/` come without labels and are left out.
    """

    name = "tiny-imagenet"
    default_size = 64
    zoom = 1.0  # nothing is cut off: the images are 64 pixels wide
    places = ("tiny-imagenet-200", "tiny-imagenet")
    layouts = ("train",)
    how_to_get = "tiny-imagenet-200.zip from the CS231n page of Stanford, and unpack it"

    def published_images(self, split: str) -> int | None:
        return IMAGES_A_CLASS * len(class_list(self.name, split))

    def image_counts(self, place: Path, split: str) -> dict[str, int]:
        counts = super().image_counts(place, split)
        for name, images in _validation_images(place, split).items():
            counts[name] = counts.get(name, 0) + len(images)
        return counts

    def class_images(self, place: Path, split: str) -> dict[str, Listing]:
        found = super().class_images(place, split)
        for name, images in _validation_images(place, split).items():
            found[name] = Listing([*found.get(name, ()), *images])
        return found


def _validation_images(place: Path, split: str) -> dict[str, list[Encoded]]:
    """Those of val/images, whose classes a list beside it gives, or of one folder per class."""
    found: dict[str, list[Encoded]] = defaultdict(list)
    if not (place / "val").is_dir():
        return found
    wanted = set(class_list(TinyImageNet.name, split))
    listed = _annotations(place / "val" / "val_annotations.txt")
    for image in images_below(place, "val"):
        folder, _, file = image.name.removeprefix("val/").rpartition("/")
        wnid = listed.get(file, folder.partition("/")[0])
        if wnid in wanted:
            found[wnid].append(image._replace(label=wnid))
    return found


def _annotations(path: Path) -> dict[str, str]:
    """The class of each file: lines of a file's name, its class and a box, tabs between them."""
    if not path.is_file():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return {name: wnid for name, wnid, *_box in (line.split("\t") for line in lines)}
    except (OSError, ValueError) as error:
        raise PseudoshotError(
            f"{path} is not Tiny ImageNet's list of files and their classes ({error}): "
            "unpack tiny-imagenet-200.zip again"
        ) from error
