"""What a person does with a folder of images: sort it by a few examples, or embed it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np

from pseudoshot.data import ImageSet
from pseudoshot.data import load as load_data
from pseudoshot.data.loading import expanded
from pseudoshot.embedders import load
from pseudoshot.sorting.estimator import FewShotClassifier
from pseudoshot.sorting.inputs import Floats, images_of_folder
from pseudoshot.sorting.saved import load_classifier
from pseudoshot.sorting.table import Sorted, read_labels, write_csv
from pseudoshot.tools.console import progress_bar
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import is_file, refuse_existing, replaced


def classify_folder(
    run: str | Path,
    images: Path,
    *,
    support: Path | None = None,
    csv: Path,
    sort_into: Path | None = None,
    copy: bool = False,
    classifier: str | None = None,
    reading: str | None = None,
    views: int | None = None,
    reject: float | None = None,
) -> Sorted:
    """Label the images of a folder from those of `support`, one subfolder per class; write a CSV.

    `support` may also be a table of some of the images with their labels, such as that CSV after
    corrections. `run` may also be a saved classifier, which needs no support.

    >>> classify_folder("conv4-cifar-fs", Path("new"), support=Path("some"), csv=Path("l.csv"))
    ... # doctest: +SKIP
    """
    images = expanded(images)
    support = None if support is None else expanded(support)
    refuse_existing(csv)
    if sort_into is not None:
        _check_destination(sort_into, (images, support))
    if is_file(Path(run)) and Path(run).suffix != ".onnx":
        if any(given is not None for given in (support, classifier, reading, views)):
            raise PseudoshotError(
                f"'{run}' is a classifier fitted already: "
                f"leave out --support, --classifier, --reading and --views"
            )
        fitted = load_classifier(run)
        fitted.rejecting(fitted.reject if reject is None else reject)
    elif support is None:
        raise PseudoshotError("give --support: a folder with one subfolder per class, or a table")
    else:
        fitted = FewShotClassifier(
            load(run, reading),
            classifier=classifier,
            unlabelled=images,
            views=views or 0,
            reject=reject,
        )
        fitted.fit(*(read_labels(support, images) if is_file(support) else (support,)))
    if fitted.embedder_ is None:
        raise PseudoshotError(f"'{run}' classifies feature vectors, not images")
    result = label(fitted, images_of_folder(images, fitted.embedder_.card.size))
    with replaced(csv) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        write_csv(result, file)
    if sort_into is not None:
        _sort(result, images, sort_into, copy)
    return result


def label(classifier: FewShotClassifier, images: ImageSet) -> Sorted:
    """Every image of a set by its likeliest class."""
    return from_probabilities(
        classifier, images.files, classifier.predict_proba(images), images.skipped
    )


def from_probabilities(
    classifier: FewShotClassifier,
    files: tuple[str, ...],
    probabilities: Floats,
    skipped: tuple[str, ...] = (),
) -> Sorted:
    held_out = classifier.held_out_
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :2]
    seconds = classifier.classes_[order[:, 1]] if order.shape[1] > 1 else np.full(len(order), "")
    return Sorted(
        files,
        tuple(map(str, classifier.labels_of(probabilities))),
        tuple(probabilities.max(1).tolist()),
        tuple(map(str, seconds)),
        skipped,
        held_out.in_words(classifier.classes_.tolist()) if held_out is not None else "",
        tuple(map(str, classifier.classes_)),
        probabilities,
    )


def embed_folder(
    run: str | Path, images: str | Path, out: Path, reading: str | None = None
) -> tuple[int, int]:
    """Write the embeddings of a folder or a named set as .npz; how many, and of what length."""
    if out.suffix != ".npz":
        raise PseudoshotError(f"'{out}': the file to write must end in .npz")
    refuse_existing(out)
    embedder = load(run, reading)
    image_set = load_data(images, size=embedder.card.size)
    embedder = embedder.centred_on(image_set)
    arrays = {"embeddings": embedder.embed(image_set).numpy(), "files": np.array(image_set.files)}
    if image_set.labels is not None:
        arrays |= {"labels": image_set.labels, "classes": np.array(image_set.classes)}
    with replaced(out) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    count, dim = arrays["embeddings"].shape
    return count, dim


def sort_into(result: Sorted, images: Path, into: Path, copy: bool) -> None:
    """Make a new folder with a subfolder per class, of links to the images or of copies."""
    try:
        _check_destination(into, (images,))
        _sort(result, images, into, copy)
    except OSError as error:
        raise PseudoshotError(f"'{into}' cannot be made: {first_line(error)}") from error


def _check_destination(folder: Path, sources: tuple[Path | None, ...]) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PseudoshotError(f"'{folder}' is not empty: name a new folder to sort into")
    for source in sources:
        if source is not None and folder.resolve().is_relative_to(source.resolve()):
            raise PseudoshotError(
                f"'{folder}' lies within '{source}', whose images would be found twice from then "
                f"on: name a folder elsewhere"
            )


def _sort(result: Sorted, images: Path, into: Path, copy: bool) -> None:
    """A link to, or a copy of, every image below the folder of its class, under its own name."""
    folders = folder_names(sorted(set(result.labels)))
    with progress_bar() as bar:
        pairs = list(zip(result.files, result.labels, strict=True))
        for file, label in bar.track(pairs, description="sorting"):
            target = into / folders[label] / file
            target.parent.mkdir(parents=True, exist_ok=True)
            if copy:
                shutil.copy2(images / file, target)
            else:
                _link(target, (images / file).resolve())


def _link(target: Path, original: Path) -> None:
    try:
        target.symlink_to(original)
    except OSError as error:
        raise PseudoshotError(
            f"a link cannot be made in '{target.parent}' ({error.strerror}): give --copy"
        ) from error


def folder_names(labels: list[str]) -> dict[str, str]:
    """A folder name for each label, however the label is written; no two the same.

    >>> folder_names(["cats", "a/b", "a:b", ".."])
    {'cats': 'cats', 'a/b': 'a_b', 'a:b': 'a_b_2', '..': '_'}
    """
    names: dict[str, str] = {}
    for label in labels:
        plain = re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", label)[:100].strip(". ") or "_"
        name, number = plain, 1
        while name.casefold() in map(str.casefold, names.values()):
            number += 1
            name = f"{plain}_{number}"
        names[label] = name
    return names
