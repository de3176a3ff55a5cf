"""One training step of the baseline, this project against the plain way.

    python benchmarks/step.py [--rounds 7] [--threads 2]

Conv4 at 32 px, 64 images x 6 views, 512 tasks. The plain way is stock modules in their usual order
and layout, Pillow views one image at a time, a Python loop over tasks, and the allocator as it is.
Allocator settings hold for a whole process, so each side has a process of its own; the two take
turns, a step each.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from views import pillow_amdim

from pseudoshot.allocator import keep_freed_memory
from pseudoshot.backbones import build_backbone
from pseudoshot.methods import METHODS, Batch
from pseudoshot.views import get_policy

C, V, TASKS, SIZE, LR = 64, 6, 512, 32, 0.002
Part = tuple[str, float]


def timed(name: str, work: Callable[[], Tensor]) -> tuple[Tensor, Part]:
    start = time.perf_counter()
    result = work()
    return result, (name, time.perf_counter() - start)


def our_side(images: Tensor) -> Iterator[list[Part]]:
    keep_freed_memory()
    backbone = build_backbone("conv4", 3, SIZE)
    method = METHODS["baseline"](backbone, METHODS["baseline"].Settings(images=C, tasks=TASKS))
    optimiser = torch.optim.Adam(method.parameters(), lr=LR)
    policy, generator = get_policy("amdim"), torch.Generator().manual_seed(0)

    def step(views: Tensor) -> Tensor:
        loss = method.loss(Batch(views, generator)).value
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        return loss

    while True:
        views, viewing = timed("views", lambda: policy(images, generator))
        _, stepping = timed("step", lambda: step(views))  # noqa: B023 (called at once)
        yield [viewing, stepping]


def stock_conv4() -> nn.Sequential:
    blocks: list[nn.Module] = []
    for channels in (3, 64, 64, 64):
        blocks += [
            nn.Conv2d(channels, 64, 3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def looped_loss(embeddings: Tensor) -> Tensor:
    """SES and SNS as their definitions read: task by task, class by class."""
    grouped = embeddings.view(C, V, -1)
    losses = []
    for _ in range(TASKS):
        orders = [torch.randperm(V) for _ in range(C)]
        support = torch.stack([grouped[c, order[0]] for c, order in enumerate(orders)])
        query = torch.cat([grouped[c, order[1:]] for c, order in enumerate(orders)])
        logits = query @ F.normalize(support, dim=1).T
        losses.append(F.cross_entropy(logits, torch.arange(C).repeat_interleave(V - 1)))
    return torch.stack(losses).mean()


def plain_side(images: Tensor) -> Iterator[list[Part]]:
    backbone = stock_conv4()
    optimiser = torch.optim.Adam(backbone.parameters(), lr=LR)

    def step(embeddings: Tensor) -> Tensor:
        loss = looped_loss(embeddings)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        return loss

    while True:
        views, viewing = timed("views", lambda: pillow_amdim(images))
        z, forward = timed("forward", lambda: backbone(views))  # noqa: B023
        _, stepping = timed("tasks and backward", lambda: step(z))  # noqa: B023
        yield [viewing, forward, stepping]


def serve(side: str, threads: int) -> None:
    """Make a step for every line that comes in, and print the seconds of its parts."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    images = torch.randint(0, 256, (C, 1, SIZE, SIZE, 3), dtype=torch.uint8).repeat(1, V, 1, 1, 1)
    steps = {"plain": plain_side, "pseudoshot": our_side}[side](images)
    for _ in sys.stdin:
        print(*(f"{name}={spent}" for name, spent in next(steps)), sep=";", flush=True)


def ask(worker: subprocess.Popen[str]) -> dict[str, float]:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write("step\n")
    worker.stdin.flush()
    parts = (part.split("=") for part in worker.stdout.readline().strip().split(";"))
    return {name: float(spent) for name, spent in parts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--side", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        serve(arguments.side, arguments.threads)
        return
    workers = {
        side: subprocess.Popen(
            [sys.executable, __file__, "--side", side, "--threads", str(arguments.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for side in ("plain", "pseudoshot")
    }
    taken: dict[str, list[dict[str, float]]] = {side: [] for side in workers}
    for round_ in range(arguments.rounds + 2):
        for side, worker in workers.items():
            parts = ask(worker)
            if round_ >= 2:  # the first two warm up
                taken[side].append(parts)
    for worker in workers.values():
        worker.communicate()
    print(f"training step, conv4, {SIZE} px, {C} images x {V} views, {TASKS} tasks, ", end="")
    print(f"{arguments.threads} threads, {arguments.rounds} rounds")
    totals = {side: [sum(parts.values()) for parts in rounds] for side, rounds in taken.items()}
    for side, rounds in taken.items():
        parts = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
        shown = ", ".join(f"{name} {spent * 1000:.0f} ms" for name, spent in parts.items())
        print(f"  {side}: {statistics.median(totals[side]) * 1000:.0f} ms ({shown})")
    ratios = sorted(p / o for p, o in zip(totals["plain"], totals["pseudoshot"], strict=True))
    middle = statistics.median(ratios)
    print(f"  ratio {middle:.1f}, from {ratios[0]:.1f} to {ratios[-1]:.1f}")


if __name__ == "__main__":
    main()
