"""From unlabelled images to an embedding that recognises new classes from a few examples.

>>> import pseudoshot
>>> images = pseudoshot.load_data("glyphs:test")
>>> model = pseudoshot.load("runs/demo")  # doctest: +SKIP
>>> pseudoshot.evaluate(model, images, way=20, query=7)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pseudoshot.tools.threads  # noqa: F401 (before torch, whose OpenMP reads its setting once)
from pseudoshot._version import __version__
from pseudoshot.tools.errors import PseudoshotError

if TYPE_CHECKING:
    from pseudoshot.data import ImageSet
    from pseudoshot.data import load as load_data
    from pseudoshot.embedders import Embedder, load
    from pseudoshot.evaluation import Evaluation, evaluate
    from pseudoshot.runs import train
    from pseudoshot.runs.comparing import compare
    from pseudoshot.sorting import FewShotClassifier, load_classifier

# Loaded when first asked for: `pseudoshot --help` need not wait for torch.
_HOMES = {
    "Embedder": ("pseudoshot.embedders", "Embedder"),
    "Evaluation": ("pseudoshot.evaluation", "Evaluation"),
    "FewShotClassifier": ("pseudoshot.sorting", "FewShotClassifier"),
    "ImageSet": ("pseudoshot.data", "ImageSet"),
    "compare": ("pseudoshot.runs.comparing", "compare"),
    "evaluate": ("pseudoshot.evaluation", "evaluate"),
    "load": ("pseudoshot.embedders", "load"),
    "load_classifier": ("pseudoshot.sorting", "load_classifier"),
    "load_data": ("pseudoshot.data", "load"),
    "train": ("pseudoshot.runs", "train"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pseudoshot' has no attribute '{name}'")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


__all__ = [
    "Embedder",
    "Evaluation",
    "FewShotClassifier",
    "ImageSet",
    "PseudoshotError",
    "__version__",
    "compare",
    "evaluate",
    "load",
    "load_classifier",
    "load_data",
    "train",
]
