"""What this machine's processor is good at."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch

CPUINFO = Path("/proc/cpuinfo")
_KIND = ("model name", "cpu family", "model", "CPU implementer", "CPU part")


def processor_name() -> str:
    """Of its kind: a virtual machine's model name may be that of several, which differ in speed."""
    core = first_core()
    told = " ".join(core[key] for key in _KIND if key in core)
    return told or platform.processor() or platform.machine()


def first_core() -> dict[str, str]:
    """What Linux says of it; empty where there is none."""
    try:
        text = CPUINFO.read_text(errors="replace")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


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
