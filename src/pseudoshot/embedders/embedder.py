"""Embedder: a backbone and what must be done to an image before it; what a run leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.classifiers import Chosen, Classifier
from pseudoshot.data import ImageSet
from pseudoshot.embedders.card import ModelCard, card_digest
from pseudoshot.embedders.choosing import classifier_of
from pseudoshot.embedders.head import load_head
from pseudoshot.embedders.inputs import Images, to_image_set
from pseudoshot.embedders.networks import FunctionNetwork, build_network
from pseudoshot.embedders.pixels import inked, to_form
from pseudoshot.embedders.room import Room
from pseudoshot.heads import Head
from pseudoshot.readings import PLAIN, Parts, Reading, join
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.allocator import keep_freed_memory
from pseudoshot.tools.console import progress_bar
from pseudoshot.tools.errors import PseudoshotError, validation_line
from pseudoshot.tools.files import replaced, write_text
from pseudoshot.tools.tensor_file import to_bytes

CENTRED_ON = 1_000  # images at most: a mean needs no more
FEWEST_CENTRED_ON = 50
CENTRE = "centre."  # before the names of centres among the weights
CARD = "card"  # among the words beside the weights: the digest of what stands in `model.json`


class Embedder(nn.Module):
    """Images in, embeddings out; any number of channels and any size are brought to the model's.

    Attributes
    ----------
    card
        What is said of the model: size, channels, normalisation, similarity, classifier.
    dim
        How many numbers an embedding has.
    centre
        What a reading that centres subtracts from each part it joins, by the part's name.

    Examples
    --------
    >>> from pseudoshot.embedders import load
    >>> load("conv4-cifar-fs").embed(np.zeros((2, 40, 30, 3), np.uint8)).shape
    torch.Size([2, 64])
    """

    def __init__(
        self,
        backbone: Backbone,
        card: ModelCard,
        folder: Path | None = None,
        centre: Mapping[str, Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.card = card
        self.folder = folder  # of the run it was loaded from, which may hold a head
        self.centre = dict(centre or {})

    @cached_property
    def dim(self) -> int:
        if self.card.reading == PLAIN:
            return self.backbone.dim
        side = self.card.size
        return self.embed_views(torch.zeros(1, 1, self.card.channels, side, side)).shape[1]

    def read_as(self, reading: Reading) -> Embedder:
        """The same network, read in another way.

        >>> from pseudoshot.embedders import load
        >>> from pseudoshot.readings import READINGS
        >>> load("conv4-cifar-fs").read_as(READINGS["joined"]).dim
        128
        """
        card = self.card.model_copy(update={"reading": reading})
        return Embedder(self.backbone, card, self.folder, self.centre).train(self.training)

    def centred_on(self, images: ImageSet) -> Embedder:
        """The same network, read about the mean of these images, of which no label is used.

        As it is where its reading does not centre, or where the images are few and it has a
        centre: the mean of a few says less.
        """
        few = len(images) < FEWEST_CENTRED_ON and self.centre
        if few or not self.card.reading.centre:
            return self
        chosen = np.unique(np.linspace(0, len(images) - 1, CENTRED_ON).round().astype(np.int64))
        pixels, batch = images.images[chosen], self.room.at_once()
        with self._at_test(), progress_bar() as progress:
            starts = progress.track(range(0, len(pixels), batch), description="finding their mean")
            parts = [
                self.parts(self.preprocess(pixels[start : start + batch]).to(self.device))
                for start in starts
            ]
        centre = {
            name: torch.cat([part[name] for part in parts]).mean(0).cpu() for name in parts[0]
        }
        return Embedder(self.backbone, self.card, self.folder, centre).train(self.training)

    @contextmanager
    def _at_test(self) -> Iterator[None]:
        """Within the block the network is as it is at test."""
        self.room.refuse_too_large()
        was_training = self.training
        self.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.train(was_training)

    @classmethod
    def of(
        cls,
        function: Callable[[Tensor], Tensor],
        *,
        size: int,
        mean: float | Sequence[float] = 0.0,
        std: float | Sequence[float] = 1.0,
        channels: int = 3,
        similarity: Similarity = "sns",
        labels: str = "",
    ) -> Self:
        """Any module or function that makes embeddings (B, d) of images (B, channels, size, size).

        Images in [0, 1] less `mean`, over `std`, are what it is given: one number, or one per
        channel. `labels` are those that it was trained with, where it was. It cannot be saved.

        >>> tones = Embedder.of(lambda images: images.mean((2, 3)), size=32)
        >>> tones.embed(np.full((1, 8, 8, 3), 51, np.uint8))
        tensor([[0.2000, 0.2000, 0.2000]])
        """
        try:
            card = ModelCard(
                backbone="function",
                channels=channels,
                size=size,
                mean=_per_channel(mean, channels),
                std=_per_channel(std, channels),
                similarity=similarity,
                labels=labels,
            )
        except ValidationError as error:
            raise PseudoshotError(f"an embedder cannot be so: {validation_line(error)}") from error
        return cls(FunctionNetwork(function, channels, size), card)

    @property
    def room(self) -> Room:
        """What an image takes, and how many go at once."""
        return Room(self.card, self.backbone.bytes_an_image(self.card.size))

    @property
    def device(self) -> torch.device:
        """Where the network is; one without parameters is on the CPU."""
        return next((p.device for p in self.backbone.parameters()), torch.device("cpu"))

    def normalise(self, images: Tensor) -> Tensor:
        """(..., c, h, w) in [0, 1] to mean 0 and deviation 1 of the training images."""
        mean = images.new_tensor(self.card.mean).view(-1, 1, 1)
        std = images.new_tensor(self.card.std).view(-1, 1, 1)
        return (images - mean) / std

    def unnormalise(self, images: Tensor) -> Tensor:
        """What `normalise` was given."""
        mean = images.new_tensor(self.card.mean).view(-1, 1, 1)
        std = images.new_tensor(self.card.std).view(-1, 1, 1)
        return images * std + mean

    def preprocess(self, images: npt.NDArray[np.uint8]) -> Tensor:
        """uint8 (B, h, w, c) to (B, channels, size, size) in [0, 1], as files are."""
        return to_form(images, self.card)

    def forward(self, images: Tensor) -> Tensor:
        """(B, c, size, size) in [0, 1] to embeddings (B, d), by the card's reading."""
        if self.card.reading == PLAIN:
            return self.backbone(self.prepare(images))
        return join(self.parts(images), self.centre, self.card.reading.centre)

    def prepare(self, images: Tensor) -> Tensor:
        """(B, c, size, size) in [0, 1] as the network takes them."""
        return self.normalise(inked(images, self.card))

    def parts(self, images: Tensor) -> Parts:
        """What the reading joins, averaged over its looks at each image."""
        reading, images = self.card.reading, inked(images, self.card)
        looks = [self.backbone.block_means(self.normalise(seen)) for seen in reading.look(images)]
        blocks = range(len(looks[0]))[-reading.blocks :]
        seen = {
            f"block {block + 1}": torch.cat([means[block] for means in looks]) for block in blocks
        }
        parts = {
            name: means.view(reading.looks, -1, means.shape[1]).mean(0)
            for name, means in seen.items()
        }
        return parts | reading.describe(images)

    def embed_views(self, views: Tensor) -> Tensor:
        """The embeddings of views (C, V, c, h, w) in [0, 1] as they are at test, (C·V, d)."""
        with self._at_test():
            embeddings: Tensor = self(views.to(self.device).flatten(0, 1)).cpu()
        return embeddings

    def embed(self, images: Images, batch: int | None = None, bar: bool = True) -> Tensor:
        """The embedding of every image, (n, d): once is enough, it does not depend on the batch.

        Images are an ImageSet; a folder; a list of paths, Pillow images, arrays or tensors; or an
        array (n, h, w, c) or a tensor (n, c, h, w) of bytes, or of floats in [0, 1].
        """
        keep_freed_memory()  # or half of the time is spent asking for it again
        pixels = to_image_set(images, self.card.size).images
        embeddings = torch.empty(len(pixels), self.dim)
        batch = self.room.at_once(batch)
        with self._at_test(), progress_bar(shown=bar, of="images") as progress:
            task = progress.add_task("embedding", total=len(pixels))
            for start in range(0, len(pixels), batch):
                part = pixels[start : start + batch]
                embeddings[start : start + len(part)] = self(self.preprocess(part).to(self.device))
                progress.advance(task, len(part))
        if not bool(embeddings.isfinite().all()):
            raise PseudoshotError(
                "the model says of some images what is no finite number: its weights or its card "
                "are damaged, get or train it again"
            )
        return embeddings

    def classifier(self, chosen: Chosen | None = None) -> Classifier:
        """By name or settings, or else the one the model is made for; as it is set for the model.

        >>> from pseudoshot.embedders import load
        >>> load("conv4-cifar-fs").classifier("svm").settings
        SVMSettings(name='svm', regularisation=1.0)
        """
        return classifier_of(self.backbone, self.card, self.folder, chosen, lambda: self._head)

    @cached_property
    def _head(self) -> Head:
        """Read when first asked for, and no part of the module: it is not the embedding's."""
        if self.folder is None:
            raise PseudoshotError(
                "the model was not loaded from a run folder, which alone can hold a head: "
                "choose another classifier"
            )
        return load_head(self.folder, self.backbone.dim)

    def weights(self) -> dict[str, Tensor]:
        """All that is learnt, by name: the network's, and the centre of its reading."""
        if isinstance(self.backbone, FunctionNetwork):
            raise PseudoshotError(
                "an embedder made of a function cannot be saved: export the network as ONNX and "
                "load that"
            )
        state = {name: value.contiguous() for name, value in self.backbone.state_dict().items()}
        return state | {CENTRE + name: value for name, value in self.centre.items()}

    def save(self, folder: Path, half: bool = False) -> None:
        """`model.safetensors` and `model.json`: nothing in them can execute.

        With `half` the weights take half the room, and are read back with three digits.
        """
        weights = self.weights()
        if half:
            weights = {n: v.half() if v.is_floating_point() else v for n, v in weights.items()}
        card = self.card.model_dump_json(indent=2) + "\n"
        with replaced(folder / "model.safetensors") as temporary:
            temporary.write_bytes(to_bytes(weights, {CARD: card_digest(card)}))
        write_text(folder / "model.json", card)


def from_weights(
    card: ModelCard, weights: Mapping[str, Tensor], folder: Path | None = None
) -> Embedder:
    """What `Embedder.weights` was taken of."""
    own = {name: value for name, value in weights.items() if not name.startswith(CENTRE)}
    centre = {n.removeprefix(CENTRE): v for n, v in weights.items() if n.startswith(CENTRE)}
    return Embedder(build_network(card, own), card, folder, centre).eval()


def _per_channel(values: float | Sequence[float], channels: int) -> tuple[float, ...]:
    return (values,) * channels if isinstance(values, int | float) else tuple(values)
