"""The head that a training left beside its embedding; some classifiers use it at test."""

from __future__ import annotations

import json
from pathlib import Path

from torch import Tensor

from pseudoshot.heads import Head, LinearHead
from pseudoshot.methods import METHODS
from pseudoshot.settings.saved import saved_settings
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import is_file
from pseudoshot.tools.state_file import load_checkpoint
from pseudoshot.tools.tensor_file import read


def load_head(folder: Path, dim: int) -> Head:
    """The head that was trained beside an embedding of size `dim`."""
    settings = trained_with(folder)
    head = METHODS[settings.method.name].build_head(dim, settings.method)
    if head is None:
        raise PseudoshotError(
            f"'{folder}' was trained by '{settings.method.name}', which has no head: "
            f"choose a run of tsp-head, feat or meta-gmvae, or another --classifier"
        )
    path = folder / "head.safetensors"
    try:
        head.load_state_dict(read(path)[0] if is_file(path) else _so_far(folder))
    except Exception as error:  # a header of any content leads to errors of any kind
        raise PseudoshotError(f"{path} cannot be read: {first_line(error)}") from error
    return head.eval()


def load_layer(folder: Path | None, dim: int) -> LinearHead | None:
    """The layer that MAML trained on top of the embedding; None where there is none, or where the
    run's model is not the network that it was trained with."""
    if folder is None or not is_file(folder / "run.json"):
        return None
    settings = trained_with(folder)
    head = METHODS[settings.method.name].build_head(dim, settings.method)
    left_out = is_file(folder / "model.json") and not is_file(folder / "head.safetensors")
    if left_out or not isinstance(head, LinearHead):
        return None
    layer = load_head(folder, dim)
    assert isinstance(layer, LinearHead)
    return layer


def _so_far(folder: Path) -> dict[str, Tensor]:
    """The head's weights in the last checkpoint of a run that has not finished."""
    if is_file(folder / "model.json"):
        raise PseudoshotError("there is no such file")
    method = (load_checkpoint(folder) or {})["method"]
    return {name.removeprefix("head."): v for name, v in method.items() if name.startswith("head.")}


def trained_with(folder: Path) -> RunSettings:
    """The settings of the run in the folder."""
    path = folder / "run.json"
    if not is_file(path):
        raise PseudoshotError(
            f"'{folder}' holds no run and so no head: choose a run of tsp-head, or another "
            f"--classifier"
        )
    try:
        return saved_settings(json.loads(path.read_text(encoding="utf-8"))["settings"])
    except (
        *(PseudoshotError, OSError, AttributeError, KeyError, TypeError, ValueError),
        RecursionError,
    ) as error:
        raise PseudoshotError(f"{path} cannot be read: {first_line(error)}") from error
