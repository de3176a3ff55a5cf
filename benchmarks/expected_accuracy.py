"""What accuracy to expect of a few labels per class, what `auto` gains over each classifier that it
could have been, and whether confidence means what it says.

Accuracy is that of test tasks with 15 further images per class; every classifier sees the same, and
differences are taken within each. Confidence is that of `FewShotClassifier` on some tasks of up to
20 further images per class, on which it is calibrated as `classify` does on a folder, and without.

    python benchmarks/expected_accuracy.py [MODEL] [SET ...] [--way 5] [--shot 1 --shot 5]
        [--tasks 500] [--folders 100] [--embeddings FOLDER]

`--embeddings` keeps what the model says of a set, so that the next run need not ask it again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

import pseudoshot
from pseudoshot.data import ImageSet
from pseudoshot.evaluation.few_shot import TaskSampler, mean_and_interval, score_tasks

QUERY, QUERY_OF_FOLDERS = 15, 20
NAMES = ("auto", "prototype", "logistic", "ridge", "svm")
SETS = ("cifar-fs:test", "cub:test", "tiny-imagenet:test")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default="conv4-cifar-fs")
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--way", type=int, action="append")
    parser.add_argument("--shot", type=int, action="append")
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--folders", type=int, default=100)
    parser.add_argument("--embeddings", type=Path)
    given = parser.parse_args()
    for data in given.sets:
        embedder = pseudoshot.load(given.model)
        embeddings, labels = of_set(given.model, data, given.embeddings)
        for way in given.way or (5, 20):
            print(f"{given.model} on {data}, {way} classes, seed 0")
            for shot in given.shot or (1, 3, 5, 20):
                if given.tasks:
                    compare(embedder, embeddings, labels, way, shot, given.tasks)
                if given.folders:
                    confidence(embedder, embeddings, labels, way, shot, given.folders)


def of_set(model: str, data: str, kept: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """What the model says of a set's images about their mean, as `classify` reads a folder."""
    path = None if kept is None else kept / f"{model}__{data.replace(':', '_')}.npz"
    if path is not None and path.is_file():
        with np.load(path) as arrays:
            return arrays["z"], arrays["y"]
    embedder = pseudoshot.load(model)
    images = pseudoshot.load_data(data, size=embedder.card.size)
    embeddings = embedder.centred_on(images).embed(images).double().numpy()
    if path is not None:
        np.savez(path, z=embeddings, y=images.labels)
    return embeddings, images.labels


def drawn(labels: np.ndarray, way: int, shot: int, query: int, tasks: int):
    """Tasks of the classes that have enough images."""
    enough = np.bincount(labels)[labels] >= shot + query
    classes, of_enough = np.unique(labels[enough], return_inverse=True)
    names = tuple(map(str, classes))
    images = ImageSet("set", np.zeros((len(of_enough), 1, 1, 1), np.uint8), of_enough, names)
    generator = torch.Generator().manual_seed(0)
    return enough, TaskSampler(images).draw(way, shot, query, tasks, generator)


def compare(embedder, embeddings, labels, way, shot, count) -> None:
    """Percent right by each classifier, and how far `auto` is ahead of it."""
    enough, tasks = drawn(labels, way, shot, QUERY, count)
    vectors = torch.from_numpy(embeddings[enough])
    right = {name: 100 * score_tasks(vectors, tasks, embedder.classifier(name)) for name in NAMES}
    told = [f"{name} {shown(scores)}" for name, scores in right.items()]
    ahead = [f"of {name} {shown(right['auto'] - right[name], '+.2f')}" for name in NAMES[1:]]
    print(f"  {shot:2} per class  {'  '.join(told)}; auto ahead {'  '.join(ahead)}", flush=True)


def confidence(embedder, embeddings, labels, way, shot, count) -> None:
    """Percent right and mean confidence, with the folder's other images and without."""
    query = min(QUERY_OF_FOLDERS, int(np.sort(np.bincount(labels))[-way]) - shot)
    enough, tasks = drawn(labels, way, shot, query, count)
    vectors, truth = embeddings[enough], np.repeat(np.arange(way), query)
    found = []
    for support, queries in zip(tasks.support, tasks.query, strict=True):
        seen, line = vectors[queries.flatten()], []
        for unlabelled in (seen, None):
            classifier = pseudoshot.FewShotClassifier(embedder, unlabelled=unlabelled)
            classifier.fit(vectors[support.flatten()], np.repeat(np.arange(way), shot))
            likely = classifier.predict_proba(seen)
            line += [100 * likely.max(1).mean()]
        found.append([100 * (likely.argmax(1) == truth).mean(), *line])
    right, after, before = np.mean(found, axis=0)
    interval = mean_and_interval(torch.tensor(found)[:, 0])[1]
    print(
        f"  {shot:2} per class  right {right:.1f} ± {interval:.1f}, confidence {after:.1f} "
        f"({after - right:+.1f}), without the folder's images {before:.1f} ({before - right:+.1f})",
        flush=True,
    )


def shown(scores: torch.Tensor, form: str = ".1f") -> str:
    mean, interval = mean_and_interval(scores)
    return f"{mean:{form}} ± {interval:{form.strip('+')}}"


if __name__ == "__main__":
    main()
