"""A 3x3 convolution whose weight gradient is computed here: torch's has half the rate of its others
on the maps of small images."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from pseudoshot.backbones import compiled
from pseudoshot.backbones.fused import call

_FILTERS, _CHANNELS = 16, 2  # weight_gradient.c takes as many at a time


def convolve(x: Tensor, convolution: nn.Conv2d) -> Tensor:
    """convolution(x), for 3x3 filters at every pixel of a map with a border of zeros."""
    if not applies(x, convolution):
        plain: Tensor = convolution(x)
        return plain
    y: Tensor = _Convolution.apply(x, convolution.weight)  # type: ignore[no-untyped-call]
    return y


def applies(x: Tensor, convolution: nn.Conv2d) -> bool:
    """Whether there is a gradient to compute: training on a CPU, as usual."""
    return (
        convolution.training
        and x.device.type == "cpu"
        and x.dtype == convolution.weight.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and x.is_contiguous(memory_format=torch.channels_last)
        and convolution.out_channels % _FILTERS == 0
        and convolution.in_channels % _CHANNELS == 0
        and compiled.library() is not None
    )


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return F.conv2d(x, weight, padding=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
        x, weight = ctx.saved_tensors
        (B, c, H, W), filters = x.shape, len(weight)
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        sums = torch.empty(3, 3, c, filters)
        threads = torch.get_num_threads()
        call("weight_gradient", x, gradient, B, H, W, c, filters, threads, sums)
        of_x = None
        if ctx.needs_input_grad[0]:
            one = [1, 1]
            of_x, *_ = torch.ops.aten.convolution_backward(
                gradient, x, weight, None, one, one, one, False, [0, 0], 1, [True, False, False]
            )
        return of_x, sums.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
