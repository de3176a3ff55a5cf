"""How fast this machine is beside the one where a folder of studies was begun.

Seconds become steps by what a step takes there. By what it takes here, on a slower machine, the
runs that are left would be compared with others of more steps. The yardstick is a step of a small
training: a budget's seconds are so many of it, on any machine and in any minute.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from pseudoshot.runs.estimating import measure_steps, unsaved_trainer
from pseudoshot.runs.training import images_of
from pseudoshot.settings.resolve import resolve
from pseudoshot.studies.shelf import Shelf
from pseudoshot.tools.processor import processor_name
from pseudoshot.training.trainer import Trainer

YARDSTICK = {"data": "glyphs", "recipe": "paper", "backbone": "conv4", "images": 16}
MEASURED = 20  # steps, two seconds


@functools.cache
def yardstick() -> Trainer:
    """A training of the built-in letters, a step of which takes a twentieth of a second."""
    settings = resolve(YARDSTICK)
    return unsaved_trainer(settings, images_of(settings, None))


def slowness(shelf: Shelf) -> float:
    """What a step takes here over what it takes where the folder was begun."""
    return _measured_here(shelf) / yardstick_seconds(shelf)


def yardstick_seconds(shelf: Shelf) -> float:
    """Of the processor, on the machine where the folder was begun; this one, where it is new."""
    _measured_here(shelf)
    first, *_ = shelf.machines().values()
    return first


def _measured_here(shelf: Shelf) -> float:
    """Once on every kind of processor, whose name it is kept by."""
    with shelf.waiting_for("machines"):
        machines = shelf.machines()
        here = processor_name()
        if here not in machines:
            machines[here] = _yardstick_seconds_here()
            shelf.keep_machines(machines)
    return machines[here]


def _yardstick_seconds_here() -> float:
    """On one thread, as the studies' own."""
    with _one_thread():
        return measure_steps(yardstick(), MEASURED).processor


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
