"""Tensors with words beside them in a safetensors file that tells whether it is still what was
written: a digest of all of it stands in its header."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from pseudoshot.tools.console import say

_DIGEST = "digest"


def to_bytes(tensors: dict[str, Tensor], words: Mapping[str, str] | None = None) -> bytes:
    """The contents of such a file."""
    told = dict(words or {})
    return save(tensors, {**told, _DIGEST: digest(_as_text(told), tensors)})


def read(path: Path, known: Collection[str] = ()) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and the known words; a ValueError where they are not what was written, or no numbers.

    A file of an earlier version has no digest: it is read, and that is said. A word that is not
    known may be the digest's own name with a bit flipped, and is refused.
    """
    with safe_open(path, "pt") as file:
        words = dict(file.metadata() or {})
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    written = words.pop(_DIGEST, None)
    if strangers := words.keys() - {*known}:
        raise ValueError(f"its header holds {min(strangers)[:80]!r}, which is not known")
    if written is None:
        say(f"{path} has no digest, as files of earlier versions: whether it changed is not known")
    elif written != digest(_as_text(words), tensors):
        raise ValueError("its content is not what was written: get or make it again")
    _refuse_not_finite(tensors)
    return tensors, words


def _refuse_not_finite(tensors: Mapping[str, Tensor]) -> None:
    """A NaN or an infinity among weights makes every answer the same."""
    for name, value in tensors.items():
        if value.is_floating_point() and not bool(value.isfinite().all()):
            raise ValueError(f"'{name[:80]}' holds numbers that are not finite")


def digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    """Of a text and of the names, kinds, shapes and bytes of tensors."""
    found = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        value = tensors[name]
        found.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        found.update(value.contiguous().view(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def _as_text(words: Mapping[str, str]) -> str:
    return json.dumps(words, sort_keys=True)
