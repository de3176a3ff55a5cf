"""The objectives of HMS and TSP-Head, this project against materialising every task.

    python benchmarks/objectives.py [--rounds 7] [--threads 2]

At ResNet-12's size: 32 images x 6 views, 5-way tasks, 256 of them, d = 640, from embeddings to
their gradient. The plain way is batched too: it gathers the embeddings of every task, projects them
again in each (TSP-Head), and holds every mix (tasks, queries, neighbours, d) (HMS), as the paper's
released code does. Both sides have the same weights and draws, and must give the same loss. Each
is a process of its own, for the memory that one leaves behind slows the other; they take turns, and
the one that waits sleeps. Peak memory is what a side adds to its process (Linux only).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from turns import take_turns

from pseudoshot.backbones.base import Backbone
from pseudoshot.methods import METHODS, Method
from pseudoshot.tasks.tasks import Tasks, resample_tasks
from pseudoshot.tools.allocator import keep_freed_memory

C, WAY, SHOT, QUERY, TASKS, DIM = 32, 5, 1, 5, 256, 640
V = SHOT + QUERY
Objective = Callable[[Method, Tensor, Tasks], Tensor]


class Measured(NamedTuple):
    """One step of one side; the memory is its process's at its peak so far."""

    loss: float
    seconds: float
    megabytes: float


class NoBackbone(Backbone):
    dim = DIM

    def __init__(self) -> None:
        super().__init__(3, 84)


def build(name: str) -> Method:
    torch.manual_seed(0)
    settings = METHODS[name].Settings(images=C, way=WAY, shot=SHOT, query=QUERY, tasks=TASKS)
    return METHODS[name](NoBackbone(), settings).eval()  # no dropout: the losses must agree


def ours(method: Method, embeddings: Tensor, tasks: Tasks) -> Tensor:
    loss: Tensor = method.objective(embeddings, tasks, torch.Generator().manual_seed(2))
    return loss


def sns(queries: Tensor, references: Tensor) -> Tensor:
    return queries @ F.normalize(references, dim=-1).mT


def plain_hms(method: Method, embeddings: Tensor, tasks: Tasks) -> Tensor:
    sets = embeddings[tasks.members]  # (T, NV, d)
    members = sets.view(TASKS, WAY, V, DIM)
    queries = members[:, :, SHOT:].reshape(TASKS, -1, DIM)
    logits = sns(queries, members[:, :, :SHOT].mean(2))
    way_of = torch.arange(WAY * V) // V
    way_of_query = torch.arange(WAY * QUERY) // QUERY
    same = way_of_query[:, None] == way_of
    neighbours = sns(queries, sets).detach().masked_fill(same, -torch.inf).topk(10, -1).indices
    mined = sets.gather(1, neighbours.flatten(1)[..., None].expand(-1, -1, DIM))
    mined = mined.view(*neighbours.shape, DIM)  # (T, NQ, k, d)
    share = torch.rand(neighbours.shape, generator=torch.Generator().manual_seed(2)) * 0.5
    mixes = share[..., None] * queries[:, :, None] + (1 - share[..., None]) * mined
    hard = (queries[:, :, None] * F.normalize(mixes, dim=-1)).sum(-1)
    labels = way_of_query.expand(TASKS, -1)
    return F.cross_entropy(torch.cat((logits, hard), 2).flatten(0, 1), labels.flatten())


def plain_tsp(method: Method, embeddings: Tensor, tasks: Tasks) -> Tensor:
    assert method.head is not None
    members = method.head(embeddings[tasks.members]).view(TASKS, WAY, V, DIM)
    queries = members[:, :, SHOT:].reshape(TASKS, -1, DIM)
    logits = sns(queries, members[:, :, :SHOT].mean(2))
    labels = (torch.arange(WAY * QUERY) // QUERY).expand(TASKS, -1)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


SIDES: dict[str, dict[str, Objective]] = {
    "hms": {"plain": plain_hms, "ours": ours},
    "tsp-head": {"plain": plain_tsp, "ours": ours},
}


def episode() -> tuple[Tensor, Tasks]:
    generator = torch.Generator().manual_seed(1)
    embeddings = torch.rand(C * V, DIM, generator=generator).requires_grad_()
    return embeddings, resample_tasks(C, WAY, SHOT, QUERY, TASKS, generator)


def step(objective: Objective, method: Method, embeddings: Tensor, tasks: Tasks) -> float:
    loss = objective(method, embeddings, tasks)
    loss.backward()
    embeddings.grad = None
    method.zero_grad()
    return loss.item()


def side_of(name: str, side: str) -> Iterator[Measured]:
    keep_freed_memory()
    method, (embeddings, tasks) = build(name), episode()
    before = kilobytes("VmRSS")
    while True:
        start = time.perf_counter()
        loss = step(SIDES[name][side], method, embeddings, tasks)
        seconds = time.perf_counter() - start
        yield Measured(loss, seconds, (kilobytes("VmHWM") - before) / 1024)


def kilobytes(field: str) -> int:
    """Of this process: VmRSS now, VmHWM at its peak."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0])


def compare(name: str, rounds: int, threads: int) -> None:
    sides = {side: (side_of, (name, side)) for side in SIDES[name]}
    taken: dict[str, list[Measured]] = take_turns(sides, rounds, threads)
    plain, ours = taken["plain"], taken["ours"]
    losses = plain[0].loss, ours[0].loss
    assert abs(losses[0] - losses[1]) < 1e-3, f"the sides disagree: {losses}"
    print(f"{name}: {TASKS} tasks of {WAY} ways, {C} images x {V} views, d = {DIM}")
    for measured, label in ((plain, "every task materialised"), (ours, "pseudoshot")):
        median = 1000 * statistics.median(m.seconds for m in measured)
        print(f"  {label}: {median:.0f} ms, {measured[-1].megabytes:.0f} MB at its peak")
    ratios = sorted(p.seconds / o.seconds for p, o in zip(plain, ours, strict=True))
    print(f"  ratio {statistics.median(ratios):.1f}, from {ratios[0]:.1f} to {ratios[-1]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    for name in SIDES:
        compare(name, arguments.rounds, arguments.threads)


if __name__ == "__main__":
    main()
