"""Several processes as one training: each views and embeds its part of an episode, and the episode
spans them all."""

from __future__ import annotations

import atexit
import logging
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from pseudoshot.methods import MethodSettings
from pseudoshot.settings.tree import Precision
from pseudoshot.tools.errors import PseudoshotError

if TYPE_CHECKING:
    from lightning_fabric import Fabric  # takes seconds to import, and only training needs it


def build_fabric(devices: int, nodes: int, precision: Precision = "32-true") -> Fabric:
    """One process per device; also as torchrun or SLURM started them."""
    from lightning_fabric import Fabric

    # which says what it does with a setting, in words of its own
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    strategy = "auto"
    if devices * nodes > 1:
        strategy = "ddp"
        atexit.register(_leave)
    return Fabric(devices=devices, num_nodes=nodes, strategy=strategy, precision=precision)


def leads(devices: int, nodes: int) -> bool:
    """Whether this process is the first of its training, or the only one."""
    if min(devices, nodes) < 1:
        raise PseudoshotError(
            f"--devices {devices} and --nodes {nodes} must be at least 1: a process trains on each"
        )
    return devices * nodes == 1 or build_fabric(devices, nodes).global_rank == 0


def _leave() -> None:
    """Join the threads of the process group: gloo's abort the interpreter if they outlive it."""
    if dist.is_initialized():
        dist.destroy_process_group()


def check_shares(method: MethodSettings, processes: int) -> None:
    """Refuse an episode that cannot be cut into equal parts, of whole tasks or sets."""
    parts = processes * method.unit
    if processes > 1 and method.images % parts:
        raise PseudoshotError(
            f"an episode of {method.images} images cannot be shared by {processes} processes: "
            f"choose --images as a multiple of {parts}"
        )


class Team:
    """The processes of one training; alone, everything is the identity."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.size, self.rank = fabric.world_size, fabric.global_rank

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes files and speaks to the user."""
        return self.rank == 0

    def part(self, rows: Tensor) -> Tensor:
        """This process's share of an episode's classes (C, V)."""
        return rows.chunk(self.size)[self.rank]

    def join(self, embeddings: Tensor) -> Tensor:
        """The embeddings of all processes, in the order of their shares; gradient flows to each.

        Every process computes the whole loss, so each embedding's gradient arrives `size` times,
        and the average that DDP takes over processes is the gradient of one loss.
        """
        if self.size == 1:
            return embeddings
        joined: Tensor = _Gather.apply(embeddings, self.size, self.rank)  # type: ignore[no-untyped-call]
        return joined

    def agreed(self, values: Tensor) -> Tensor:
        """The leader's, for all: running statistics, and what they lead to, differ."""
        if self.size == 1:
            return values
        shared = values.to(self.fabric.device)
        dist.broadcast(shared, 0)
        return shared.to(values.device)

    def generator(self, common: torch.Generator) -> torch.Generator:
        """For draws that differ between processes: views and dropout.

        Its seed comes from the common generator, so that one state is enough to resume them all.
        """
        if self.size == 1:
            return common
        seeds = torch.randint(2**62, (self.size,), generator=common)
        torch.manual_seed(int(seeds[self.rank]))  # of dropout
        return torch.Generator().manual_seed(int(seeds[self.rank]))

    def any(self, happened: bool) -> bool:
        """Whether it happened in any process."""
        if self.size == 1:
            return happened
        flag = torch.tensor(float(happened), device=self.fabric.device)
        dist.all_reduce(flag, dist.ReduceOp.MAX)
        return bool(flag)


class _Gather(torch.autograd.Function):
    """all_gather along the first axis; backward, every process's gradient of a part is summed."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, size: int, rank: int) -> Tensor:
        ctx.size, ctx.rank = size, rank
        parts = [torch.empty_like(part) for _ in range(size)]
        dist.all_gather(parts, part.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        return total.chunk(ctx.size)[ctx.rank], None, None


class _Sum(torch.autograd.Function):
    """all_reduce; backward, the gradients of the sum are summed."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        total = value.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone()
        dist.all_reduce(total)
        return total


def _sum(value: Tensor) -> Tensor:
    total: Tensor = _Sum.apply(value)  # type: ignore[no-untyped-call]
    return total


class SynchronisedBatchNorm(nn.BatchNorm2d):
    """Batch statistics over all processes. (torch's own knows GPUs only.)"""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        assert self.running_mean is not None
        assert self.running_var is not None
        count = x.numel() // x.shape[1] * dist.get_world_size()
        mean = _sum(x.sum((0, 2, 3))) / count
        centred = x - mean[:, None, None]
        variance = _sum(centred.square().sum((0, 2, 3))) / count
        with torch.no_grad():
            momentum = 0.1 if self.momentum is None else self.momentum
            self.running_mean.lerp_(mean, momentum)
            self.running_var.lerp_(variance * count / (count - 1), momentum)
        scale = (variance + self.eps).rsqrt() * self.weight
        return centred * scale[:, None, None] + self.bias[:, None, None]


def synchronise_batch_norm(module: nn.Module) -> None:
    """Every BatchNorm2d inside whose statistics are not fixed; weights and names stay."""
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d) and part.training:
            part.__class__ = SynchronisedBatchNorm
