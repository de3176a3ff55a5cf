"""Conv4 with channels that double."""

from __future__ import annotations

from pseudoshot.backbones.conv4 import Conv4


class Conv4Pyramid(Conv4):
    """Channels double where the map halves, at the arithmetic of Conv4: d = 256."""

    widths = (32, 64, 128, 256)
