"""What accuracy to expect of `FewShotClassifier` from 1, 5 and 20 labels a class, and whether its
confidence means what it says.

Tasks of five classes and 15 further images of each; every head sees the same tasks.

    python benchmarks/expected_accuracy.py [MODEL] [SET ...]
"""

from __future__ import annotations

import sys

import numpy as np
from pseudoshot.sorting.heads import HEADS

import pseudoshot

WAY, SHOTS, QUERY, TASKS = 5, (1, 5, 20), 15, 500


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else "conv4-cifar-fs"
    for data in sys.argv[2:] or ["cifar-fs:test", "cub:test"]:
        embedder = pseudoshot.load(model)
        images = pseudoshot.load_data(data, size=embedder.card.size)
        embeddings = embedder.embed(images).double().numpy()
        print(f"{model} on {data}, {WAY} classes, {TASKS} tasks, seed 0")
        for shot in SHOTS:
            print(
                f"  {shot:2} a class   " + "   ".join(measured(embeddings, images, shot)),
                flush=True,
            )


def measured(embeddings, images, shot: int) -> list[str]:
    """For each head its accuracy with interval, and its mean confidence."""
    rows_of = [np.flatnonzero(images.labels == c) for c in range(len(images.classes))]
    random = np.random.default_rng(0)
    right = {head: [] for head in HEADS}
    confidence = {head: [] for head in HEADS}
    for _ in range(TASKS):
        classes = random.choice(len(rows_of), WAY, replace=False)
        rows = np.stack([random.choice(rows_of[c], shot + QUERY, replace=False) for c in classes])
        support, queries = rows[:, :shot].ravel(), rows[:, shot:].ravel()
        for head in HEADS:
            classifier = pseudoshot.FewShotClassifier(head=head)
            classifier.fit(embeddings[support], images.labels[support])
            likely = classifier.predict_proba(embeddings[queries])
            found = classifier.labels_of(likely)
            right[head].append(100 * float((found == images.labels[queries]).mean()))
            confidence[head].append(100 * float(likely.max(1).mean()))
    return [
        f"{head} {np.mean(right[head]):.1f} ± {1.96 * np.std(right[head]) / TASKS**0.5:.1f} "
        f"(confidence {np.mean(confidence[head]):.1f})"
        for head in HEADS
    ]


if __name__ == "__main__":
    main()
