"""ModelCard: what is said of a model beside its weights."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pseudoshot.backbones import BACKBONES
from pseudoshot.classifiers import ClassifierSettings, classifier_settings
from pseudoshot.data import ImageSet
from pseudoshot.data.loading import MOST_PIXELS_A_SIDE
from pseudoshot.readings import PLAIN, Reading
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.errors import PseudoshotError

# Of pixels in [0, 1]; beyond these a network sees nothing, or nothing but infinities.
Mean: TypeAlias = Annotated[float, Field(ge=-1e3, le=1e3)]
Deviation: TypeAlias = Annotated[float, Field(ge=1e-4, le=1e4)]
FROM_OUTSIDE = ("onnx", "transformers", "function")  # networks that are not made here


class ModelCard(BaseModel):
    """What `model.json` says: enough to rebuild the backbone and treat an image as in training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1  # of these two files
    backbone: str
    channels: int
    size: int = Field(ge=1, le=MOST_PIXELS_A_SIDE)
    mean: tuple[Mean, ...]  # of each channel over the training images, in [0, 1]
    std: tuple[Deviation, ...]
    similarity: Similarity  # what it was trained with, and is tested with
    classifier: dict[str, Any] = {}  # what it is made for; {}: prototype
    reading: Reading = PLAIN  # how a vector is made of what the network says
    characters: bool = False  # what its images are of: characters, else photos
    trained_on: str = ""
    labels: str = ""  # those it was pre-trained with; "": none
    unfinished: str = ""  # how far its training was, "epoch 3 of 10"; "": it had ended
    config: dict[str, Any] = {}  # what else it takes to build a network from outside again

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, fields: Any) -> Any:
        """They said how arrays were resized, which are now resized as files always were."""
        known = isinstance(fields, dict) and fields.get("interpolation") in ("bicubic", "bilinear")
        return {k: v for k, v in fields.items() if k != "interpolation"} if known else fields

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.backbone not in (*BACKBONES, *FROM_OUTSIDE):
            raise ValueError(f"there is no backbone {self.backbone[:40]!r}")
        if self.channels not in (1, 3):
            raise ValueError(f"images have 1 or 3 channels, not {self.channels}")
        if not len(self.mean) == len(self.std) == self.channels:
            raise ValueError(f"mean and std are not those of {self.channels} channels")
        try:
            self.classifier_settings()
        except PseudoshotError as error:
            raise ValueError(str(error)) from error
        return self

    @property
    def knows_more(self) -> bool:
        """Than training on views teaches, and so has something to forget: labels were behind it, or
        nobody here knows what was."""
        return bool(self.labels) or self.backbone in FROM_OUTSIDE

    def classifier_settings(self) -> ClassifierSettings:
        """Of the classifier that the model is made for."""
        return classifier_settings({"name": "prototype", **self.classifier})


def card_digest(text: str) -> str:
    """Of what `model.json` says, however it is laid out."""
    return hashlib.sha256(json.dumps(json.loads(text), sort_keys=True).encode()).hexdigest()


def channel_statistics(images: ImageSet, sample: int = 10_000) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each channel in [0, 1], over evenly spaced images."""
    step = max(1, len(images) // sample)
    chosen = images.images[::step]
    count, total, squares = 0, np.zeros(images.channels), np.zeros(images.channels)
    for start in range(0, len(chosen), 1024):
        part = chosen[start : start + 1024].reshape(-1, images.channels) / 255.0
        count += len(part)
        total += part.sum(0)
        squares += np.square(part).sum(0)
    mean = total / count
    std = np.sqrt(np.maximum(squares / count - mean**2, 1e-8))
    return mean.tolist(), std.tolist()
