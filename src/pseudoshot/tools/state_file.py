"""A tree of tensors and plain values as one safetensors file: tensors as such, the rest as JSON
beside them; a training's checkpoint is one.

No pickle: loading a checkpoint can execute nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import is_file, replaced
from pseudoshot.tools.tensor_file import digest

# In a run folder: the last checkpoint, and the one before it in case that is damaged.
LATEST, PREVIOUS = "checkpoint/latest.safetensors", "checkpoint/previous.safetensors"
_TENSOR = "__tensor__"
_ITEMS = "__items__"  # a dictionary whose keys are not all strings, as in an optimiser's state


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a tree of dictionaries, lists, numbers, strings and tensors, atomically."""
    tensors: dict[str, Tensor] = {}
    skeleton = json.dumps(_take_tensors(state, tensors))
    metadata = {"state": skeleton, "digest": digest(skeleton, tensors)}
    with replaced(path) as temporary:
        temporary.write_bytes(save(tensors, metadata=metadata))


def load_state(path: Path) -> dict[str, Any]:
    try:
        with safe_open(path, framework="pt") as file:
            skeleton, written = (file.metadata()[name] for name in ("state", "digest"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if written != digest(skeleton, tensors):
                raise ValueError("its content is not what was written")
            state: dict[str, Any] = _put_tensors(json.loads(skeleton), tensors)
            return state
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise PseudoshotError(f"the checkpoint {path} cannot be read: {error}") from error


def load_checkpoint(run: Path) -> dict[str, Any] | None:
    """The last state that a training left in its folder and that can be read; None: none yet."""
    damaged = None
    for name in (LATEST, PREVIOUS):
        if is_file(run / name):
            try:
                return load_state(run / name)
            except PseudoshotError as error:
                damaged = damaged or error
    if damaged is not None:
        raise damaged
    return None


def _take_tensors(node: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(node, Tensor):
        key = str(len(tensors))
        # a copy: safetensors refuses tensors that share memory
        tensors[key] = node.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {_TENSOR: key}
    if isinstance(node, dict):
        if all(isinstance(key, str) for key in node):
            return {key: _take_tensors(value, tensors) for key, value in node.items()}
        return {_ITEMS: [[key, _take_tensors(value, tensors)] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        return [_take_tensors(value, tensors) for value in node]
    return node


def _put_tensors(node: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(node, dict):
        if _TENSOR in node:
            return tensors[node[_TENSOR]]
        if _ITEMS in node:
            return {key: _put_tensors(value, tensors) for key, value in node[_ITEMS]}
        return {key: _put_tensors(value, tensors) for key, value in node.items()}
    if isinstance(node, list):
        return [_put_tensors(value, tensors) for value in node]
    return node
