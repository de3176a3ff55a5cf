"""How much memory a network takes, told before it takes any."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

MOST_MEMORY = 1 << 30  # bytes that one image may take: a stranger's file can claim any size


class _Live(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of tensors that there are at a time, each storage once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live = self.most = 0
        self._holders: Counter[int] = Counter()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(found):
            if isinstance(tensor, Tensor):
                self._hold(tensor)
        return found

    def _hold(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if not self._holders[key]:
            self.live += size
            self.most = max(self.most, self.live)
        self._holders[key] += 1
        weakref.finalize(tensor, self._let_go, key, size)

    def _let_go(self, key: int, size: int) -> None:
        self._holders[key] -= 1
        if not self._holders[key]:
            self.live -= size


def peak_of(call: Callable[[Tensor], object], size: int) -> int:
    """Bytes that a network on the device "meta" would take for one image; it computes nothing."""
    tensors = _Live()
    with torch.inference_mode(), tensors:
        call(torch.zeros(1, 3, size, size, device="meta"))
    return tensors.most
