"""A step of Muon on the kernels of `resnet8`: ours beside torch's own, which is given the same
kernels as matrices. The sides in turn; medians, and the range of the ratio.

    python benchmarks/muon.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from pseudoshot.training.muon import Muon

KERNELS = ((64, 576), (128, 576), (128, 1152), (256, 1152), (256, 2304))
ROUNDS = 15


def weights() -> list[nn.Parameter]:
    torch.manual_seed(0)
    made = [nn.Parameter(torch.randn(shape)) for shape in KERNELS]
    for weight in made:
        weight.grad = torch.randn_like(weight)
    return made


def seconds(step: Callable[[], object], given: list[nn.Parameter]) -> float:
    gradients = [weight.grad for weight in given]
    start = time.perf_counter()
    step()
    spent = time.perf_counter() - start
    for weight, gradient in zip(given, gradients, strict=True):
        weight.grad = gradient
    return spent


def main() -> None:
    mine, theirs = weights(), weights()
    ours, torchs = Muon(mine, lr=1e-6), torch.optim.Muon(theirs, lr=1e-6)
    pairs = [(seconds(ours.step, mine), seconds(torchs.step, theirs)) for _ in range(ROUNDS)][2:]
    ratios = sorted(theirs / ours for ours, theirs in pairs)
    own, other = (1e3 * statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{torch.get_num_threads()} threads, {len(pairs)} rounds: ours {own:.1f} ms, ", end="")
    print(f"torch's {other:.1f} ms: {statistics.median(ratios):.1f} times as long ", end="")
    print(f"({ratios[0]:.1f} to {ratios[-1]:.1f})")


if __name__ == "__main__":
    main()
