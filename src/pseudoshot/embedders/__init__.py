"""Embedders: images in, vectors out, with a card that says how an image is treated."""

from pseudoshot.embedders.card import ModelCard, channel_statistics
from pseudoshot.embedders.embedder import Embedder
from pseudoshot.embedders.loading import bundled_models, load

__all__ = ["Embedder", "ModelCard", "bundled_models", "channel_statistics", "load"]
