"""What need not be decoded: rows of the version of a set that there was before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pseudoshot.data.cache import Before, Keys
from pseudoshot.data.checked import BLOCK


class Plan:
    """What is to be done for each image: decode it, take over a row, or say why it is unread."""

    def __init__(self, keys: Keys, before: Before | None, readers: tuple[str, ...]) -> None:
        self._before, self._count = before, len(keys)
        if before is not None:
            self._rows = _rows_of(keys, before)
            known = before.unread if before.readers == readers else {}
            self._unread = dict[int, str]()
            if known:
                told = ((i, known.get(key.tobytes().hex())) for i, key in enumerate(keys))
                self._unread = {position: why for position, why in told if why is not None}

    def steps(self, first: int) -> Iterator[int | range | str]:
        """From an image on, in order: a position to decode, rows of before, or a reason."""
        if self._before is None:
            yield from range(first, self._count)
            return
        rows = self._rows[first:]
        begins = np.ones(len(rows), bool)
        # -1 is no row, though the one after it be 0
        begins[1:] = (rows[1:] != rows[:-1] + 1) | (rows[1:] < 0) | (rows[:-1] < 0)
        starts = np.flatnonzero(begins)
        most = max(1, BLOCK // (self._before.images.size // len(self._before.images)))
        for start, end in zip(starts, np.append(starts[1:], len(rows)), strict=True):
            if rows[start] < 0:
                yield self._unread.get(first + int(start), first + int(start))
                continue
            stop = int(rows[start] + end - start)
            for row in range(int(rows[start]), stop, most):
                yield range(row, min(row + most, stop))

    def take(self, rows: range) -> npt.NDArray[np.uint8]:
        """Rows of before, in colour as those that are decoded."""
        assert self._before is not None
        images = self._before.images[rows.start : rows.stop]
        return np.repeat(images, 3, axis=3) if images.shape[3] == 1 else images


def _rows_of(keys: Keys, before: Before) -> npt.NDArray[np.int64]:
    """The row of each image in the version before, -1 where it has none that is intact."""
    order = np.argsort(before.keys[:, 0], kind="stable")
    found = np.searchsorted(before.keys[order, 0], keys[:, 0]).clip(max=len(order) - 1)
    rows: npt.NDArray[np.int64] = order[found]
    rows[(before.keys[rows] != keys).any(1)] = -1
    known = np.flatnonzero(rows >= 0)
    rows[known[~before.images.intact(rows[known])]] = -1
    return rows
