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
from torch import Tensor

from pseudoshot.classifiers import CLASSIFIERS, Linear, classifier_settings
from pseudoshot.embedders import ModelCard
from pseudoshot.embedders.embedder import from_weights
from pseudoshot.sorting.estimator import FewShotClassifier
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import is_file, replaced
from pseudoshot.tools.tensor_file import read
from pseudoshot.tools.tensor_file import to_bytes as file_bytes

_KEY = "pseudoshot.classifier"  # of the description, in the file's metadata
_WEIGHT, _BIAS, _BACKBONE = "classifier.weight", "classifier.bias", "backbone."
_IN_FORMAT_1 = {"head.weight": _WEIGHT, "head.bias": _BIAS}


class Description(BaseModel):
    """What the file says beside its weights."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[2] = 2
    classes: Annotated[
        list[StrictBool] | list[StrictInt] | list[StrictFloat] | list[StrictStr],
        Field(min_length=1),
    ]
    classifier: dict[str, Any]  # its settings, complete
    temperature: Annotated[float, Field(ge=1e-9, le=1e9)]
    reject: Annotated[float, Field(ge=0, le=1)] | None = None
    card: ModelCard | None = None  # none where feature vectors are classified


def save_classifier(classifier: FewShotClassifier, path: str | Path) -> None:
    """All of a fitted classifier, in one file that `load_classifier` reads.

    >>> save_classifier(classifier, "classifier.safetensors")  # doctest: +SKIP
    """
    with replaced(Path(path)) as temporary:
        temporary.write_bytes(to_bytes(classifier))


def to_bytes(classifier: FewShotClassifier) -> bytes:
    """The contents of such a file."""
    embedder, fitted = classifier.embedder_, classifier.fitted_
    if not isinstance(fitted, Linear):
        raise PseudoshotError(
            f"a classifier '{classifier.classifier_.name}' looks at all images together and "
            f"cannot be saved: choose another one"
        )
    labels: list[Any] = classifier.classes_.tolist()
    description = Description(
        classes=labels if classifier.classes_.dtype.kind in "biuf" else [str(x) for x in labels],
        classifier=_complete(classifier),
        temperature=classifier.temperature_,
        reject=classifier.reject,
        card=None if embedder is None else embedder.card,
    )
    weights: dict[str, Tensor] = {
        _WEIGHT: fitted.weight[0].contiguous(),
        _BIAS: fitted.bias[0].contiguous(),
    }
    if embedder is not None:
        weights |= {_BACKBONE + name: value for name, value in embedder.weights().items()}
    return file_bytes(weights, {_KEY: description.model_dump_json()})


def load_classifier(path: str | Path) -> FewShotClassifier:
    """A classifier that `save_classifier` or the page of `pseudoshot serve` wrote.

    >>> load_classifier("classifier.safetensors").predict(["1.jpg", "2.jpg"])  # doctest: +SKIP
    """
    path = Path(path)
    if not is_file(path):
        raise PseudoshotError(f"there is no classifier '{str(path)[:300]}'")
    try:
        weights, words = read(path, [_KEY])
        if _KEY not in words:
            raise PseudoshotError("it holds none")
        fields, weights = _of_format_2(json.loads(words[_KEY]), weights)
        return _rebuilt(Description.model_validate(fields), weights)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
    except Exception as error:  # a header of any content leads to errors of any kind
        reason = first_line(error)
    raise PseudoshotError(f"'{path}' cannot be read as a classifier: {reason}")


def _complete(classifier: FewShotClassifier) -> dict[str, Any]:
    """Its settings with nothing left to a model: refitted without one, it would be the same."""
    settings = classifier.classifier_.settings.model_dump()
    if "similarity" in settings:
        settings["similarity"] = classifier.classifier_.similarity
    return settings


def _of_format_2(fields: Any, weights: dict[str, Tensor]) -> tuple[Any, dict[str, Tensor]]:
    """A file of format 1 named one of three heads, of which prototype was always by SNS."""
    if not isinstance(fields, dict) or fields.get("format", 1) != 1 or "head" not in fields:
        return fields, weights
    name = fields["head"]
    classifier = {"name": name, "similarity": "sns"} if name == "prototype" else {"name": name}
    kept = {key: value for key, value in fields.items() if key != "head"}
    return (
        {**kept, "format": 2, "classifier": classifier},
        {_IN_FORMAT_1.get(key, key): value for key, value in weights.items()},
    )


def _rebuilt(description: Description, weights: dict[str, Tensor]) -> FewShotClassifier:
    weight, bias = weights.pop(_WEIGHT).double(), weights.pop(_BIAS).double()
    embedder, card = None, description.card
    if card is not None:
        own = {name.removeprefix(_BACKBONE): value for name, value in weights.items()}
        embedder = from_weights(card, own)
    way, dim = len(description.classes), weight.shape[1] if embedder is None else embedder.dim
    if weight.shape != (way, dim) or bias.shape != (way,):
        raise PseudoshotError("its weights are not those of its classes")
    settings = classifier_settings(description.classifier)
    classifier = FewShotClassifier(embedder, classifier=settings, reject=description.reject)
    kind = CLASSIFIERS[settings.name]
    classifier.classifier_ = kind(settings, "sns" if card is None else card.similarity)
    classifier.embedder_, classifier.fitted_ = embedder, Linear(weight[None], bias[None])
    classifier.classes_ = np.array(description.classes)
    classifier.temperature_ = description.temperature
    classifier.held_out_, classifier.told_by_ = None, f"told apart by {kind.called}"
    classifier.n_features_in_ = dim
    return classifier
