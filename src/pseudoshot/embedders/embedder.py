"""Embedder: a backbone and what must be done to an image before it; what a run leaves behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator
from safetensors.torch import load_file, save
from torch import Tensor, nn

from pseudoshot.backbones import BACKBONES, Backbone, build_backbone
from pseudoshot.data import ImageSet
from pseudoshot.data.loading import MOST_PIXELS_A_SIDE
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.allocator import keep_freed_memory
from pseudoshot.tools.console import progress_bar
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import is_file, replaced, write_text

_BUNDLED = Path(__file__).parent / "bundled"
_LUMA = (0.299, 0.587, 0.114)


class ModelCard(BaseModel):
    """What `model.json` says: enough to rebuild the backbone and treat an image as in training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1  # of these two files
    backbone: str
    channels: int
    size: int = Field(ge=1, le=MOST_PIXELS_A_SIDE)
    mean: tuple[FiniteFloat, ...]  # of each channel over the training images, in [0, 1]
    std: tuple[Annotated[FiniteFloat, Field(gt=0)], ...]
    similarity: Similarity  # what it was trained with, and is tested with
    trained_on: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.backbone not in BACKBONES:
            raise ValueError(f"there is no backbone {self.backbone[:40]!r}")
        if self.channels not in (1, 3):
            raise ValueError(f"images have 1 or 3 channels, not {self.channels}")
        if not len(self.mean) == len(self.std) == self.channels:
            raise ValueError(f"mean and std are not those of {self.channels} channels")
        return self


class Embedder(nn.Module):
    """Images in, embeddings out; any number of channels and any size are brought to the model's."""

    def __init__(self, backbone: Backbone, card: ModelCard) -> None:
        super().__init__()
        self.backbone = backbone
        self.card = card

    @property
    def dim(self) -> int:
        return self.backbone.dim

    def normalise(self, images: Tensor) -> Tensor:
        """(..., c, h, w) in [0, 1] to mean 0 and deviation 1 of the training images."""
        mean = images.new_tensor(self.card.mean).view(-1, 1, 1)
        std = images.new_tensor(self.card.std).view(-1, 1, 1)
        return (images - mean) / std

    def preprocess(self, images: npt.NDArray[np.uint8]) -> Tensor:
        """uint8 (B, h, w, c) to what the backbone takes, (B, channels, size, size)."""
        pixels = torch.tensor(images).permute(0, 3, 1, 2).float() / 255
        if pixels.shape[1] > self.card.channels:
            pixels = (pixels * pixels.new_tensor(_LUMA).view(3, 1, 1)).sum(1, keepdim=True)
        elif pixels.shape[1] < self.card.channels:
            pixels = pixels.expand(-1, self.card.channels, -1, -1)
        if pixels.shape[-2:] != (self.card.size, self.card.size):
            pixels = F.interpolate(
                pixels, (self.card.size, self.card.size), mode="bilinear", antialias=True
            )
        return self.normalise(pixels).contiguous(memory_format=torch.channels_last)

    def forward(self, images: Tensor) -> Tensor:
        """(B, c, size, size) in [0, 1] to embeddings (B, d)."""
        embeddings: Tensor = self.backbone(self.normalise(images))
        return embeddings

    @torch.inference_mode()
    def embed_views(self, views: Tensor) -> Tensor:
        """The embeddings of views (C, V, c, h, w) in [0, 1] as they are at test, (C·V, d)."""
        was_training = self.training
        self.eval()
        device = next(self.backbone.parameters()).device
        embeddings: Tensor = self(views.to(device).flatten(0, 1)).cpu()
        self.train(was_training)
        return embeddings

    @torch.inference_mode()
    def embed(
        self, images: ImageSet | npt.NDArray[np.uint8], batch: int = 256, bar: bool = True
    ) -> Tensor:
        """The embedding of every image, (n, d): once is enough, it does not depend on the batch."""
        keep_freed_memory()  # or half of the time is spent asking for it again
        pixels = images.images if isinstance(images, ImageSet) else images
        was_training = self.training
        self.eval()
        embeddings = torch.empty(len(pixels), self.dim)
        device = next(self.backbone.parameters()).device
        with progress_bar(shown=bar) as progress:
            for start in progress.track(range(0, len(pixels), batch), description="embedding"):
                part = pixels[start : start + batch]
                embeddings[start : start + len(part)] = self.backbone(
                    self.preprocess(part).to(device)
                )
        self.train(was_training)
        return embeddings

    def save(self, folder: Path) -> None:
        """`model.safetensors` and `model.json`: nothing in them can execute."""
        weights = {name: value.contiguous() for name, value in self.backbone.state_dict().items()}
        with replaced(folder / "model.safetensors") as temporary:
            temporary.write_bytes(save(weights))
        write_text(folder / "model.json", self.card.model_dump_json(indent=2) + "\n")


def load(run: Path | str) -> Embedder:
    """The embedding that a training left in its run folder, or a model in the box by its name.

    >>> load("conv4-cifar-fs").dim
    64
    """
    folder = _folder_of(run)
    card = _read_card(folder)
    backbone = build_backbone(card.backbone, card.channels, card.size)
    try:
        backbone.load_state_dict(load_file(folder / "model.safetensors"))
    except Exception as error:  # a header of any content leads to errors of any kind
        raise PseudoshotError(
            f"the weights {folder / 'model.safetensors'} cannot be read: {first_line(error)}"
        ) from error
    return Embedder(backbone, card).eval()


def models_in_the_box() -> tuple[str, ...]:
    """The names of the trained models that come with the package."""
    return tuple(sorted(folder.name for folder in _BUNDLED.iterdir() if folder.is_dir()))


def _folder_of(run: Path | str) -> Path:
    """A folder of that name comes before a model in the box."""
    given = Path(run)
    boxed = str(run) in models_in_the_box() and not is_file(given / "model.json")
    return _BUNDLED / str(run) if boxed else given


def _read_card(folder: Path) -> ModelCard:
    path = folder / "model.json"
    if not is_file(path):
        unfinished = is_file(folder / "run.json")
        hint = (
            "its training has not finished: continue with --resume"
            if unfinished
            else "give the --out folder of a finished `pseudoshot train`, or a model in the box: "
            + ", ".join(models_in_the_box())
        )
        raise PseudoshotError(f"'{str(folder)[:300]}' holds no model: {hint}")
    try:
        fields: Any = json.loads(path.read_text(encoding="utf-8"))
        return ModelCard.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise PseudoshotError(f"{path} is not a model description: {reason}") from error
    except (OSError, ValueError, RecursionError) as error:
        reason = first_line(error)
        raise PseudoshotError(f"{path} is not a model description: {reason}") from error


def first_line(error: Exception) -> str:
    """What an error says, in one line."""
    return next(iter(str(error).splitlines()), type(error).__name__)


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
