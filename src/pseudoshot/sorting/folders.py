"""What a person does with a folder of images: sort it by a few examples, or embed it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pseudoshot.data import ImageSet, is_named
from pseudoshot.data import load as load_data
from pseudoshot.data.decode import decode
from pseudoshot.data.loading import expanded
from pseudoshot.embedders import Embedder, load
from pseudoshot.sorting.estimator import FewShotClassifier, classifier_for_sorting
from pseudoshot.sorting.inputs import Floats, images_of_folder, to_image_set
from pseudoshot.sorting.placing import check_destination, place
from pseudoshot.sorting.saved import load_classifier
from pseudoshot.sorting.table import Sorted, read_labels, write_csv
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import is_file, refuse_existing, replaced


def classify_folder(
    run: str | Path,
    images: Path,
    *,
    support: Path | None = None,
    csv: Path,
    all_probabilities: bool = False,
    save: Path | None = None,
    sort_into: Path | None = None,
    copy: bool = False,
    classifier: str | None = None,
    reading: str | None = None,
    reject: float | None = None,
) -> Sorted:
    """Label the images of a folder from those of `support`, one subfolder per class; write a CSV.

    `support` may also be a table of some of the images with their labels, such as that CSV after
    corrections. `run` may also be a saved classifier, which needs no support; `save` is where to
    leave one. `images` may also be one file.

    >>> classify_folder("conv4-cifar-fs", Path("new"), support=Path("some"), csv=Path("l.csv"))
    ... # doctest: +SKIP
    """
    images = expanded(images)
    folder = images.parent if is_file(images) else images
    support = None if support is None else expanded(support)
    refuse_existing(csv)
    if save is not None:
        _check_file(save, ".safetensors")
    if sort_into is not None:
        check_destination(sort_into, (folder, support))
    if is_file(Path(run)) and Path(run).suffix != ".onnx":
        if any(given is not None for given in (support, classifier, reading)):
            raise PseudoshotError(
                f"'{run}' is a classifier fitted already: "
                f"leave out --support, --classifier and --reading"
            )
        fitted, result = _by_saved(run, images, reject)
    elif support is None:
        raise PseudoshotError("give --support: a folder with one subfolder per class, or a table")
    else:
        embedder = load(run, reading)
        # what is refused is so before the work of embedding
        classifier_for_sorting(embedder, classifier)
        examples = _examples(support, folder, embedder.card.size)
        fitted, result = _by_examples(embedder, examples, images, classifier, reject)
    if save is not None:
        fitted.save(save)
    if sort_into is not None:
        place(result, folder, sort_into, copy)
    # last: where there was no room for the images, the same can be asked for again
    with replaced(csv) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        write_csv(result, file, all_probabilities)
    return result


def _by_saved(
    file: str | Path, images: Path, reject: float | None
) -> tuple[FewShotClassifier, Sorted]:
    fitted = load_classifier(file)
    fitted.rejecting(fitted.reject if reject is None else reject)
    if fitted.embedder_ is None:
        raise PseudoshotError(f"'{file}' classifies feature vectors, not images")
    image_set = images_at(images, fitted.embedder_.card.size)
    probabilities = fitted.predict_proba(image_set)
    return fitted, from_probabilities(fitted, image_set.files, probabilities, image_set.skipped)


def _by_examples(
    embedder: Embedder,
    examples: tuple[ImageSet, list[str]],
    images: Path,
    classifier: str | None,
    reject: float | None,
) -> tuple[FewShotClassifier, Sorted]:
    """The images are embedded once, for their mean, for confidence and for their labels."""
    image_set = images_at(images, embedder.card.size)
    embedder = embedder.centred_on(image_set)
    embeddings = embedder.embed(image_set).numpy()
    fitted = FewShotClassifier(
        embedder, classifier=classifier, unlabelled=embeddings, reject=reject
    ).fit(*examples)
    probabilities = fitted.predict_proba(embeddings)
    return fitted, from_probabilities(fitted, image_set.files, probabilities, image_set.skipped)


def images_at(place: Path, size: int) -> ImageSet:
    """Those of a folder, however deep, or one file."""
    place = expanded(place)
    if not is_file(place):
        return images_of_folder(place, size)
    try:
        return ImageSet(place.name, decode(place, size)[None], files=(place.name,))
    except PseudoshotError as error:
        raise PseudoshotError(f"'{place}' cannot be read: {error}") from error


def _examples(support: Path, images: Path, size: int) -> tuple[ImageSet, list[str]]:
    """Those of a folder with one subfolder per class, or those that a table names."""
    if is_file(support):
        files, labels = read_labels(support, images)
        return to_image_set(files, size), labels
    examples = images_of_folder(support, size, labelled=True)
    examples.class_counts()  # refuses a folder without subfolders
    return examples, np.array(examples.classes)[examples.labels].tolist()


def from_probabilities(
    classifier: FewShotClassifier,
    files: tuple[str, ...],
    probabilities: Floats,
    skipped: tuple[str, ...] = (),
) -> Sorted:
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :2]
    seconds = classifier.classes_[order[:, 1]] if order.shape[1] > 1 else np.full(len(order), "")
    return Sorted(
        files,
        tuple(map(str, classifier.labels_of(probabilities))),
        tuple(probabilities.max(1).tolist()),
        tuple(map(str, seconds)),
        skipped,
        classifier.quality(),
        tuple(map(str, classifier.classes_)),
        probabilities,
    )


def embed_folder(
    run: str | Path, images: str | Path, out: Path, reading: str | None = None
) -> tuple[int, int]:
    """Write the embeddings of a folder, one file or a named set as .npz; how many, and of what
    length."""
    _check_file(out, ".npz")
    embedder = load(run, reading)
    size, one_file = embedder.card.size, is_file(expanded(images)) and not is_named(str(images))
    image_set = images_at(Path(images), size) if one_file else load_data(images, size=size)
    embedder = embedder.centred_on(image_set)
    arrays = {"embeddings": embedder.embed(image_set).numpy(), "files": np.array(image_set.files)}
    if image_set.labels is not None:
        arrays |= {"labels": image_set.labels, "classes": np.array(image_set.classes)}
    with replaced(out) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    count, dim = arrays["embeddings"].shape
    return count, dim


def _check_file(file: Path, ending: str) -> None:
    if file.suffix != ending:
        raise PseudoshotError(f"'{file}': the file to write must end in {ending}")
    refuse_existing(file)
