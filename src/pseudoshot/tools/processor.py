"""What this machine's processor is good at."""

from __future__ import annotations

import os

import torch


def usable_cores() -> int:
    """Those that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def multiplies_bfloat16() -> bool:
    """Whether it has instructions for products of bfloat16 numbers: twice the rate of single
    precision, where without them they are emulated, at half of it."""
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # torch has no public name
    return any(getattr(torch.cpu, name, bool)() for name in names)
