"""Embedders: images in, vectors out, with a card that says how an image is treated."""

from pseudoshot.embedders.card import ModelCard, channel_statistics
from pseudoshot.embedders.doors.runs import bundled_models
from pseudoshot.embedders.embedder import Embedder
from pseudoshot.embedders.loading import PHOTOS, default_model, load

__all__ = [
    "PHOTOS",
    "Embedder",
    "ModelCard",
    "bundled_models",
    "channel_statistics",
    "default_model",
    "load",
]
