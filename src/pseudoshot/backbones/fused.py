"""BatchNorm, 2x2 max pooling where there is one, and ReLU as one step with its own backward: exact,
and with fewer passes over memory.

BN is an affine map of each channel, so its output need not be stored: the result is computed from
x itself, and so is the gradient: dx = scale · g where x passed the ReLU (and was a maximum), plus
slope · x + offset everywhere, which are the terms of BN's statistics.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from pseudoshot.backbones import compiled


def applies(x: Tensor, norm: nn.BatchNorm2d) -> bool:
    """Whether a fused step can take the place of the modules: training on a CPU, as usual."""
    return (
        norm.training
        and type(norm) is nn.BatchNorm2d
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and compiled.library() is not None  # before what vmap cannot be asked
        and x.is_contiguous(memory_format=torch.channels_last)
    )


def norm_pool_relu(x: Tensor, norm: nn.BatchNorm2d) -> Tensor:
    """relu(max_pool2d(norm(x), 2)) in training, running statistics included."""
    y, mean, variance = _NormPoolReLU.apply(x, norm.weight, norm.bias, norm.eps)  # type: ignore[no-untyped-call]
    update_statistics(norm, mean, variance, x.numel() // x.shape[1])
    pooled: Tensor = y
    return pooled


def norm_relu(x: Tensor, norm: nn.BatchNorm2d, added: Tensor | None = None) -> Tensor:
    """relu(norm(x)), plus `added` where there is something to add; fused where that can be."""
    if not applies(x, norm):
        y = F.relu(norm(x), inplace=True)
        return y if added is None else y + added
    y, mean, variance = _NormReLU.apply(x, norm.weight, norm.bias, norm.eps, added)  # type: ignore[no-untyped-call]
    update_statistics(norm, mean, variance, x.numel() // x.shape[1])
    normed: Tensor = y
    return normed


def update_statistics(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor, count: int) -> None:
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    with torch.no_grad():
        momentum = 0.1 if norm.momentum is None else norm.momentum
        norm.running_mean.lerp_(mean.float(), momentum)
        norm.running_var.lerp_((variance * count / max(count - 1, 1)).float(), momentum)
        norm.num_batches_tracked += 1


class _Statistics(NamedTuple):
    """Of every channel, in double precision: what BN is, y = scale · x + shift."""

    mean: Tensor
    variance: Tensor
    deviation: Tensor
    scale: Tensor
    shift: Tensor

    @classmethod
    def of(cls, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Self:
        B, C, H, W = x.shape
        mean, variance = (torch.empty(C, dtype=torch.float64) for _ in range(2))
        call("channel_moments", x, B * H * W, C, torch.get_num_threads(), mean, variance)
        deviation = (variance + eps).sqrt()
        scale = weight / deviation
        return cls(mean, variance, deviation, scale, bias - mean * scale)


def _gradients(
    total: Tensor, product: Tensor, mean: Tensor, deviation: Tensor, scale: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Of BN's weight, and slope and offset of dx, from what passed and its product with x."""
    of_weight = (product - mean * total) / deviation
    slope = -scale * of_weight / deviation / count
    return of_weight, slope, -scale * total / count - slope * mean


class _NormPoolReLU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        B, C, H, W = x.shape
        mean, variance, deviation, scale, shift = _Statistics.of(x, weight, bias, eps)
        y, which = pooled_maps(B, C, H, W)
        affine = scale.float(), shift.float()
        call("pool_forward", x, *affine, B, H, W, C, torch.get_num_threads(), y, which)
        ctx.save_for_backward(x, y, which, scale, mean, deviation)
        ctx.mark_non_differentiable(mean, variance)
        return y, mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, y, which, scale, mean, deviation = ctx.saved_tensors
        B, C, H, W = x.shape
        threads = torch.get_num_threads()
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        parts = (x, y, gradient, which)
        total, product = (torch.empty(C, dtype=torch.float64) for _ in range(2))
        call("pool_backward_sums", *parts, B, H, W, C, threads, total, product)
        of_weight, slope, offset = _gradients(total, product, mean, deviation, scale, B * H * W)
        affine = scale.float(), slope.float(), offset.float()
        dx = torch.empty_like(x)
        call("pool_backward", *parts, *affine, B, H, W, C, threads, dx)
        return dx, of_weight.float(), total.float(), None


class _NormReLU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, added: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean, variance, deviation, scale, shift = _Statistics.of(x, weight, bias, eps)
        if added is not None:
            added = added.contiguous(memory_format=torch.channels_last)
        y = torch.empty_like(x)
        rows, C, threads = x.numel() // x.shape[1], x.shape[1], torch.get_num_threads()
        affine = scale.float(), shift.float()
        call("norm_relu_forward", x, *affine, added, rows, C, threads, y)
        ctx.save_for_backward(x, scale, shift, mean, deviation)
        ctx.mark_non_differentiable(mean, variance)
        return y, mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, scale, shift, mean, deviation = ctx.saved_tensors
        rows, C, threads = x.numel() // x.shape[1], x.shape[1], torch.get_num_threads()
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        parts = (x, scale.float(), shift.float(), gradient)
        total, product = (torch.empty(C, dtype=torch.float64) for _ in range(2))
        call("norm_relu_backward_sums", *parts, rows, C, threads, total, product)
        of_weight, slope, offset = _gradients(total, product, mean, deviation, scale, rows)
        dx = torch.empty_like(x)
        affine = slope.float(), offset.float()
        call("norm_relu_backward", *parts, *affine, rows, C, threads, dx)
        of_added = gradient if ctx.needs_input_grad[4] else None
        return dx, of_weight.float(), total.float(), None, of_added


def pooled_maps(B: int, C: int, H: int, W: int) -> tuple[Tensor, Tensor]:
    """Room for a pooled map, and for which of four pixels each maximum was."""
    floats, bytes_ = (
        torch.empty(B, C, H // 2, W // 2, dtype=kind, memory_format=torch.channels_last)
        for kind in (torch.float32, torch.uint8)
    )
    return floats, bytes_


def call(name: str, *arguments: Tensor | int | None) -> None:
    """Tensors as pointers to their memory, integers as 64 bits; the caller keeps the tensors."""
    library = compiled.built()
    assert library is not None
    function = getattr(library, name)
    converted = [
        ctypes.c_int64(a)
        if isinstance(a, int)
        else ctypes.c_void_p(None if a is None else a.data_ptr())
        for a in arguments
    ]
    function.restype = ctypes.c_int64
    if function(*converted):
        raise MemoryError(f"{name} found no memory")
