"""EfficientNet-Lite0 (Tan and Le, 2019; the Lite form of 2020): ReLU6, no squeeze-and-excitation.

Its weights, pre-trained on ImageNet, come with the extra `pretrained`: see `embedders/doors`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from pseudoshot.backbones.base import BlockBackbone

NORM_EPS = 1e-3


class Stage(NamedTuple):
    """Some blocks of one width; the first of them has the stride."""

    blocks: int
    kernel: int
    stride: int
    expansion: int
    width: int


STEM, HEAD = 32, 1280  # channels
STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)


class Convolution(nn.Module):
    """Convolution, BatchNorm and, unless it is a projection, ReLU6; bordered as in TensorFlow.

    A map of n pixels a side becomes one of n / stride, rounded up. Where the border of zeros has an
    odd number of rows the last one has more than the first: the weights were trained that way.
    """

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        kernel: int = 1,
        stride: int = 1,
        *,
        depthwise: bool = False,
        relu: bool = True,
    ) -> None:
        super().__init__()
        groups = channels_in if depthwise else 1
        border = kernel // 2 if stride == 1 else 0  # the same on every side: no copy is needed
        self.convolution = nn.Conv2d(
            channels_in, channels_out, kernel, stride, border, groups=groups, bias=False
        )
        self.norm = nn.BatchNorm2d(channels_out, eps=NORM_EPS)
        self.relu, self.uneven = relu, stride > 1

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.convolution(self._bordered(x) if self.uneven else x))
        return F.relu6(x, inplace=True) if self.relu else x

    def _bordered(self, x: Tensor) -> Tensor:
        kernel, stride = self.convolution.kernel_size[0], self.convolution.stride[0]
        border: list[int] = []
        for pixels in reversed(x.shape[-2:]):
            rows = max(0, (-(-pixels // stride) - 1) * stride + kernel - pixels)
            border += [rows // 2, rows - rows // 2]
        return F.pad(x, border)


class Block(nn.Module):
    """Expand by 1x1, filter each channel, project by 1x1; added to its input where shapes agree."""

    def __init__(
        self, channels_in: int, channels_out: int, kernel: int, stride: int, expansion: int
    ) -> None:
        super().__init__()
        inner = channels_in * expansion
        self.expand = Convolution(channels_in, inner) if expansion > 1 else nn.Identity()
        self.depthwise = Convolution(inner, inner, kernel, stride, depthwise=True)
        self.project = Convolution(inner, channels_out, relu=False)
        self.residual = stride == 1 and channels_in == channels_out

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.project(self.depthwise(self.expand(x)))
        return x + out if self.residual else out


class Lite0(BlockBackbone):
    """EfficientNet-Lite0: seven stages between stem and head, averaged: d = 1280, 3.4 million."""

    dim = HEAD

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size)
        self.blocks = nn.Sequential(Convolution(channels, STEM, 3, 2))
        width = STEM
        for stage in STAGES:
            blocks = nn.Sequential()
            for index in range(stage.blocks):
                stride = 1 if index else stage.stride
                blocks.append(Block(width, stage.width, stage.kernel, stride, stage.expansion))
                width = stage.width
            self.blocks.append(blocks)
        self.blocks.append(Convolution(width, HEAD))
