"""A backbone's first block, convolution, BatchNorm, pooling and ReLU, as one step.

Images have one channel or three: a 3x3 patch p is 9 or 27 numbers, and the convolution x = W p.
With S = Σ p pᵀ and Σ p over all patches, the mean of x is W E[p], its variance that of W p, and
BN's terms in the gradient of W are W S and Σ p: x, four times the size of all else, is never
stored, nor is its gradient.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from pseudoshot.backbones import compiled
from pseudoshot.backbones.fused import call, pooled_maps, update_statistics

_LANES = 8  # of a vector in first_block.c, which goes through filters two vectors at a time


def applies(images: Tensor, convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> bool:
    """Whether this can take the place of the modules: images in, training on a CPU, as usual."""
    return (
        norm.training
        and type(norm) is nn.BatchNorm2d
        and not images.requires_grad
        and images.device.type == "cpu"
        and images.dtype == convolution.weight.dtype == torch.float32
        and images.shape[1] in (1, 3)
        and min(images.shape[-2:]) >= 2
        and convolution.out_channels % (2 * _LANES) == 0
        and compiled.library() is not None
    )


def convolution_norm_pool_relu(
    images: Tensor, convolution: nn.Conv2d, norm: nn.BatchNorm2d
) -> Tensor:
    """relu(max_pool2d(norm(convolution(images)), 2)) in training, running statistics included.

    In single precision also where the rest is in a lower one, in which it would take longer.
    """
    images = images.contiguous(memory_format=torch.channels_last)
    y, mean, variance = _FirstBlock.apply(  # type: ignore[no-untyped-call]
        images, convolution.weight, norm.weight, norm.bias, norm.eps
    )
    update_statistics(norm, mean, variance, images.numel() // images.shape[1])
    lower = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else y.dtype
    pooled: Tensor = y.to(lower)
    return pooled


class _FirstBlock(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, images: Tensor, filters: Tensor, weight: Tensor, bias: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        B, c, H, W = images.shape
        F, threads, count = len(filters), torch.get_num_threads(), B * H * W
        taps = 9 * c
        sums = torch.zeros(taps, (taps + _LANES) // _LANES * _LANES, dtype=torch.float64)
        call("patch_sums", images, B, H, W, c, threads, sums)
        upper, total = sums[:, :taps].triu(), sums[:, taps]
        products = upper + upper.triu(1).T
        patch = total / count
        matrix = filters.permute(0, 2, 3, 1).reshape(F, taps).double()  # W
        mean = matrix @ patch
        covariance = products / count - patch[:, None] * patch
        variance = ((matrix @ covariance) * matrix).sum(1).clamp_min(0)
        deviation = (variance + eps).sqrt()
        scale = weight / deviation
        affine = scale.float(), (bias - mean * scale).float()
        y, which = pooled_maps(B, F, H, W)
        by_tap = matrix.T.float().contiguous()
        call("first_forward", images, by_tap, *affine, B, H, W, c, F, threads, y, which)
        ctx.save_for_backward(images, y, which, matrix, products, total, scale, mean, deviation)
        ctx.mark_non_differentiable(mean, variance)
        return y, mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        images, y, which, matrix, products, total, scale, mean, deviation = ctx.saved_tensors
        B, c, H, W = images.shape
        F, taps, count = matrix.shape[0], matrix.shape[1], B * H * W
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        sums = torch.zeros(taps + 1, F, dtype=torch.float64)
        parts = (images, y, gradient, which)
        call("first_backward", *parts, B, H, W, c, F, torch.get_num_threads(), sums)
        passed, of_bias = sums[:taps].T, sums[taps]
        of_weight = ((matrix * passed).sum(1) - mean * of_bias) / deviation
        slope = -scale * of_weight / deviation / count
        offset = -scale * of_bias / count - slope * mean
        of_filters = (
            scale[:, None] * passed + slope[:, None] * (matrix @ products) + offset[:, None] * total
        )
        of_filters = of_filters.float().view(F, 3, 3, c).permute(0, 3, 1, 2)
        return None, of_filters, of_weight.float(), of_bias.float(), None
