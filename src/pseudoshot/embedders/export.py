"""The embedding as an ONNX model, for programs without torch."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pseudoshot.embedders.card import ModelCard
from pseudoshot.embedders.embedder import Embedder
from pseudoshot.embedders.loading import load
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import refuse_existing, replaced

if TYPE_CHECKING:
    import onnxruntime

TOLERANCE = 1e-3  # of the largest number in an embedding: the checked difference from torch
CHECKED = (1, 2, 64)  # images at once
_INPUT, _OUTPUT = "images", "embeddings"
_PREPARE = """\
import numpy as np
from PIL import Image, ImageOps

def prepare(file):
    image = ImageOps.exif_transpose(Image.open(file))
    if image.mode.startswith("I"):
        values = np.asarray(image, np.float64)
        values = values * (255 / 65535 if values.max() > 255 else 1)
        image = Image.fromarray(np.rint(values).astype(np.uint8))
    elif image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        white.alpha_composite(image.convert("RGBA"))
        image = white
    image = image.convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    box = (left, top, left + side, top + side)
    square = image.resize(({size}, {size}), Image.Resampling.BICUBIC, box, reducing_gap=3.0){gray}
    pixels = np.asarray(square, np.float32).reshape({size}, {size}, -1) / 255
    return pixels.transpose(2, 0, 1)[None]
"""


def export_onnx(run: str | Path, file: Path, reading: str | None = None) -> dict[str, str]:
    """Write the model if onnxruntime gives what torch gives; return the metadata it carries."""
    onnx, runtime = _libraries()
    if file.suffix != ".onnx":
        raise PseudoshotError(f"'{file}': the file to write must end in .onnx")
    refuse_existing(file)
    embedder = load(run, reading).eval()
    if embedder.card.backbone == "onnx":
        raise PseudoshotError(f"'{run}' is an ONNX model already")
    metadata = describe(embedder)
    with replaced(file) as temporary:
        _write(embedder, temporary)
        model = onnx.load(temporary)
        onnx.helper.set_model_props(model, metadata)
        onnx.checker.check_model(model)
        onnx.save(model, temporary)
        _check(embedder, runtime.InferenceSession(temporary, providers=["CPUExecutionProvider"]))
    return metadata


def describe(embedder: Embedder) -> dict[str, str]:
    """What the file says of its input and output."""
    card = embedder.card
    colours = "red, green, blue" if card.channels == 3 else "brightness"
    return {
        "input": f"{_INPUT}, float32 (batch, {card.channels}, {card.size}, {card.size}): {colours}",
        "preprocessing": (
            f"cut the central square, resize it to {card.size} x {card.size} (Pillow's bicubic), "
            f"divide bytes by 255; mean and deviation are taken care of inside"
        ),
        "preprocessing_in_python": _prepare(card),
        "output": f"{_OUTPUT}, float32 (batch, {embedder.dim})",
        "similarity": f"{card.similarity}: for sns and cosine compare directions of embeddings",
        "trained_on": card.trained_on,
        "card": json.dumps(card.model_dump()),
    }


def _prepare(card: ModelCard) -> str:
    """What is done to an image before the network, in Pillow and NumPy alone, to the bit."""
    gray = '.convert("L")' if card.channels == 1 else ""
    return _PREPARE.format(size=card.size, gray=gray)


def _write(embedder: Embedder, file: Path) -> None:
    """A batch of two while tracing: one would be taken for a constant."""
    card = embedder.card
    example = torch.zeros(2, card.channels, card.size, card.size)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter's about itself
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            embedder,
            (example,),
            str(file),
            input_names=[_INPUT],
            output_names=[_OUTPUT],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            external_data=False,
            verbose=False,
        )


def _check(embedder: Embedder, session: onnxruntime.InferenceSession) -> None:
    card, random = embedder.card, np.random.default_rng(0)
    for count in CHECKED:
        shape = (count, card.channels, card.size, card.size)
        images = random.random(shape, dtype=np.float32)
        (found,) = session.run(None, {_INPUT: images})
        with torch.no_grad():
            wanted = embedder(torch.from_numpy(images)).numpy()
        difference = np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-12)
        if not difference <= TOLERANCE:
            raise PseudoshotError(
                f"the exported model differs from torch by {difference:.1e} of the largest number "
                f"for {count} images at once; nothing was written"
            )


def _libraries() -> tuple[Any, Any]:
    try:
        import onnx
        import onnxruntime
        import onnxscript  # noqa: F401 (torch's exporter needs it)
    except ImportError as error:
        raise PseudoshotError(
            f"export needs {error.name}: pip install 'pseudoshot[export]'"
        ) from error
    return onnx, onnxruntime
