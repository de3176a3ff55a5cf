"""The four-block ConvNet of the few-shot literature (section 6.3)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from pseudoshot.backbones import fused
from pseudoshot.backbones.base import Backbone

WIDTH = 64


class Block(nn.Module):
    """conv3x3 - BN - ReLU - maxpool2, with the pooling before the ReLU.

    The two commute exactly, as both are monotone; the ReLU then reads a quarter of the memory. In
    training all three are one step where that can be (`fused.py`).
    """

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        # BN subtracts the mean, so a bias would have no effect
        self.convolution = nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels_out)

    def forward(self, x: Tensor) -> Tensor:
        x = self.convolution(x)
        if fused.applies(x, self.norm):
            return fused.norm_pool_relu(x, self.norm)
        x = self.norm(x)
        if min(x.shape[-2:]) >= 2:  # a side of one pixel is left as it is: any input size works
            x = F.max_pool2d(x, 2)
        return F.relu(x, inplace=True)


class Conv4(Backbone):
    """Four blocks of 64 channels, then global average pooling: d = 64."""

    dim = WIDTH

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size)
        self.blocks = nn.Sequential(
            Block(channels, WIDTH), *(Block(WIDTH, WIDTH) for _ in range(3))
        )

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.blocks(images)
        return features.mean((2, 3))


class Conv4Flat(Conv4):
    """Conv4 without the average: the last feature map flattened, d = 1600 at 84 px."""

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size)
        side = size
        for _ in self.blocks:
            side = max(1, side // 2)
        self.dim = WIDTH * side * side

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.blocks(images)
        return features.flatten(1)
