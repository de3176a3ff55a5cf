"""How sure to be from a few labels: the constants of `sorting/calibration.py`, on validation
classes.

    python benchmarks/calibration.py [MODEL ...] [--set SET ...] [--folders 40]
        [--embeddings FOLDER]

Folders are drawn of 2, 5 and 15 validation classes with 1, 5 and 20 labels and 20 further images
per class. Of each it is noted how often the further images are given the same labels by others in
place of the examples, how many examples were right when held out, and how many of the further
images are. Mean confidence is by construction the share that the rule expects to be right, so a
rule is judged by that. Printed are the errors of the rule as it is, and of the best of a grid of
its constants: the one whose mean errors, by model, set, classes and labels, are smallest squared.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from expected_accuracy import drawn, of_set

import pseudoshot
from pseudoshot.sorting import calibration as rule
from pseudoshot.sorting.held_out import HeldOut, scores_of, settle, support_of

MODELS = ("conv4-cifar-fs", "resnet-tiny-imagenet")
SETS = ("cifar-fs:val", "tiny-imagenet:val")
WAYS, SHOTS, QUERY = (2, 5, 15), (1, 5, 20), 20
GRID = {
    "FACTOR": (1.0, 1.3, 1.7, 2.2),
    "POWER": (1.0, 1.25, 1.5, 1.75, 2.0),
    "AS_GOOD_AS": (5, 10, 20),
}

Kind = tuple[str, str, int, int]
Errors = dict[Kind, float]


@dataclass(frozen=True)
class Folder:
    """What can be known of one, and the share of its further images that is right."""

    of: Kind  # model, set, classes, labels per class
    agreed: float
    held_out: HeldOut
    right: float

    @property
    def expected(self) -> float:
        _, _, way, shot = self.of
        agreed = self.agreed if len(self.held_out.labels) < rule.ENOUGH else None
        return rule.expected_share(self.held_out, agreed, way, way * shot)


def folders_of(model: str, data: str, kept: Path | None, count: int) -> list[Folder]:
    embedder = pseudoshot.load(model)
    embeddings, labels = of_set(model, data, kept)
    found = []
    for way, shot in itertools.product(WAYS, SHOTS):
        enough, tasks = drawn(labels, way, shot, QUERY, count)
        vectors, truth = embeddings[enough], np.repeat(np.arange(way), QUERY)
        for examples, others in zip(tasks.support, tasks.query, strict=True):
            seen, told = vectors[others.flatten()], np.repeat(np.arange(way), shot)
            support = support_of(vectors[examples.flatten()], told, way)
            settled = settle(embedder.classifier("auto"), support, seed=0)
            labelled = scores_of(settled.classifier.fit(support), seen).argmax(1)
            agreed = rule.agreement(settled.classifier, labelled, support, seen)
            right = float((labelled == truth).mean())
            found.append(Folder((model, data, way, shot), agreed, settled.held_out, right))
    return found


def errors(folders: list[Folder]) -> Errors:
    """Points by which the rule is too sure, on average over the folders of a kind."""
    by_kind: dict[Kind, list[float]] = {}
    for folder in folders:
        by_kind.setdefault(folder.of, []).append(100 * (folder.expected - folder.right))
    return {kind: float(np.mean(values)) for kind, values in by_kind.items()}


def search(
    folders: list[Folder],
) -> tuple[dict[str, float], dict[tuple[str, str, int, int], float]]:
    """The constants whose errors are smallest, and these."""
    best, least = {}, {}
    for values in itertools.product(*GRID.values()):
        chosen = dict(zip(GRID, values, strict=True))
        for name, value in chosen.items():
            setattr(rule, name, value)
        found = errors(folders)
        if not least or np.square(list(found.values())).sum() < np.square([*least.values()]).sum():
            best, least = chosen, found
    return best, least


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--set", action="append", dest="sets")
    parser.add_argument("--folders", type=int, default=40)
    parser.add_argument("--embeddings", type=Path)
    given = parser.parse_args()
    folders: list[Folder] = []
    for model, data in itertools.product(given.models, given.sets or SETS):
        folders += folders_of(model, data, given.embeddings, given.folders)
    now = {name: getattr(rule, name) for name in GRID}
    before = errors(folders)
    best, after = search(folders)
    print(f"points too sure, {given.folders} folders each, seed 0: as it is {now}, best {best}")
    for kind, error in before.items():
        model, data, way, shot = kind
        print(
            f"{model} on {data}, {way:2} classes, {shot:2} per class: {error:+.1f}, "
            f"best {after[kind]:+.1f}"
        )


if __name__ == "__main__":
    main()
