"""A fitted classifier as one file, the embedding's weights included: safetensors, never pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, from_numpy

from pseudoshot.backbones import build_backbone
from pseudoshot.embedders.embedder import Embedder, ModelCard, first_line
from pseudoshot.sorting.estimator import FewShotClassifier
from pseudoshot.sorting.heads import HEADS, LinearHead
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import is_file, replaced
from pseudoshot.tools.registry import look_up

_KEY = "pseudoshot.classifier"  # of the description, in the file's metadata
_WEIGHT, _BIAS, _BACKBONE = "head.weight", "head.bias", "backbone."


class Description(BaseModel):
    """What the file says beside its weights."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    classes: Annotated[
        list[StrictBool] | list[StrictInt] | list[StrictFloat] | list[StrictStr],
        Field(min_length=1),
    ]
    head: str
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    reject: Annotated[float, Field(ge=0, le=1)] | None = None
    card: ModelCard | None = None  # none where feature vectors are classified


def save_classifier(classifier: FewShotClassifier, path: Path) -> None:
    """All of a fitted classifier, in one file that `load_classifier` reads."""
    with replaced(path) as temporary:
        temporary.write_bytes(to_bytes(classifier))


def to_bytes(classifier: FewShotClassifier) -> bytes:
    """The contents of such a file."""
    embedder = classifier.embedder_
    labels: list[Any] = classifier.classes_.tolist()
    description = Description(
        classes=labels if classifier.classes_.dtype.kind in "biuf" else [str(x) for x in labels],
        head=classifier.head,
        temperature=classifier.temperature_,
        reject=classifier.reject,
        card=None if embedder is None else embedder.card,
    )
    weights: dict[str, Tensor] = {
        _WEIGHT: from_numpy(classifier.head_.weight).contiguous(),
        _BIAS: from_numpy(classifier.head_.bias),
    }
    if embedder is not None:
        state = embedder.backbone.state_dict()
        weights |= {_BACKBONE + name: value.contiguous() for name, value in state.items()}
    return save(weights, {_KEY: description.model_dump_json()})


def load_classifier(path: str | Path) -> FewShotClassifier:
    """A classifier that `save_classifier` or the page of `pseudoshot serve` wrote.

    >>> load_classifier("classifier.safetensors").predict(["1.jpg", "2.jpg"])  # doctest: +SKIP
    """
    path = Path(path)
    if not is_file(path):
        raise PseudoshotError(f"there is no classifier '{str(path)[:300]}'")
    try:
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(_KEY)
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if text is None:
            raise PseudoshotError("it holds none")
        return _rebuilt(Description.model_validate(json.loads(text)), weights)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
    except Exception as error:  # a header of any content leads to errors of any kind
        reason = first_line(error)
    raise PseudoshotError(f"'{path}' cannot be read as a classifier: {reason}")


def _rebuilt(description: Description, weights: dict[str, Tensor]) -> FewShotClassifier:
    look_up("head", description.head, HEADS)
    head = LinearHead(weights.pop(_WEIGHT).double().numpy(), weights.pop(_BIAS).double().numpy())
    embedder, card = None, description.card
    if card is not None:
        backbone = build_backbone(card.backbone, card.channels, card.size)
        of_backbone = {name.removeprefix(_BACKBONE): value for name, value in weights.items()}
        backbone.load_state_dict(of_backbone)
        embedder = Embedder(backbone, card).eval()
    way, dim = len(description.classes), head.weight.shape[1] if embedder is None else embedder.dim
    if head.weight.shape != (way, dim) or head.bias.shape != (way,):
        raise PseudoshotError("its weights are not those of its classes")
    classifier = FewShotClassifier(embedder, head=description.head, reject=description.reject)
    classifier.embedder_, classifier.head_ = embedder, head
    classifier.classes_ = np.array(description.classes)
    classifier.temperature_ = description.temperature
    classifier.n_features_in_ = dim
    return classifier
