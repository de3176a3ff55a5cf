"""One training step of the baseline, this project against the plain way and the machine's limit.

    python benchmarks/step.py [--rounds 7] [--threads 2]

Conv4 at 32 px, 64 images x 6 views, 512 tasks. Four sides take turns, each in a process of its own,
as allocator settings hold for a whole process:
- plain: stock modules in their usual order and layout, Pillow views one image at a time, a Python
  loop over tasks, and the allocator as it is;
- stock: the same stock modules and allocator, with this project's views and tasks;
- pseudoshot;
- matmul: one large matrix product, the rate of which is what convolutions could reach.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from turns import take_turns
from views import pillow_amdim

from pseudoshot.backbones import build_backbone
from pseudoshot.methods import METHODS, Batch
from pseudoshot.tasks.gram import task_loss
from pseudoshot.tasks.tasks import resample_tasks
from pseudoshot.tools.allocator import keep_freed_memory
from pseudoshot.views import get_policy

C, V, TASKS, SIZE, LR, MATMUL = 64, 6, 512, 32, 0.002, 2048
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
        loss = method.loss(Batch(views, generator, torch.arange(len(views)))).value
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


def stock_side(images: Tensor) -> Iterator[list[Part]]:
    backbone = stock_conv4()
    optimiser = torch.optim.Adam(backbone.parameters(), lr=LR)
    policy, generator = get_policy("amdim"), torch.Generator().manual_seed(0)

    def step(views: Tensor) -> Tensor:
        embeddings = backbone(views.flatten(0, 1))
        tasks = resample_tasks(C, C, 1, V - 1, TASKS, generator)
        loss = task_loss(embeddings @ embeddings.T, tasks, "sns")
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        return loss

    while True:
        views, viewing = timed("views", lambda: policy(images, generator))
        _, stepping = timed("step", lambda: step(views.contiguous()))  # noqa: B023
        yield [viewing, stepping]


def matmul_side(images: Tensor) -> Iterator[list[Part]]:
    left, right = torch.rand(2, MATMUL, MATMUL)
    while True:
        _, part = timed("matmul", lambda: left @ right)
        yield [part]


def convolution_operations() -> float:
    """Multiplications and additions of a step's convolutions: forward, by weights, by inputs."""
    total, side, channels = 0.0, SIZE, 3
    for _ in range(4):
        forward = 2 * C * V * side**2 * 9 * channels * 64
        total += forward * (2 if channels == 3 else 3)  # nobody asks for the gradient of pixels
        side, channels = side // 2, 64
    return total


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


SIDES = {
    "plain": plain_side,
    "stock": stock_side,
    "pseudoshot": our_side,
    "matmul": matmul_side,
}


def side_of(side: str) -> Iterator[dict[str, float]]:
    """The seconds of each part of a step."""
    torch.manual_seed(0)
    images = torch.randint(0, 256, (C, 1, SIZE, SIZE, 3), dtype=torch.uint8).repeat(1, V, 1, 1, 1)
    return map(dict, SIDES[side](images))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    sides = {side: (side_of, (side,)) for side in SIDES}
    taken = take_turns(sides, arguments.rounds, arguments.threads, warm_up=2)
    print(f"training step, conv4, {SIZE} px, {C} images x {V} views, {TASKS} tasks, ", end="")
    print(f"{arguments.threads} threads, {arguments.rounds} rounds")
    report(taken)


def report(taken: dict[str, list[dict[str, float]]]) -> None:
    for side, rounds in taken.items():
        parts = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
        shown = ", ".join(f"{name} {spent * 1000:.0f} ms" for name, spent in parts.items())
        total = statistics.median(sum(r.values()) for r in rounds)
        print(f"  {side}: {total * 1000:.0f} ms ({shown})")
    ours = taken["pseudoshot"]
    compare(
        "plain / pseudoshot, all of it",
        [sum(p.values()) / sum(o.values()) for p, o in zip(taken["plain"], ours, strict=True)],
    )
    compare(
        "stock / pseudoshot, network and tasks",
        [s["step"] / o["step"] for s, o in zip(taken["stock"], ours, strict=True)],
    )
    compare(
        "convolutions' rate in the step / matmul's rate",
        [
            convolution_operations() / o["step"] / (2 * MATMUL**3 / m["matmul"])
            for o, m in zip(ours, taken["matmul"], strict=True)
        ],
    )


def compare(what: str, ratios: list[float]) -> None:
    middle = statistics.median(ratios)
    print(f"  {what}: {middle:.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
