"""Photos of new classes told apart by a few labels: what this package gives, against what a
practitioner would do without it.

    python benchmarks/photos.py [DATA ...] [--model RUN ...] [--tasks 600] [--out FILE.json]

DATA is a named set or a folder with a subfolder per class: CUB and Tiny ImageNet's test classes
where none is given. The rivals are raw pixels, and histograms of oriented gradients joined with a
colour histogram. Every row meets the same tasks; the difference from the second rival is taken
within each task. All features go through the package's logistic regression, which is
scikit-learn's, solved for many tasks at once (the two are compared on some tasks in every run);
models also through the classifier they are made for.

How the rivals' features are made was chosen once, on Tiny ImageNet's validation classes (300 5-way
tasks): cells of 8 or 16 pixels, RGB or HSV in 64 to 512 bins, roots of pixels, scaling, the
strength of the penalty. Scaling is over all images of the set, which needs no label, and gained
HOG + colour 2.5, 4.2 and 3.4 points at 1, 5 and 20 shots.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from skimage.color import rgb2hsv
from skimage.feature import hog
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from turns import take_turns

import pseudoshot
from pseudoshot.classifiers import Classifier, build_classifier
from pseudoshot.data import ImageSet
from pseudoshot.embedders import bundled_models
from pseudoshot.evaluation import Evaluation, evaluate_embeddings
from pseudoshot.evaluation.comparison import differences
from pseudoshot.evaluation.few_shot import TaskSampler, predict
from pseudoshot.tools.console import console, progress_bar

SETS = ("cub", "tiny-imagenet")
PIXELS, GRADIENTS = "raw pixels", "HOG + colour"
PRETRAINED = "lite0"  # not in every installation
READ_AT_ONCE, TIMED = 256, 256  # images
CHECKED = 20  # tasks that scikit-learn is asked too

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Features:
    """A way to describe images (n, size, size, 3) by vectors (n, d), and who tells these apart."""

    name: str
    size: int
    read: Callable[[Bytes], torch.Tensor]
    classifiers: tuple[Classifier, ...]
    scaled: bool = False  # to mean 0 and deviation 1 over the set


def features_of(name: str, images: ImageSet | None = None) -> Features:
    """Of a rival, or of a model that the package can load; about the mean of the images, as when
    one sorts them, where its reading centres."""
    logistic = build_classifier("logistic")
    if name == PIXELS:
        return Features(name, 32, pixels, (logistic,), scaled=True)
    if name == GRADIENTS:
        return Features(name, 64, gradients_and_colour, (logistic,), scaled=True)
    model = pseudoshot.load(name)
    if images is not None:
        model = model.centred_on(images)
    chosen = {own.name: own for own in (model.classifier(), model.classifier("logistic"))}
    read = partial(model.embed, bar=False)
    return Features(name, model.card.size, read, tuple(chosen.values()))


def pixels(images: Bytes) -> torch.Tensor:
    return torch.from_numpy(images.reshape(len(images), -1) / np.float32(255))


def gradients_and_colour(images: Bytes) -> torch.Tensor:
    """Each of unit length, then joined."""
    rows = [np.concatenate((gradients(image), colours(image))) for image in images]
    return torch.from_numpy(np.stack(rows).astype(np.float32))


def gradients(image: Bytes) -> npt.NDArray[np.float64]:
    found = hog(image, pixels_per_cell=(16, 16), cells_per_block=(2, 2), channel_axis=-1)
    return found / max(np.linalg.norm(found), 1e-12)


def colours(image: Bytes) -> npt.NDArray[np.float64]:
    """The roots of a histogram's shares: of unit length, large shares no longer outweigh all."""
    values = rgb2hsv(image).reshape(-1, 3)
    counts, _ = np.histogramdd(values, bins=(8, 4, 4), range=[(0, 1)] * 3)
    return np.sqrt(counts.ravel() / len(values))


def read_all(features: Features, images: ImageSet) -> torch.Tensor:
    with progress_bar() as bar:
        starts = range(0, len(images), READ_AT_ONCE)
        parts = bar.track(starts, description=f"{features.name} of {images.name}")
        found = torch.cat([features.read(images.images[i : i + READ_AT_ONCE]) for i in parts])
    if features.scaled:
        found = torch.from_numpy(StandardScaler().fit_transform(found.numpy()))
    return found


def loaded(data: str, size: int) -> ImageSet:
    return pseudoshot.load_data(data, split="test", size=size)


def timed(name: str, data: str) -> Iterator[float]:
    """Milliseconds per image, from decoded images to features."""
    features = features_of(name)
    images = np.array(loaded(data, features.size).images[:TIMED])
    while True:
        start = time.perf_counter()
        features.read(images)
        yield 1000 * (time.perf_counter() - start) / len(images)


def agreement(described: torch.Tensor, images: ImageSet, way: int, shot: int, query: int) -> float:
    """Percent of queries to which scikit-learn's logistic regression gives the same answer."""
    generator = torch.Generator().manual_seed(0)
    tasks = TaskSampler(images).draw(way, shot, query, CHECKED, generator)
    ours = predict(described, tasks, build_classifier("logistic"))
    labels = np.repeat(np.arange(way), shot)
    same = []
    for support, asked, answers in zip(tasks.support, tasks.query, ours, strict=True):
        examples = described[support.flatten()].double().numpy()
        centre = examples.mean(0)
        scale = np.sqrt(np.square(examples - centre).sum(1).mean())
        model = LogisticRegression(max_iter=10_000, tol=1e-8)
        model.fit((examples - centre) / scale, labels)
        theirs = model.predict((described[asked.flatten()].double().numpy() - centre) / scale)
        same.append(theirs == answers.flatten().numpy())
    return 100 * float(np.mean(same))


