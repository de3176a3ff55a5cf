"""Keeping large tensors' memory in the process between steps.

glibc hands large freed blocks (at first those above 128 kB) back to the kernel, and a training step
frees hundreds of megabytes: the kernel then zeroes the same pages again at each step. Two `mallopt`
settings stop it.
"""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST_BLOCK = 1 << 30  # int32 is the widest glibc takes
_LARGEST_BLOCK_BEFORE_2_35 = 32 << 20


def keep_freed_memory() -> None:
    """Ask glibc not to return freed memory to the kernel; elsewhere nothing happens."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        if not mallopt(_M_MMAP_THRESHOLD, _LARGEST_BLOCK):
            mallopt(_M_MMAP_THRESHOLD, _LARGEST_BLOCK_BEFORE_2_35)
        mallopt(_M_TRIM_THRESHOLD, _LARGEST_BLOCK)


def return_freed_memory() -> None:
    """Hand back to the kernel what is free now, once: after something large that comes seldom."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
