"""Labels of all images from a project's examples, as arrays by number.

The labels are those of `FewShotClassifier`, which is fitted here; a test compares them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pseudoshot.classifiers import Linear
from pseudoshot.serve.embeddings import TINY, Singles, View
from pseudoshot.serve.project import Project
from pseudoshot.serve.session import Session
from pseudoshot.sorting.calibration import some_rows
from pseudoshot.sorting.estimator import FewShotClassifier
from pseudoshot.sorting.folders import from_probabilities
from pseudoshot.sorting.inputs import Floats
from pseudoshot.sorting.table import Sorted
from pseudoshot.tools.errors import PseudoshotError

NONE, UNKNOWN = 65535, 65534  # in place of a class: none of these, not embedded
TOP = 10_000  # what stands for 1

Codes = npt.NDArray[np.uint16]
Numbers = npt.NDArray[np.int64]


class TooFewError(PseudoshotError):
    """Fewer than two classes with an example that can be seen."""


@dataclass(frozen=True)
class Sorting:
    """What became of every image, by number."""

    classifier: FewShotClassifier
    classes: list[str]
    probabilities: Floats  # (n, classes); of unknown images without meaning
    known: npt.NDArray[np.bool_]
    likeness: Singles  # (n,), the cosine to the nearest class's mean

    @cached_property
    def _likeliest(self) -> Numbers:
        likeliest: Numbers = self.probabilities.argmax(1)
        return likeliest

    @cached_property
    def _highest(self) -> Floats:
        highest: Floats = self.probabilities.max(1)
        return highest

    @property
    def labels(self) -> Codes:
        codes = self._likeliest.astype(np.uint16)
        if self.classifier.reject is not None:
            codes[self._highest < self.classifier.reject] = NONE
        return self._where_known(codes)

    @property
    def confidences(self) -> Codes:
        codes: Codes = np.rint(TOP * self._highest).astype(np.uint16)
        return codes

    @property
    def runners_up(self) -> Codes:
        others = self.probabilities.copy(order="K")
        np.put_along_axis(others, self._likeliest[:, None], -1, 1)
        return self._where_known(others.argmax(1).astype(np.uint16))

    @property
    def distances(self) -> Codes:
        """How unlike every example: the rank among all images, 0 the most alike."""
        numbers = np.flatnonzero(self.known)
        ranks = np.zeros(len(self.known), np.uint16)
        order = numbers[np.argsort(-self.likeness[numbers])]
        ranks[order] = np.linspace(0, TOP, len(order)).astype(np.uint16)
        return ranks

    @property
    def quality(self) -> str:
        return self.classifier.quality()

    def _where_known(self, codes: Codes) -> Codes:
        return np.where(self.known, codes, np.uint16(UNKNOWN))

    def table(self, session: Session) -> Sorted:
        """The same as rows, of the images that are known."""
        numbers = np.flatnonzero(self.known)
        return self._rows(numbers, [session.names[number] or "" for number in numbers])

    def of_the_folder(self, session: Session) -> tuple[Sorted, int]:
        """The rows of images that are files of the folder, as these are called on the disk; how
        many are not."""
        known = np.flatnonzero(self.known)
        named = [
            (number, file)
            for number in known.tolist()
            if (file := session.file(number)) is not None
        ]
        numbers = np.array([number for number, _ in named], np.int64)
        return self._rows(numbers, [file for _, file in named]), len(known) - len(named)

    def _rows(self, numbers: Numbers, files: list[str]) -> Sorted:
        return from_probabilities(self.classifier, tuple(files), self.probabilities[numbers])


class Sorter:
    """Sorts a session's images; the last result is kept, for all who ask the same."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._turn = threading.Lock()
        self._last: tuple[object, Sorting] | None = None

    def by_project(self, project: Project, version: int, reject: float | None) -> Sorting:
        view = self.session.view()
        with self._turn:  # those who ask at once wait for one answer
            asked = (version, reject, view.revision)
            if self._last is None or self._last[0] != asked:
                self._last = asked, self.sort(self._examples(project, view), reject, view)
            return self._last[1]

    def _examples(self, project: Project, view: View) -> dict[int, str]:
        """By number, in the order of their names: those that are there and embedded."""
        numbers, n = self.session.numbers, len(view.known)
        found = {numbers[f]: c for f, c in sorted(project.examples.items()) if f in numbers}
        known = {number: c for number, c in found.items() if number < n and view.known[number]}
        if len(set(known.values())) < 2:
            raise TooFewError("two classes need an example each, of images that are embedded")
        return known

    def sort(
        self, examples: Mapping[int, str], reject: float | None, view: View | None = None
    ) -> Sorting:
        """By examples: numbers of images and the classes they belong to, which they keep."""
        view = view or self.session.view()
        for number in examples:
            if not (0 <= number < len(view.known) and view.known[number]):
                raise PseudoshotError(f"there is no image {number}, or it is not embedded yet")
        numbers = np.fromiter(examples, np.int64, len(examples))
        labels = list(examples.values())
        known = np.flatnonzero(view.known)
        classifier = FewShotClassifier(
            self.session.embedder,
            classifier=self.session.chosen,
            unlabelled=view.rows[known[some_rows(len(known), seed=0)]],
            reject=reject,
        ).fit(view.rows[numbers], labels)
        columns = np.searchsorted(classifier.classes_, labels)
        means = _mean_directions(view, numbers, columns)
        probabilities, likeness = _scored(classifier, means, view)
        probabilities[numbers] = np.eye(len(means), dtype=probabilities.dtype)[columns]
        classes = [str(name) for name in classifier.classes_]
        return Sorting(classifier, classes, probabilities, view.known, likeness)


def _mean_directions(view: View, numbers: Numbers, columns: Numbers) -> Singles:
    """The direction of the mean of each class's examples, (classes, d)."""
    members = np.eye(columns.max() + 1, dtype=np.float32)[columns]
    means = members.T @ (view.rows[numbers] / view.lengths[numbers, None])
    directions: Singles = means / np.linalg.norm(means, axis=1, keepdims=True).clip(TINY)
    return directions


def _scored(classifier: FewShotClassifier, means: Singles, view: View) -> tuple[Floats, Singles]:
    """What `predict_proba` says of all images, and the cosine to the nearest of the means.

    Of a linear classifier both come from one product in single precision: a hundred thousand
    embeddings are read once, and never copied to double.
    """
    fitted, way = classifier.fitted_, len(means)
    if not isinstance(fitted, Linear):
        probabilities = np.zeros((len(view.rows), way))
        probabilities[view.known] = classifier.predict_proba(view.rows[view.known])
        return probabilities, (view.rows @ means.T).max(1) / view.lengths
    weight = fitted.weight[0].numpy() / classifier.temperature_
    bias = fitted.bias[0].numpy() / classifier.temperature_
    product = view.rows @ np.concatenate((weight, means)).astype(np.float32).T
    both = np.ascontiguousarray(product.T)  # (2 classes, n): what follows goes along classes
    scores = both[:way] + bias.astype(np.float32)[:, None]
    scores -= scores.max(0)
    probabilities = np.exp(scores, out=scores)
    probabilities /= probabilities.sum(0)
    return probabilities.T, both[way:].max(0) / view.lengths
