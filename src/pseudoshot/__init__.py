"""From unlabelled images to an embedding that recognises new classes from a few examples.

>>> import pseudoshot
>>> images = pseudoshot.load_data("glyphs:test")
>>> model = pseudoshot.load("runs/demo")  # doctest: +SKIP
>>> pseudoshot.evaluate(model, images, way=20, query=7)  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

import pseudoshot.tools.threads  # noqa: F401 (before torch, whose OpenMP reads its setting once)
from pseudoshot._version import __version__
from pseudoshot.tools.errors import PseudoshotError

if TYPE_CHECKING:
    from pseudoshot.data import ImageSet
    from pseudoshot.data import load as load_data
    from pseudoshot.embedders import Embedder, load
    from pseudoshot.evaluation import Evaluation, evaluate
    from pseudoshot.runs import compare, finetune, train
    from pseudoshot.sorting import FewShotClassifier, load_classifier, save_classifier, suggest
else:
    # Loaded when first asked for: `pseudoshot --help` need not wait for torch. Type checkers see
    # the imports above alone.
    from importlib import import_module

    _HOMES = {
        "pseudoshot.data": ("ImageSet",),
        "pseudoshot.embedders": ("Embedder", "load"),
        "pseudoshot.evaluation": ("Evaluation", "evaluate"),
        "pseudoshot.runs": ("compare", "finetune", "train"),
        "pseudoshot.sorting": (
            *("FewShotClassifier", "load_classifier", "save_classifier", "suggest"),
        ),
    }

    def __getattr__(name):
        if name == "load_data":
            return import_module("pseudoshot.data").load
        for module, names in _HOMES.items():
            if name in names:
                return getattr(import_module(module), name)
        raise AttributeError(f"module 'pseudoshot' has no attribute '{name}'")

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "Embedder",
    "Evaluation",
    "FewShotClassifier",
    "ImageSet",
    "PseudoshotError",
    "__version__",
    "compare",
    "evaluate",
    "finetune",
    "load",
    "load_classifier",
    "load_data",
    "save_classifier",
    "suggest",
    "train",
]
