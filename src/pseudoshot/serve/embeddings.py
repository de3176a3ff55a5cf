"""Embeddings by number: single precision, filled piece by piece, grown without being copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Singles: TypeAlias = npt.NDArray[np.float32]
TINY = 1e-12  # no length is less: what is divided by it stays finite
_LEAST = 64  # rows


@dataclass(frozen=True)
class View:
    """The embeddings as they are at one moment; those not known yet are zeros."""

    rows: Singles  # (n, d)
    lengths: Singles  # (n,), of the rows; never 0
    known: npt.NDArray[np.bool_]  # (n,)
    revision: int  # another one, and something is different


class Embeddings:
    """(n, d); who changes them holds the session's lock."""

    def __init__(self, dim: int) -> None:
        self._rows: Singles = np.zeros((_LEAST, dim), np.float32)
        self._lengths: Singles = np.ones(_LEAST, np.float32)
        self._known = np.zeros(_LEAST, np.bool_)
        self._count = self._revision = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, count: int) -> range:
        """Room for so many more; their numbers."""
        first, self._count = self._count, self._count + count
        if self._count > len(self._rows):
            room = max(self._count, 3 * len(self._rows) // 2)
            self._rows, old = np.zeros((room, self._rows.shape[1]), np.float32), self._rows
            self._rows[:first] = old[:first]
            self._lengths = np.append(self._lengths[:first], np.ones(room - first, np.float32))
        self._known = np.concatenate((self._known[:first], np.zeros(len(self._rows) - first, bool)))
        self._revision += 1
        return range(first, self._count)

    def fill(self, numbers: npt.NDArray[np.int64] | range, rows: Singles) -> None:
        self._rows[numbers] = rows
        self._lengths[numbers] = np.linalg.norm(rows, axis=1).clip(TINY)
        self._know(numbers, True)

    def forget(self, number: int) -> None:
        self._know(range(number, number + 1), False)

    def _know(self, numbers: npt.NDArray[np.int64] | range, known: bool) -> None:
        self._known = self._known.copy()  # views keep what they were given
        self._known[numbers] = known
        self._revision += 1

    def view(self) -> View:
        n = self._count
        return View(self._rows[:n], self._lengths[:n], self._known[:n], self._revision)
