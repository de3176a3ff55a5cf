"""Scoring 10,000 tasks at 1, 5, 20 and 50 shots, this project against embedding task by task.

    python benchmarks/scoring.py [--rounds 3] [--threads 2] [--plain-tasks 10]

20 classes of 600 images at 32 px, as CIFAR-FS has them, and Conv4. Ours is timed whole: embedding
the set once, drawing and scoring all 40,000 tasks. The plain way is timed on a few tasks a shot and
scaled to 10,000, as all of it would take an hour.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

from pseudoshot.backbones import build_backbone
from pseudoshot.data import ImageSet
from pseudoshot.embedders import Embedder, ModelCard
from pseudoshot.evaluation import evaluate
from pseudoshot.evaluation.few_shot import DEFAULT_SHOTS
from pseudoshot.tools.allocator import keep_freed_memory

WAY, QUERY, TASKS = 5, 15, 10_000


def make_set() -> ImageSet:
    pixels = np.random.default_rng(0).integers(0, 256, (12_000, 32, 32, 3), dtype=np.uint8)
    labels = np.repeat(np.arange(20), 600)
    return ImageSet("random", pixels, labels, tuple(f"class {c}" for c in range(20)))


def make_embedder() -> Embedder:
    backbone = build_backbone("conv4", 3, 32)
    half = (0.5, 0.5, 0.5)
    card = ModelCard(backbone="conv4", channels=3, size=32, mean=half, std=half, similarity="sns")
    return Embedder(backbone, card).eval()


@torch.inference_mode()
def plain_task(embedder: Embedder, images: ImageSet, shot: int, draw: np.random.Generator) -> float:
    classes = draw.choice(20, WAY, replace=False)
    rows = np.stack([c * 600 + draw.choice(600, shot + QUERY, replace=False) for c in classes])
    z = embedder.backbone(embedder.preprocess(images.images[rows.flatten()]))
    z = z.view(WAY, shot + QUERY, -1)
    prototypes = torch.nn.functional.normalize(z[:, :shot].mean(1), dim=1)
    predicted = (z[:, shot:] @ prototypes.T).argmax(-1)
    return float((predicted == torch.arange(WAY)[:, None]).float().mean())


def plain_seconds(embedder: Embedder, images: ImageSet, tasks: int) -> float:
    """Seconds for all shots and TASKS tasks, from `tasks` measured tasks a shot."""
    draw = np.random.default_rng(0)
    start = time.perf_counter()
    for shot in DEFAULT_SHOTS:
        for _ in range(tasks):
            plain_task(embedder, images, shot, draw)
    return (time.perf_counter() - start) / tasks * TASKS


def our_seconds(embedder: Embedder, images: ImageSet) -> float:
    start = time.perf_counter()
    evaluate(embedder, images, way=WAY, shots=DEFAULT_SHOTS, query=QUERY, tasks=TASKS)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--plain-tasks", type=int, default=10)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    images, embedder = make_set(), make_embedder()
    our_seconds(embedder, images)  # warms up
    pairs = [
        (plain_seconds(embedder, images, arguments.plain_tasks), our_seconds(embedder, images))
        for _ in range(arguments.rounds)
    ]
    ratios = sorted(plain / ours for plain, ours in pairs)
    print(
        f"scoring {TASKS:,} {WAY}-way tasks at {DEFAULT_SHOTS} shots, {arguments.threads} threads"
    )
    print(f"  task by task: {statistics.median(p for p, _ in pairs):.0f} s (scaled)")
    print(f"  pseudoshot: {statistics.median(o for _, o in pairs):.1f} s, embedding included")
    print(f"  ratio {statistics.median(ratios):.0f}, from {ratios[0]:.0f} to {ratios[-1]:.0f}")


if __name__ == "__main__":
    main()
