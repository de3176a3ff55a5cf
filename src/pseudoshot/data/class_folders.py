"""Published sets of photographs that come as one folder per class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from pseudoshot.data.folder import count_images_below, images_below
from pseudoshot.data.from_files import Encoded, Form, Listing, load_files
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.source import Source, SplitCount, class_list
from pseudoshot.tools.errors import PseudoshotError


class ClassFolderSource(Source):
    """One folder per class, under one of several layouts; a subclass adds the facts."""

    default_size = 84
    zoom: ClassVar[float] = 92 / 84  # the field's protocol: short side to 92, then the central 84
    layouts: ClassVar[tuple[str, ...]] = (".", "images", "{split}")

    def count(self, place: Path | None, split: str) -> SplitCount:
        classes = len(class_list(self.name, split))
        if place is None:
            return SplitCount(split, classes, 0, self.published_images(split), published=True)
        counts = self.image_counts(place, split)
        return SplitCount(split, classes, len(counts), sum(counts.values()), published=False)

    def published_images(self, split: str) -> int | None:
        return None

    def image_counts(self, place: Path, split: str) -> dict[str, int]:
        """How many image files each class of the split has, of those that have any."""
        folders = self.class_folders(place, split)
        counts = {name: count_images_below(folder) for name, folder in folders.items()}
        return {name: count for name, count in counts.items() if count}

    def class_images(self, place: Path, split: str) -> dict[str, Listing]:
        """The image files of each class of the split, of those that have any."""
        folders = self.class_folders(place, split)
        found = {name: Listing(_labelled(path, place, name)) for name, path in folders.items()}
        return {name: images for name, images in found.items() if len(images)}

    def class_folders(self, place: Path, split: str) -> dict[str, Path]:
        parents = [place / layout.format(split=split) for layout in self.layouts]
        found = {
            name: next((p / name for p in parents if (p / name).is_dir()), None)
            for name in class_list(self.name, split)
        }
        return {name: folder for name, folder in found.items() if folder is not None}

    def load(self, place: Path, split: str, size: int) -> ImageSet:
        classes = class_list(self.name, split)
        found = self.class_images(place, split)
        if len(found) < len(classes):
            raise self._incomplete(place, split, found)
        images = Listing(image for name in classes for image in found[name])
        form = Form(size, self.zoom)
        return load_files(f"{self.name}:{split}", place, images, form, classes, split)

    def _incomplete(self, place: Path, split: str, found: dict[str, Listing]) -> PseudoshotError:
        classes = class_list(self.name, split)
        absent = [name for name in classes if name not in found]
        counts = {other: self.count(place, other) for other in self.splits}
        whole = [other for other, count in counts.items() if count.present == count.classes]
        return PseudoshotError(
            f"'{self.name}:{split}' has {len(classes)} classes, of which {len(absent)} are missing "
            f"under {place}, the first of them {absent[0]}; complete there: "
            f"{', '.join(whole) or 'no split'}. Get {self.how_to_get}"
        )


def _labelled(folder: Path, place: Path, label: str) -> Iterator[Encoded]:
    """The images of a class, named relative to the whole set."""
    part = folder.relative_to(place).as_posix()
    return (image._replace(label=label) for image in images_below(place, part))
