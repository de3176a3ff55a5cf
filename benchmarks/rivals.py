"""A training step of every method that needs no labels, against the baseline's at equal views.

    python benchmarks/rivals.py [METHOD ...] [--rounds 5] [--threads 1]

Conv4 at 32 px, from views to the optimiser's step. Views per image are the method's own, and images
as many as it takes for 384 views. Those that learn by MAML are measured by prototypes as well
(`umtra:prototype`). Clusters are not counted: they are built once per round
(`benchmarks/clustering.py`). Each side is a process of its own and takes turns with the baseline;
the ratio is its median over rounds, with its range. Memory is that of a process at its peak (Linux
only). MAML's tasks have weights of their own, are passed through the network once for each inner
step, and then back through each of those passes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from turns import take_turns

from pseudoshot.backbones import build_backbone
from pseudoshot.methods import METHODS, Batch
from pseudoshot.settings.resolve import resolve
from pseudoshot.tools.allocator import keep_freed_memory
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.optimiser import build_optimiser
from pseudoshot.training.trainer import gradients_of

VIEWS, SIZE = 384, 32
SUPERVISED = {"protonet", "supervised"}
EPISODES = [name for name in METHODS if name not in {*SUPERVISED, "baseline"}]
BY_PROTOTYPES = [
    f"{m}:prototype" for m in EPISODES if "learner" in METHODS[m].Settings.model_fields
]


class Measured(NamedTuple):
    """One step of one side; the memory is its process's at its peak so far."""

    seconds: float
    megabytes: float


def settings_of(side: str) -> Any:
    """Those of `train cifar-fs --method NAME [--learner LEARNER]`, but for the number of images."""
    name, _, learner = side.partition(":")
    options: dict[str, Any] = {"data": "cifar-fs", "method": name}
    if learner:
        options["learner"] = learner
    if METHODS[name].defaults.get("class_source") in ("clusters", "distinct-clusters"):
        options["from_run"] = "none"  # nothing is clustered here
    usual = resolve(options).method
    for images in range(VIEWS // usual.V, 0, -1):
        try:
            return resolve({**options, "images": images}).method
        except PseudoshotError:  # an episode is to be cut into tasks
            continue
    raise SystemExit(f"{side}: no episode of {VIEWS} views or fewer")


def side_of(side: str) -> Iterator[Measured]:
    keep_freed_memory()
    torch.manual_seed(0)
    settings = settings_of(side)
    backbone = build_backbone("conv4", 3, SIZE).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    method = METHODS[settings.name](backbone, settings)
    optimiser = build_optimiser("adam", method.parameter_groups(), 0.002)
    generator = torch.Generator().manual_seed(0)
    rows = torch.rand(settings.images * settings.V, 3, SIZE, SIZE, generator=generator)
    views = rows.contiguous(memory_format=torch.channels_last).unflatten(0, (-1, settings.V))
    while True:
        start = time.perf_counter()
        method.before_step()
        with gradients_of(method):
            method.loss(Batch(views, generator, torch.arange(settings.images))).value.backward()
        optimiser.step()
        optimiser.zero_grad()
        method.after_step()
        yield Measured(time.perf_counter() - start, peak_megabytes())


def peak_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def compare(name: str, rounds: int, threads: int) -> str:
    sides = {side: (side_of, (side,)) for side in ("baseline", name)}
    taken: dict[str, list[Measured]] = take_turns(sides, rounds, threads, warm_up=2)
    ratios = sorted(
        r.seconds / b.seconds for r, b in zip(taken[name], taken["baseline"], strict=True)
    )
    settings = settings_of(name)
    milliseconds = 1000 * statistics.median(m.seconds for m in taken[name])
    return (
        f"| {name} | {settings.images} x {settings.V} | {milliseconds:.0f} | "
        f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) | "
        f"{taken[name][-1].megabytes:.0f} ({taken['baseline'][-1].megabytes:.0f}) |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=[*EPISODES, *BY_PROTOTYPES])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    print("| method | images x views | ms | of the baseline's (range) | MB (the baseline's) |")
    print("|---|---|---|---|---|")
    for name in arguments.methods:
        print(compare(name, arguments.rounds, arguments.threads), flush=True)


if __name__ == "__main__":
    main()
