"""The residual pyramid with more channels."""

from __future__ import annotations

from pseudoshot.backbones.resnet_pyramid import ResNetPyramid


class ResNetPyramidWide(ResNetPyramid):
    """Half as many channels again, at twice the arithmetic: d = 384."""

    dim = 384
    floats_a_pixel = 300