@dataclass(frozen=True)
class Row:
    features: str
    classifier: str
    evaluations: tuple[Evaluation, ...]  # one for each way


def measured(data: str, names: Sequence[str], options: argparse.Namespace) -> list[Row]:
    """Every kind of features on the same tasks of one set."""
    rows = []
    for name in names:
        images = loaded(data, features_of(name).size)
        features = features_of(name, images)
        ways, shots = possible(images, options)
        described = read_all(features, images)
        for classifier in features.classifiers:
            numbers = {"query": options.query, "tasks": options.tasks, "seed": options.seed}
            evaluations = tuple(
                evaluate_embeddings(described, images, classifier, way=way, shots=shots, **numbers)
                for way in ways
            )
            rows.append(Row(name, classifier.name, evaluations))
        if name == GRADIENTS:
            same = agreement(described, images, ways[0], shots[-1], options.query)
            print(
                f"{data}: scikit-learn gives the same answer to {same:.1f} % of the queries of "
                f"{CHECKED} tasks"
            )
    return rows


def possible(images: ImageSet, options: argparse.Namespace) -> tuple[list[int], list[int]]:
    """Ways and shots the set has classes and images for; or the smallest, which is then refused."""
    most = int(images.class_counts().min()) - options.query
    ways = [way for way in options.way if way <= len(images.classes)]
    shots = [shot for shot in options.shot if shot <= most]
    return ways or [min(options.way)], shots or [min(options.shot)]


def as_dicts(rows: Sequence[Row], milliseconds: dict[str, float]) -> list[dict[str, Any]]:
    """The rows with their difference from HOG + colour, as they are printed and saved."""
    rival = next(row for row in rows if row.features == GRADIENTS)
    return [
        {
            "features": row.features,
            "classifier": row.classifier,
            "milliseconds": milliseconds[row.features],
            "results": [
                {
                    "way": own.way,
                    "shot": result.shot,
                    "accuracy": result.accuracy,
                    "interval": result.interval,
                    "difference": more.difference,
                    "difference_interval": more.interval,
                }
                for own, theirs in zip(row.evaluations, rival.evaluations, strict=True)
                for result, more in zip(own.results, differences(theirs, own), strict=True)
            ],
        }
        for row in rows
    ]


def table(rows: Sequence[dict[str, Any]]) -> str:
    tasks = [f"{one['way']}-way {one['shot']}-shot" for one in rows[0]["results"]]
    lines = [
        ["features", "classifier", "ms per image", *tasks],
        ["---"] * (3 + len(tasks)),
    ]
    for row in rows:
        cells = [cell(result, row["features"] != GRADIENTS) for result in row["results"]]
        lines.append([row["features"], row["classifier"], f"{row['milliseconds']:.2f}", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(result: dict[str, Any], compared: bool) -> str:
    shown = f"{result['accuracy']:.1f} ± {result['interval']:.1f}"
    more = f"{result['difference']:+.1f} ± {result['difference_interval']:.1f}"
    return f"{shown} ({more})" if compared else shown


def available(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The sets and features there are: what was asked for must be, the rest is passed over."""
    of_photos = [name for name in bundled_models() if not pseudoshot.load(name).card.characters]
    data, models = list(options.data), [*of_photos, *options.model]
    for name in () if data else SETS:
        try:
            loaded(name, features_of(GRADIENTS).size)
            data.append(name)
        except pseudoshot.PseudoshotError as reason:
            console.print(f"{name} is left out: {reason}", soft_wrap=True, markup=False)
    try:
        pseudoshot.load(PRETRAINED)
        models.append(PRETRAINED)
    except pseudoshot.PseudoshotError as reason:
        console.print(f"{PRETRAINED} is left out: {reason}", soft_wrap=True, markup=False)
    return data, list(dict.fromkeys((PIXELS, GRADIENTS, *models)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("data", nargs="*", help="named sets, or folders with a subfolder per class")
    parser.add_argument("--model", action="append", default=[], help="a run folder; repeatable")
    parser.add_argument("--way", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--shot", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--query", type=int, default=15)
    parser.add_argument("--tasks", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=7, help="of timing, the features in turn")
    parser.add_argument("--out", type=Path, help="a JSON file for all that is printed")
    options = parser.parse_args()
    data, names = available(options)
    if not data:
        raise SystemExit("no set to measure on: give a folder with a subfolder per class")
    sides = {name: (timed, (name, data[0])) for name in names}
    turns = take_turns(sides, options.rounds, threads=1)
    milliseconds = {name: statistics.median(times) for name, times in turns.items()}
    print(
        f"{options.tasks} tasks, {options.query} queries per class, seed {options.seed}: percent "
        f"right ± 95 % interval (and what that is more than {GRADIENTS}, task by task). Features "
        f"on one thread, median of {options.rounds} rounds in turn."
    )
    found = {}
    for name in data:
        found[name] = as_dicts(measured(name, names, options), milliseconds)
        print(f"\n**{name}**\n\n{table(found[name])}", flush=True)
    if options.out:
        protocol = {key: getattr(options, key) for key in ("query", "tasks", "seed", "rounds")}
        versions = {"pseudoshot": pseudoshot.__version__, "torch": torch.__version__}
        told = {**protocol, "versions": versions, "sets": found}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
