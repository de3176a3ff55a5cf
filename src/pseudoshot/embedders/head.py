"""The head that a training left beside its embedding; some classifiers use it at test."""

from __future__ import annotations

import json
from pathlib import Path

from pseudoshot.heads import Head
from pseudoshot.methods import METHODS
from pseudoshot.settings.saved import saved_settings
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import is_file
from pseudoshot.tools.tensor_file import read


def load_head(folder: Path, dim: int) -> Head:
    """The head that was trained beside an embedding of size `dim`."""
    settings = trained_with(folder)
    head = METHODS[settings.method.name].build_head(dim, settings.method)
    if head is None:
        raise PseudoshotError(
            f"'{folder}' was trained by '{settings.method.name}', which has no head: "
            f"choose a run of tsp-head, or another --classifier"
        )
    path = folder / "head.safetensors"
    try:
        head.load_state_dict(read(path)[0])
    except Exception as error:  # a header of any content leads to errors of any kind
        raise PseudoshotError(f"{path} cannot be read: {first_line(error)}") from error
    return head.eval()


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
