"""Which images to label first: `suggest` against random choice, accuracy for the same labels.

A task is a pool of unlabelled images of five classes. Some of them are chosen and labelled, and
`FewShotClassifier` names the rest of the pool. Random choice and `suggest` see the same pools; the
interval is that of their difference.

    python benchmarks/suggest.py [cifar-fs:val] [tasks]
"""

from __future__ import annotations

import sys

import numpy as np

import pseudoshot
from pseudoshot.sorting import FewShotClassifier
from pseudoshot.sorting.suggesting import suggest_rows

WAY, IMAGES_A_CLASS = 5, 100
LABELS = (5, 10, 20)


def accuracy(embeddings, labels, chosen) -> float:
    rest = np.setdiff1d(np.arange(len(labels)), chosen)
    classifier = FewShotClassifier().fit(embeddings[chosen], labels[chosen])
    return 100 * float((classifier.predict(embeddings[rest]) == labels[rest]).mean())


def main() -> None:
    data = sys.argv[1] if len(sys.argv) > 1 else "cifar-fs:val"
    tasks = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    images = pseudoshot.load_data(data)
    embeddings = pseudoshot.load("conv4-cifar-fs").embed(images).double().numpy()
    rows_of = [np.flatnonzero(images.labels == c) for c in range(len(images.classes))]
    print(f"{data}, conv4-cifar-fs, {tasks} pools of {WAY} x {IMAGES_A_CLASS} images, seed 0")
    for count in LABELS:
        random = np.random.default_rng(0)
        scores = np.empty((tasks, 2))
        for task in range(tasks):
            classes = random.choice(len(rows_of), WAY, replace=False)
            pool = np.concatenate(
                [random.choice(rows_of[c], IMAGES_A_CLASS, replace=False) for c in classes]
            )
            sides = (
                random.choice(len(pool), count, replace=False),
                np.array(suggest_rows(embeddings[pool], count, seed=task)),
            )
            scores[task] = [accuracy(embeddings[pool], images.labels[pool], s) for s in sides]
        gain = scores[:, 1] - scores[:, 0]
        half = 1.96 * np.vstack((scores.T, gain)).std(1, ddof=1) / tasks**0.5
        print(
            f"{count:3} labels: random {scores[:, 0].mean():.2f} ± {half[0]:.2f}, "
            f"suggest {scores[:, 1].mean():.2f} ± {half[1]:.2f}, "
            f"gain {gain.mean():.2f} ± {half[2]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
