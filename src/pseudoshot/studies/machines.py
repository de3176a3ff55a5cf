"""How fast this machine is beside the one where a folder of studies was begun.

Seconds become steps by what a step takes there. By what it takes here, on a slower machine, the
runs that are left would be compared with others of more steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from pseudoshot.runs.estimating import dry_run
from pseudoshot.studies.shelf import Shelf
from pseudoshot.tools.processor import processor_name

YARDSTICK = {"recipe": "paper", "backbone": "conv4", "images": 16}  # of the built-in letters
MEASURED = 20  # steps, two seconds


def slowness(shelf: Shelf) -> float:
    """What a step takes here over what it takes where the folder was begun; measured once on
    every kind of processor, whose name it is kept by."""
    with shelf.waiting_for("machines"):
        machines = shelf.machines()
        here = processor_name()
        if here not in machines:
            machines[here] = _yardstick()
            shelf.keep_machines(machines)
    first, *_ = machines.values()
    return machines[here] / first


def _yardstick() -> float:
    """CPU seconds per step, on one thread as the studies' own."""
    with _one_thread():
        return dry_run("glyphs", options=YARDSTICK, measured=MEASURED).cpu_seconds_per_step


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
