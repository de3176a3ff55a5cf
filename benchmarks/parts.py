"""Where the time of a training step goes, by part, before and after what this project does for it.

    python benchmarks/parts.py [--rounds 5] [--threads 2]

Conv4 and ResNet-12 at 32 and 84 px, the baseline's loss over 512 tasks. Before: the same networks
of stock modules in their usual layout, with the allocator as it is. After: as they are trained. The
two are processes of their own and take turns; parts are torch's own account of its operations,
medians over rounds. The share is the rate of the convolutions' arithmetic over the whole step, as
part of the rate that a large matrix product reaches in the same process.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from turns import take_turns

from pseudoshot.backbones import BACKBONES, build_backbone, compiled
from pseudoshot.methods import METHODS, Batch
from pseudoshot.tools.allocator import keep_freed_memory
from pseudoshot.training.optimiser import build_optimiser

VIEWS, MATMUL = 6, 2048
CASES = (("conv4", 32, 64), ("conv4", 84, 16), ("resnet12", 32, 16), ("resnet12", 84, 4))
PARTS = {
    "convolutions": ("convolution", "_Convolution"),
    "first block": ("_FirstBlock",),
    "BN, ReLU, pooling, dropout": (
        *("batch_norm", "_NormPoolReLU", "relu", "threshold", "max_pool", "bernoulli", "dropout"),
    ),
    "optimiser": ("Optimizer", "_foreach", "addcdiv", "addcmul", "lerp"),
}


def part_of(event: str) -> str:
    found = (part for part, words in PARTS.items() if any(word in event for word in words))
    return next(found, "tasks and the rest")


def operations(backbone: nn.Module, views: Tensor) -> float:
    """Multiplications and additions of all convolutions: forward, by weights, by inputs."""
    total = 0.0

    def count(module: nn.Conv2d, inputs: tuple[Tensor], output: Tensor) -> None:
        nonlocal total
        forward = 2 * output.numel() * module.weight[0].numel()
        total += forward * (2 if module.in_channels == views.shape[1] else 3)

    convolutions = [m for m in backbone.modules() if isinstance(m, nn.Conv2d)]
    hooks = [module.register_forward_hook(count) for module in convolutions]
    with torch.no_grad():
        backbone.eval()(views)
        backbone.train()
    for hook in hooks:
        hook.remove()
    return total


class Step:
    """One case in a process of its own, as stock modules or as this project trains it."""

    def __init__(self, name: str, size: int, images: int, stock: bool) -> None:
        torch.manual_seed(0)
        if stock:
            compiled.library = lambda: None  # type: ignore[assignment]
        else:
            keep_freed_memory()
        layout = torch.contiguous_format if stock else torch.channels_last
        backbone = build_backbone(name, 3, size).to(memory_format=layout)  # type: ignore[call-overload]
        self.views = torch.rand(images * VIEWS, 3, size, size).contiguous(memory_format=layout)
        self.operations = operations(backbone, self.views)
        kind, recipe = METHODS["baseline"], BACKBONES[name].paper
        self.method = kind(backbone, kind.Settings(images=images))
        groups = self.method.parameter_groups()
        self.optimiser = build_optimiser(recipe["optimiser"], groups, recipe["lr"])
        self.generator = torch.Generator().manual_seed(0)
        self.shape = (images, VIEWS, 3, size, size)

    def run(self) -> None:
        loss = self.method.loss(
            Batch(self.views.view(self.shape), self.generator, torch.arange(self.shape[0]))
        )
        loss.value.backward()
        self.optimiser.step()
        self.optimiser.zero_grad()

    def parts(self) -> dict[str, float]:
        """Seconds by part; what the account does not cover is the rest."""
        with profile(activities=[ProfilerActivity.CPU]) as account:
            start = time.perf_counter()
            self.run()
            whole = time.perf_counter() - start
        seconds = dict.fromkeys((*PARTS, "tasks and the rest"), 0.0)
        for event in account.key_averages():
            seconds[part_of(event.key)] += event.self_cpu_time_total / 1e6
        seconds["tasks and the rest"] += whole - sum(seconds.values())
        return seconds


def matmul_rate() -> float:
    """The median of three, after one that warms up."""
    left, right = torch.rand(2, MATMUL, MATMUL)
    times = [time.perf_counter()]
    for _ in range(4):
        left @ right
        times.append(time.perf_counter())
    return 2 * MATMUL**3 / statistics.median(b - a for a, b in pairwise(times[1:]))


def side_of(case: tuple[str, int, int], stock: bool) -> Iterator[tuple[dict[str, float], float]]:
    step = Step(*case, stock)
    while True:
        parts = step.parts()
        yield parts, step.operations / sum(parts.values()) / matmul_rate()


def compare(case: tuple[str, int, int], rounds: int, threads: int) -> None:
    sides = {"before": (side_of, (case, True)), "after": (side_of, (case, False))}
    taken: dict[str, list[tuple[dict[str, float], float]]] = take_turns(sides, rounds, threads)
    name, size, images = case
    print(f"{name}, {size} px, {images} images x {VIEWS} views, {threads} threads, {rounds} rounds")
    for part in (*PARTS, "tasks and the rest"):
        medians = (statistics.median(parts[part] for parts, _ in taken[side]) for side in taken)
        print(f"  {part}: " + " -> ".join(f"{1000 * seconds:.0f}" for seconds in medians) + " ms")
    wholes = {side: [sum(parts.values()) for parts, _ in taken[side]] for side in taken}
    print("  all: " + " -> ".join(f"{1000 * statistics.median(w):.0f}" for w in wholes.values()))
    ratios = sorted(b / a for b, a in zip(*wholes.values(), strict=True))
    print(f"  ratio {statistics.median(ratios):.2f}, from {ratios[0]:.2f} to {ratios[-1]:.2f}")
    shares = (statistics.median(share for _, share in taken[side]) for side in taken)
    print("  share of matmul's rate: " + " -> ".join(f"{share:.2f}" for share in shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    for case in CASES:
        compare(case, arguments.rounds, arguments.threads)


if __name__ == "__main__":
    main()
