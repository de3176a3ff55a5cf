"""A vision model of Hugging Face transformers, built from its configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from pseudoshot.backbones import Backbone
from pseudoshot.embedders.networks.memory import MOST_MEMORY, peak_of
from pseudoshot.tools.errors import PseudoshotError, first_line

Read: TypeAlias = Literal["pooled", "first token", "mean of tokens"]
# What would fetch or run code of others, or is of no use without its head.
_LEFT_OUT = ("auto_map", "attn_implementation", "_attn_implementation", "quantization_config")
_LABELS = ("id2label", "label2id")


class TransformersNetwork(Backbone):
    """Its pooled output, or one of its tokens, or their mean: as `read` says."""

    def __init__(self, model: nn.Module, read: Read, size: int, needed: int = 0) -> None:
        super().__init__(3, size)
        self.model, self.read, self.needed = model, read, needed
        model.eval()
        try:
            with torch.inference_mode():
                self.dim = self(torch.zeros(1, 3, size, size)).shape[1]
        except Exception as error:  # of a model of any kind
            raise PseudoshotError(
                f"it makes no embeddings of images of {size} pixels a side: {first_line(error)}"
            ) from error

    @classmethod
    def rebuilt(
        cls, config: Mapping[str, Any], read: Read, size: int, weights: Mapping[str, Tensor]
    ) -> TransformersNetwork:
        """From what was saved; the shapes are compared before there is memory for them."""
        transformers = library()
        with quiet():
            with torch.device("meta"):
                empty = transformers.AutoModel.from_config(configuration(config))
            shapes = {f"model.{name}": value.shape for name, value in empty.state_dict().items()}
            if shapes != {name: value.shape for name, value in weights.items()}:
                raise PseudoshotError("the weights are not those of its configuration")
            needed = bounded(configuration(config), size)
            model = transformers.AutoModel.from_config(configuration(config))
            network = cls(model, read, size, needed)
        network.load_state_dict(weights)
        return network

    def bytes_an_image(self, size: int) -> int:
        return max(self.needed, super().bytes_an_image(size))

    def forward(self, images: Tensor) -> Tensor:
        found = self.model(pixel_values=images)
        if self.read == "pooled":
            pooled: Tensor = found.pooler_output
            return pooled.flatten(1)
        tokens: Tensor = found.last_hidden_state
        return tokens[:, 0] if self.read == "first token" else tokens.mean(1)


def bounded(config: Any, size: int) -> int:
    """Bytes that one image takes, by a model without weights; refused where they are too many.

    0: not known, of a model that cannot be tried in this way.
    """
    try:
        with torch.device("meta"):
            empty = library().AutoModel.from_config(config).eval()
            needed = peak_of(lambda images: empty(pixel_values=images), size)
    except Exception:  # of a model of any kind
        return 0
    if needed > MOST_MEMORY:
        raise PseudoshotError(
            f"an image of {size} x {size} pixels takes it {needed / 2**30:.1f} GB, where "
            f"{MOST_MEMORY >> 30} GB is the limit: use a model of smaller images or larger patches"
        )
    return needed


def how_to_read(model: nn.Module, size: int, lacks_pooler: bool) -> Read:
    """What it pools itself, where it does and has the weights; else its class token, if any."""
    with torch.inference_mode():
        found = model.eval()(pixel_values=torch.zeros(1, 3, size, size))
    if getattr(found, "pooler_output", None) is not None and not lacks_pooler:
        return "pooled"
    names = (name for name, _ in model.named_parameters())
    has_class_token = any("cls_token" in name or "class_embedding" in name for name in names)
    return "first token" if has_class_token else "mean of tokens"


def library() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise PseudoshotError(
            f"a transformers model needs {error.name}: pip install 'pseudoshot[transformers]'"
        ) from error
    return transformers


def configuration(fields: Mapping[str, Any]) -> Any:
    """Of the vision tower alone, where there are two."""
    kept = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    config = library().AutoConfig.for_model(kept.pop("model_type", None), **kept)
    vision = getattr(config, "vision_config", None)
    return config if vision is None else configuration(vision.to_dict())


def plain(config: Any) -> dict[str, Any]:
    """A configuration as JSON holds it, without names of classes."""
    fields: dict[str, Any] = config.to_dict()
    return {k: v for k, v in fields.items() if k not in (*_LEFT_OUT, *_LABELS)}


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and warnings of the library's own."""
    logging = library().utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
