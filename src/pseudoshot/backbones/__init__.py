"""Backbones φ: 1 or 3 channels, any input size. One file each; a new one is added here."""

import torch

from pseudoshot.backbones.base import Backbone
from pseudoshot.backbones.conv4 import Conv4
from pseudoshot.backbones.conv4_flat import Conv4Flat
from pseudoshot.backbones.conv4_pyramid import Conv4Pyramid
from pseudoshot.backbones.lite0 import Lite0
from pseudoshot.backbones.resnet12 import ResNet12
from pseudoshot.backbones.resnet_pyramid import ResNetPyramid
from pseudoshot.backbones.resnet_pyramid_wide import ResNetPyramidWide
from pseudoshot.backbones.wrn28_10 import WRN28x10
from pseudoshot.tools.registry import Registry

BACKBONES: Registry[Backbone] = Registry(
    "backbone",
    {
        "conv4": Conv4,
        "conv4-pyramid": Conv4Pyramid,
        "conv4-flat": Conv4Flat,
        "lite0": Lite0,
        "resnet12": ResNet12,
        "resnet-pyramid": ResNetPyramid,
        "resnet-pyramid-wide": ResNetPyramidWide,
        "wrn28-10": WRN28x10,
    },
)


def build_backbone(name: str, channels: int, size: int) -> Backbone:
    """A backbone with fresh weights, laid out as convolutions want them (channels last).

    >>> build_backbone("conv4", channels=3, size=32).dim
    64
    """
    backbone = BACKBONES[name](channels, size)
    return backbone.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


__all__ = ["BACKBONES", "Backbone", "build_backbone"]
