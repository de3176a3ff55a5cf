"""What accuracy to expect of `FewShotClassifier` from 1, 5 and 20 labels per class, and whether its
confidence means what it says.

Tasks of five classes and 15 further images of each; every classifier sees the same tasks.

    python benchmarks/expected_accuracy.py [MODEL] [SET ...]
"""

from __future__ import annotations

import sys

import numpy as np

import pseudoshot

WAY, SHOTS, QUERY, TASKS = 5, (1, 5, 20), 15, 500
NAMES = ("prototype", "logistic", "ridge")


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else "conv4-cifar-fs"
    for data in sys.argv[2:] or ["cifar-fs:test", "cub:test"]:
        embedder = pseudoshot.load(model)
        images = pseudoshot.load_data(data, size=embedder.card.size)
        embeddings = embedder.embed(images).double().numpy()
        print(f"{model} on {data}, {WAY} classes, {TASKS} tasks, seed 0")
        for shot in SHOTS:
            print(
                f"  {shot:2} per class   " + "   ".join(measured(embeddings, images, shot)),
                flush=True,
            )


def measured(embeddings, images, shot: int) -> list[str]:
    """For each classifier its accuracy with interval, and its mean confidence."""
    rows_of = [np.flatnonzero(images.labels == c) for c in range(len(images.classes))]
    random = np.random.default_rng(0)
    right = {name: [] for name in NAMES}
    confidence = {name: [] for name in NAMES}
    for _ in range(TASKS):
        classes = random.choice(len(rows_of), WAY, replace=False)
        rows = np.stack([random.choice(rows_of[c], shot + QUERY, replace=False) for c in classes])
        support, queries = rows[:, :shot].ravel(), rows[:, shot:].ravel()
        for name in NAMES:
            classifier = pseudoshot.FewShotClassifier(classifier=name)
            classifier.fit(embeddings[support], images.labels[support])
            likely = classifier.predict_proba(embeddings[queries])
            found = classifier.labels_of(likely)
            right[name].append(100 * float((found == images.labels[queries]).mean()))
            confidence[name].append(100 * float(likely.max(1).mean()))
    return [
        f"{name} {np.mean(right[name]):.1f} ± {1.96 * np.std(right[name]) / TASKS**0.5:.1f} "
        f"(confidence {np.mean(confidence[name]):.1f})"
        for name in NAMES
    ]


if __name__ == "__main__":
    main()
