"""Residual blocks whose channels double where the map halves: the backbone of fast and best."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from pseudoshot.backbones import fused
from pseudoshot.backbones.base import BlockBackbone
from pseudoshot.backbones.conv4 import Block, Conv4
from pseudoshot.backbones.convolution import Convolution3x3

LARGE_IMAGE = 48  # from this side on a block more, so that the last map is as small


class Residual(nn.Module):
    """x + relu(BN(conv3x3(x))), the last three as one step where that can be."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution = Convolution3x3(channels, channels)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        return fused.norm_relu(self.convolution(x), self.norm, added=x)


class ResNetPyramid(BlockBackbone):
    """Blocks of a convolution that halves the map and two residual ones: d = 256."""

    paper = Conv4.paper
    dim = 256

    def __init__(self, channels: int, size: int) -> None:
        super().__init__(channels, size)
        count = 3 if size < LARGE_IMAGE else 4
        widths = [self.dim >> halvings for halvings in reversed(range(count))]
        self.blocks = nn.Sequential(
            *(
                nn.Sequential(Block(before, after), Residual(after), Residual(after))
                for before, after in pairwise((channels, *widths))
            )
        )
