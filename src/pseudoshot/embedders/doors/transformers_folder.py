"""A folder of Hugging Face transformers, `config.json`, `model.safetensors` and
`preprocessor_config.json`, or the name of a model that has been downloaded.

Nothing is downloaded here, no code of a model's own is run, and nothing is unpickled.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, FiniteFloat, RootModel, ValidationError

from pseudoshot.data.loading import MOST_PIXELS_A_SIDE
from pseudoshot.embedders.card import ModelCard
from pseudoshot.embedders.doors.reading import read_json
from pseudoshot.embedders.embedder import Embedder
from pseudoshot.embedders.networks.transformers_model import (
    TransformersNetwork,
    bounded,
    configuration,
    how_to_read,
    library,
    plain,
    quiet,
)
from pseudoshot.tools.errors import PseudoshotError, first_line, validation_line
from pseudoshot.tools.files import is_file

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


class Config(RootModel[dict[str, Any]]):
    """`config.json`."""


class Preprocessor(BaseModel):
    """What counts of `preprocessor_config.json`."""

    size: int | dict[str, int | None] | None = None
    crop_size: int | dict[str, int | None] | None = None
    do_center_crop: bool | None = None
    do_normalize: bool | None = None
    do_rescale: bool | None = None
    image_mean: tuple[FiniteFloat, ...] | None = None
    image_std: tuple[FiniteFloat, ...] | None = None
    rescale_factor: FiniteFloat = 1 / 255

    def side(self) -> int:
        """Of the square that the model is given: what is cut out, or all of it."""
        size = self.crop_size if self.do_center_crop and self.crop_size else self.size
        sides = {size} if isinstance(size, int) else {*(size or {}).values()} - {None}
        if len(sides) != 1:
            raise PseudoshotError(f"its images are not squares of one size: {size}")
        side = max(side for side in sides if side is not None)
        if not 1 <= side <= MOST_PIXELS_A_SIDE:
            raise PseudoshotError(
                f"its images have {side} pixels a side: 1 to {MOST_PIXELS_A_SIDE} are possible"
            )
        return side

    def statistics(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and deviation for images in [0, 1], whatever bytes are divided by there."""
        mean: tuple[float, ...] = (0.0,) * 3
        std: tuple[float, ...] = (1.0,) * 3
        if self.do_normalize is not False:
            if self.image_mean is None or self.image_std is None:
                raise PseudoshotError("image_mean and image_std do not say how to normalise")
            mean, std = self.image_mean, self.image_std
        scale = 255.0 if self.do_rescale is False else 255 * self.rescale_factor
        return tuple(m / scale for m in mean), tuple(s / scale for s in std)


class Processor(BaseModel):
    """`processor_config.json`, which later versions write in its place."""

    image_processor: Preprocessor


def takes(name: str) -> bool:
    """A run folder comes before it."""
    return _folder_of(name) is not None


def enter(name: str) -> Embedder:
    folder = _folder_of(name)
    assert folder is not None
    fields = _checked(folder)
    preprocessor = _preprocessor(folder)
    try:
        mean, std = preprocessor.statistics()
        with quiet():
            needed = bounded(configuration(fields), preprocessor.side())
        model, lacks_pooler = _loaded(folder, fields)
        read = how_to_read(model, preprocessor.side(), lacks_pooler)
        card = ModelCard(
            backbone="transformers",
            channels=3,
            size=preprocessor.side(),
            mean=mean,
            std=std,
            similarity="sns",
            trained_on=f"{name}, by transformers",
            labels=_labels(fields),
            config={"config": plain(model.config), "read": read},
        )
        network = TransformersNetwork(model, read, card.size, needed)
    except ValidationError as error:
        raise PseudoshotError(f"'{name}' cannot be used: {validation_line(error)}") from error
    except Exception as error:  # of a configuration of any content
        raise PseudoshotError(f"'{name}' cannot be used: {first_line(error)}") from error
    return Embedder(network, card).eval()


def is_hub_name(name: str) -> bool:
    """Whether it may be that of a model elsewhere: owner/name, and no folder here.

    >>> is_hub_name("facebook/dinov2-small"), is_hub_name("../runs/demo")
    (True, False)
    """
    return bool(re.fullmatch(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}", name)) and not Path(name).exists()


def _folder_of(name: str) -> Path | None:
    folder = Path(name)
    if is_file(folder / "config.json") and not is_file(folder / "model.json"):
        return folder
    if not is_hub_name(name):
        return None
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    found = try_to_load_from_cache(name, "config.json")
    return Path(found).parent if isinstance(found, str) else None


def _checked(folder: Path) -> dict[str, Any]:
    """The configuration of a model that needs no code but the library's, nor any pickle."""
    fields = read_json(folder / "config.json", Config, "a model's configuration").root
    if "auto_map" in fields:
        raise PseudoshotError(
            f"'{folder}' brings code of its own, which is not run: choose a model that the "
            f"library transformers has, or export it as ONNX"
        )
    if not any(is_file(folder / name) for name in _WEIGHTS):
        raise PseudoshotError(
            f"'{folder}' holds no model.safetensors, the only form of weights that is read: save "
            f"the model again with transformers' save_pretrained"
        )
    return fields


def _preprocessor(folder: Path) -> Preprocessor:
    what = "a description of images"
    if is_file(folder / "preprocessor_config.json"):
        return read_json(folder / "preprocessor_config.json", Preprocessor, what)
    if is_file(folder / "processor_config.json"):
        return read_json(folder / "processor_config.json", Processor, what).image_processor
    raise PseudoshotError(
        f"how are images prepared for '{folder}'? It holds no preprocessor_config.json: write "
        f'{{"size": 224, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}} '
        f"to it, with the numbers that the model was trained with (these are ImageNet's)"
    )


def _loaded(folder: Path, fields: dict[str, Any]) -> tuple[Any, bool]:
    """The model, and whether weights of its pooling are missing: a classifier is saved without."""
    with quiet():
        model, found = library().AutoModel.from_pretrained(
            folder,
            config=configuration(fields),
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    missing = set(found["missing_keys"])
    of_pooler = {name for name in missing if "pooler." in name}
    if missing - of_pooler:
        raise PseudoshotError(f"its weights lack {min(missing - of_pooler)}")
    return model, bool(of_pooler)


def _labels(fields: dict[str, Any]) -> str:
    """As far as the configuration tells."""
    if "vision_config" in fields:
        return "captions of the images"
    heads = fields.get("architectures") or []
    if any("ImageClassification" in str(head) for head in heads):
        classes = fields.get("id2label")
        return f"{len(classes):,} classes" if classes else "those of an image classifier"
    return ""
