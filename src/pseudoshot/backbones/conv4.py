"""The four-block ConvNet of the few-shot literature (section 6.3)."""

from __future__ import annotations

from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from pseudoshot.backbones import fused, fused_first
from pseudoshot.backbones.base import BlockBackbone
from pseudoshot.backbones.convolution import Convolution3x3


class Block(nn.Module):
    """conv3x3 - BN - ReLU - maxpool2, with the pooling before the ReLU.

    The two commute exactly, as both are monotone; the ReLU then reads a quarter of the memory. In
    training all three are one step where that can be (`fused.py`), of images with the convolution.
    """

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.convolution = Convolution3x3(channels_in, channels_out)
        self.norm = nn.BatchNorm2d(channels_out)

    def forward(self, x: Tensor) -> Tensor:
        if fused_first.applies(x, self.convolution, self.norm):
            return fused_first.convolution_norm_pool_relu(x, self.convolution, self.norm)
        x = self.convolution(x)
        if min(x.shape[-2:]) >= 2 and fused.applies(x, self.norm):
            return fused.norm_pool_relu(x, self.norm)
        x = self.norm(x)
        if min(x.shape[-2:]) >= 2:  # a side of one pixel is left as it is: any input size works
            x = F.max_pool2d(x, 2)
        return F.relu(x, inplace=True)


class Conv4(BlockBackbone):
    """Four blocks of 64 channels, then global average pooling: d = 64."""

    paper = MappingProxyType(
        {"optimiser": "adam", "lr": 0.002, "epochs": 100, "images": 64, "head_lr_scale": 1.0}
    )
    widths: ClassVar[tuple[int, ...]] = (64, 64, 64, 64)

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size)
        ends = pairwise((channels, *self.widths))
        self.blocks = nn.Sequential(*(Block(before, after) for before, after in ends))
        self.dim = self.widths[-1]
