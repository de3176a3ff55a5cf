"""ImageSet: the one form in which images travel from files to everything else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from pseudoshot.tools.errors import PseudoshotError


@dataclass(frozen=True)
class ImageSet:
    """Images of one size as bytes, labelled or not; a set larger than memory is memory-mapped.

    >>> images = np.zeros((4, 8, 8, 3), dtype=np.uint8)
    >>> ImageSet("toy", images, labels=np.array([0, 0, 1, 1]), classes=("cat", "dog"))
    ImageSet('toy': 4 images of 8x8x3, 2 classes)
    """

    name: str
    images: npt.NDArray[np.uint8]  # (n, h, w, c), c is 1 or 3
    labels: npt.NDArray[np.int64] | None = None  # (n,), each an index into classes
    classes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = field(
        default=(), repr=False
    )  # files that could not be read, and why
    note: str = ""  # what a result on this set must state, such as "rotations as extra classes"
    files: tuple[str, ...] = field(default=(), repr=False)  # the file of each image, if it has one

    def __post_init__(self) -> None:
        shape = self.images.shape
        if self.images.dtype != np.uint8 or len(shape) != 4 or shape[3] not in (1, 3):
            raise PseudoshotError(
                f"'{self.name}': images must be uint8 of shape (n, h, w, 1 or 3), "
                f"not {self.images.dtype} of shape {shape}"
            )
        if self.labels is not None and self.labels.shape != shape[:1]:
            raise PseudoshotError(
                f"'{self.name}': {shape[0]} images but labels of shape {self.labels.shape}"
            )

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        n, h, w, c = self.images.shape
        labelled = f"{len(self.classes)} classes" if self.labels is not None else "no labels"
        return f"ImageSet('{self.name}': {n} images of {h}x{w}x{c}, {labelled})"

    @property
    def channels(self) -> int:
        return int(self.images.shape[3])

    @property
    def size(self) -> int:
        return int(self.images.shape[1])

    def without_labels(self) -> ImageSet:
        return replace(self, labels=None, classes=())

    def take(self, rows: npt.NDArray[np.int64]) -> ImageSet:
        """The images at these rows, in memory."""
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, images=self.images[rows], labels=labels)

    def fingerprint(self) -> str:
        """Changes when the set does: of its shape, file names and up to 1,024 images."""
        digest = hashlib.sha256(repr((self.images.shape, self.files)).encode(errors="replace"))
        for image in self.images[:: max(1, len(self) // 1024)]:
            digest.update(np.ascontiguousarray(image).data)
        return digest.hexdigest()

    def labelling(self) -> str:
        """Of which row has which label: tasks drawn from two sets of one labelling are the same,
        whatever size their images have."""
        digest = hashlib.sha256(repr((self.classes, self.files)).encode(errors="replace"))
        if self.labels is not None:
            digest.update(np.ascontiguousarray(self.labels, dtype="<i8").data)
        return digest.hexdigest()

    def class_counts(self) -> npt.NDArray[np.int64]:
        """How many images each class has, in the order of `classes`."""
        if self.labels is None:
            raise PseudoshotError(
                f"'{self.name}' has no labels: put the images of each class in its own subfolder"
            )
        return np.bincount(self.labels, minlength=len(self.classes))
