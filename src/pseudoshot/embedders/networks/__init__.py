"""Networks that are not made here but come as a file, a folder or a function; and how any network
is built again from its card."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from pseudoshot.backbones import Backbone, build_backbone
from pseudoshot.embedders.card import ModelCard
from pseudoshot.embedders.networks.function import FunctionNetwork
from pseudoshot.embedders.networks.onnx_file import OnnxNetwork
from pseudoshot.embedders.networks.transformers_model import TransformersNetwork
from pseudoshot.tools.errors import PseudoshotError


def build_network(card: ModelCard, weights: Mapping[str, Tensor]) -> Backbone:
    """The network that a card describes, with the weights that were saved beside it."""
    if card.backbone == "function":
        raise PseudoshotError("its network is a function, which no file holds")
    if card.backbone == "onnx":
        return OnnxNetwork(weights["file"].numpy().tobytes(), card.size, **card.config)
    if card.backbone == "transformers":
        return TransformersNetwork.rebuilt(size=card.size, weights=weights, **card.config)
    backbone = build_backbone(card.backbone, card.channels, card.size)
    backbone.load_state_dict(weights)
    return backbone


__all__ = ["FunctionNetwork", "OnnxNetwork", "TransformersNetwork", "build_network"]
