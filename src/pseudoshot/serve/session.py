"""What is being sorted: images, their embeddings, and how they are labelled from examples."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from pseudoshot.data.decode import decode
from pseudoshot.data.folder import path_inside
from pseudoshot.data.loading import expanded
from pseudoshot.embedders import load
from pseudoshot.sorting.estimator import FewShotClassifier
from pseudoshot.sorting.folders import from_probabilities
from pseudoshot.sorting.inputs import Floats, images_of_folder
from pseudoshot.sorting.suggesting import suggest_rows
from pseudoshot.sorting.table import Sorted
from pseudoshot.tools.errors import PseudoshotError

THUMBNAIL = 160  # pixels a side
KEPT_THUMBNAILS = 4_000  # a few kilobytes each
SUGGESTED = 24  # images to look at first
MOST_UPLOADED = 5_000  # images


@dataclass(frozen=True)
class Upload:
    name: str
    thumbnail: bytes


class Session:
    """Images of a folder and images dropped onto the page, numbered in this order."""

    def __init__(
        self,
        run: str | Path,
        folder: Path | None = None,
        classifier: str | None = None,
        reading: str | None = None,
    ) -> None:
        self.embedder = load(run, reading)
        self.embedder.classifier(classifier)  # one that cannot be is refused now, not at a click
        self.chosen = classifier
        self.folder = None if folder is None else expanded(folder).resolve()
        self.started = f"{os.getpid()}-{time.time_ns()}"  # no other session is called so
        self.files: list[str] = []
        self.uploads: list[Upload] = []
        self.skipped: list[str] = []
        self.embeddings: Floats = np.empty((0, self.embedder.dim))
        self._changing = threading.Lock()
        self._thumbnail = lru_cache(KEPT_THUMBNAILS)(self._render)
        self.suggested: list[int] = []  # images to label first
        if self.folder is not None:
            self._read_folder(self.folder)

    def _read_folder(self, folder: Path) -> None:
        images = images_of_folder(folder, self.embedder.card.size, stay_inside=True)
        self.files, self.skipped = list(images.files), list(images.skipped)
        self.embedder = self.embedder.centred_on(images)
        self.embeddings = self.embedder.embed(images).double().numpy()
        self.suggested = suggest_rows(self.embeddings, SUGGESTED)

    def __len__(self) -> int:
        return len(self.files) + len(self.uploads)

    @property
    def names(self) -> list[str]:
        return [*self.files, *(upload.name for upload in self.uploads)]

    def embed(self, files: Mapping[str, bytes]) -> Floats:
        """The embeddings of encoded images; an error names the one that cannot be read."""
        size = self.embedder.card.size
        pixels = np.stack([_decoded(name, data, size) for name, data in files.items()])
        return self.embedder.embed(pixels).double().numpy()

    def add(self, files: Mapping[str, bytes]) -> list[int]:
        """Take uploaded images in, all of them or none; their numbers."""
        embeddings = self.embed(files)
        thumbnails = [_jpeg(_decoded(name, data, THUMBNAIL)) for name, data in files.items()]
        with self._changing:
            taken = set(self.names)
            uploads = []
            for name, thumbnail in zip(files, thumbnails, strict=True):
                uploads.append(Upload(unlike(taken, name), thumbnail))
                taken.add(uploads[-1].name)
            if len(self.uploads) + len(uploads) > MOST_UPLOADED:
                raise PseudoshotError(
                    f"at most {MOST_UPLOADED:,} images can be added: serve a folder with --images"
                )
            first = len(self)
            self.uploads.extend(uploads)
            self.embeddings = np.concatenate((self.embeddings, embeddings))
            self.suggested = suggest_rows(self.embeddings, SUGGESTED)
        return list(range(first, first + len(uploads)))

    def thumbnail(self, number: int) -> bytes:
        """A JPEG of the image's central square, as the model sees it but finer."""
        if number >= len(self.files):
            return self.uploads[number - len(self.files)].thumbnail
        return self._thumbnail(number)

    def _render(self, number: int) -> bytes:
        assert self.folder is not None
        return _jpeg(decode(path_inside(self.folder, self.files[number]), THUMBNAIL))

    def classifier(
        self, examples: Mapping[int, str], reject: float | None = None
    ) -> FewShotClassifier:
        """Fitted to examples: numbers of images and the classes they belong to."""
        if not examples:
            raise PseudoshotError("there are no examples yet")
        unknown = [number for number in examples if not 0 <= number < len(self.embeddings)]
        if unknown:
            raise PseudoshotError(f"there is no image {unknown[0]}")
        rows = self.embeddings[list(examples)]
        classifier = FewShotClassifier(
            self.embedder, classifier=self.chosen, unlabelled=self.embeddings, reject=reject
        )
        return classifier.fit(rows, list(examples.values()))

    def sort(self, examples: Mapping[int, str], reject: float | None = None) -> Sorted:
        """A label for every image; an example keeps the one it was given."""
        classifier = self.classifier(examples, reject)
        with self._changing:
            embeddings, names = self.embeddings, tuple(self.names)
        probabilities = classifier.predict_proba(embeddings)
        index = {label: column for column, label in enumerate(classifier.classes_)}
        columns = [index[label] for label in examples.values()]
        probabilities[list(examples)] = np.eye(len(index))[columns]
        return from_probabilities(classifier, names, probabilities)


def unlike(taken: Container[str], name: str) -> str:
    """The name, or one made of it that nothing has yet.

    >>> unlike({"cat.png", "cat (2).png"}, "cat.png")
    'cat (3).png'
    """
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (name, "")
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{stem} ({number}){ending}"
    return free


def _decoded(name: str, data: bytes, size: int) -> npt.NDArray[np.uint8]:
    try:
        return decode(io.BytesIO(data), size)
    except PseudoshotError as error:
        raise PseudoshotError(f"'{name}' cannot be read: {error}") from error


def _jpeg(pixels: npt.NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=88)
    return file.getvalue()
