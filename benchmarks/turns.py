"""Sides of a comparison that take turns, each in a process of its own.

Allocator settings hold for a whole process, and the memory that one side leaves behind slows the
other. A side is a generator that works once for each value it gives; while one works, the others
sleep.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any

import torch

import pseudoshot  # noqa: F401 (how threads wait is as in training)

Side = tuple[Callable[..., Iterator[Any]], tuple[Any, ...]]  # a function and its arguments


def take_turns(
    sides: Mapping[str, Side], rounds: int, threads: int, warm_up: int = 1
) -> dict[str, list[Any]]:
    """What each side gave in each round, those that warm up left out."""
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    for name, side in sides.items():
        pipes[name], theirs = context.Pipe()
        context.Process(target=_serve, args=(side, threads, theirs), daemon=True).start()
    taken: dict[str, list[Any]] = {name: [] for name in sides}
    for _ in range(rounds + warm_up):
        for name, pipe in pipes.items():
            pipe.send(True)
            taken[name].append(pipe.recv())
    for pipe in pipes.values():
        pipe.send(False)
    return {name: values[warm_up:] for name, values in taken.items()}


def _serve(side: Side, threads: int, pipe: Connection) -> None:
    torch.set_num_threads(threads)
    function, arguments = side
    values = function(*arguments)
    while pipe.recv():
        pipe.send(next(values))
