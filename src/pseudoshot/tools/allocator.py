"""Freed memory: kept in the process between steps, or handed back after something large.

glibc hands large freed blocks (at first those above 128 kB) back to the kernel, and a training step
frees hundreds of megabytes: the kernel then zeroes the same pages again at each step. Two `mallopt`
settings stop it.

Each thread has an arena of its own there, up to eight per core, and what lies free at the top of
one is never handed back: up to 64 MB in each that once decoded a large image.
"""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_LARGEST_BLOCK = 1 << 30  # int32 is the widest glibc takes
_LARGEST_BLOCK_BEFORE_2_35 = 32 << 20


def keep_freed_memory() -> None:
    """Ask glibc not to return freed memory to the kernel; elsewhere nothing happens."""
    if not _glibc("mallopt", _M_MMAP_THRESHOLD, _LARGEST_BLOCK):
        _glibc("mallopt", _M_MMAP_THRESHOLD, _LARGEST_BLOCK_BEFORE_2_35)
    _glibc("mallopt", _M_TRIM_THRESHOLD, _LARGEST_BLOCK)


def share_one_arena() -> None:
    """Before threads are started: what any of them frees can be used by all, and handed back."""
    _glibc("mallopt", _M_ARENA_MAX, 1)


def return_freed_memory() -> None:
    """Hand back to the kernel what is free now, once: after something large that comes seldom."""
    _glibc("malloc_trim", 0)


def _glibc(name: str, *values: int) -> int:
    """What a function of it answers; 0 where there is none."""
    function = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    return 0 if function is None else int(function(*values))
