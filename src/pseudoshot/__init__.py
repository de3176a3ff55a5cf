"""From unlabelled images to an embedding that recognises new classes from a few examples.

>>> import pseudoshot
>>> images = pseudoshot.load_data("glyphs:test")
>>> model = pseudoshot.load("runs/demo")  # doctest: +SKIP
>>> pseudoshot.evaluate(model, images, way=20, query=7)  # doctest: +SKIP
"""

from pseudoshot._version import __version__
from pseudoshot.data import ImageSet
from pseudoshot.data import load as load_data
from pseudoshot.errors import PseudoshotError
from pseudoshot.evaluation import Evaluation, evaluate
from pseudoshot.model import Embedder
from pseudoshot.runs import train

load = Embedder.load

__all__ = [
    "Embedder",
    "Evaluation",
    "ImageSet",
    "PseudoshotError",
    "__version__",
    "evaluate",
    "load",
    "load_data",
    "train",
]
