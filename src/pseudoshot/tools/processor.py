"""What this machine's processor is good at."""

from __future__ import annotations

import torch


def multiplies_bfloat16() -> bool:
    """Whether it has instructions for products of bfloat16 numbers: twice the rate of single
    precision, where without them they are emulated, at half of it."""
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # torch has no public name
    return any(getattr(torch.cpu, name, bool)() for name in names)
