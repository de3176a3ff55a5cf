"""Methods: one file each, settings beside the class. A new one is added to METHODS, no more."""

from pseudoshot.methods.base import Batch, EpisodeSettings, Loss, Method
from pseudoshot.methods.baseline import Baseline
from pseudoshot.methods.vanilla import Vanilla

METHODS: dict[str, type[Method]] = {
    "baseline": Baseline,
    "vanilla": Vanilla,
}

__all__ = ["METHODS", "Batch", "EpisodeSettings", "Loss", "Method"]
