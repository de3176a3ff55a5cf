"""`model.onnx`: any embedding network, by onnxruntime.

What must be done to an image stands in the file, where `pseudoshot export` wrote it, or else in a
JSON file beside it, `model.onnx.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from pseudoshot.data.loading import MOST_PIXELS_A_SIDE
from pseudoshot.embedders.card import ModelCard
from pseudoshot.embedders.doors.reading import parsed, read_json
from pseudoshot.embedders.embedder import Embedder
from pseudoshot.embedders.networks.onnx_file import MOST_BYTES, OnnxNetwork
from pseudoshot.readings import PLAIN
from pseudoshot.tasks.similarity import Similarity
from pseudoshot.tools.errors import PseudoshotError, first_line, validation_line
from pseudoshot.tools.files import is_file

ENDING = ".onnx"


class Beside(BaseModel):
    """What `model.onnx.json` says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mean: tuple[FiniteFloat, ...]  # of each channel, in [0, 1]; subtracted
    std: tuple[Annotated[FiniteFloat, Field(gt=0)], ...]  # divided by
    size: int = Field(default=0, ge=0, le=MOST_PIXELS_A_SIDE)  # 0: as the network says
    output: str = ""  # which one is the embedding, where there are several
    similarity: Similarity = "sns"
    trained_on: str = ""
    labels: str = ""  # those it was trained with


def takes(name: str) -> bool:
    return name.endswith(ENDING)


def enter(name: str) -> Embedder:
    path = Path(name)
    data = _content(path)
    beside = path.with_name(f"{path.name}.json")
    about = read_json(beside, Beside, "a description of images") if is_file(beside) else None
    try:
        network = OnnxNetwork(data, *((about.size, about.output) if about else ()))
        card = _written_by_export(network) if about is None else _described(network, about)
    except ValidationError as error:
        raise PseudoshotError(f"'{path}' cannot be used: {validation_line(error)}") from error
    except (PseudoshotError, ValueError) as error:
        raise PseudoshotError(f"'{path}' cannot be used: {first_line(error)}") from error
    if card is None:
        raise _question(path, network)
    return Embedder(network, card).eval()


def _content(path: Path) -> bytes:
    if not is_file(path):
        raise PseudoshotError(f"there is no file '{str(path)[:300]}'")
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise PseudoshotError(f"'{path}' has {size:,} bytes: an ONNX file has {MOST_BYTES:,}")
    return path.read_bytes()


def _written_by_export(network: OnnxNetwork) -> ModelCard | None:
    """The card of the model that was exported; mean, deviation and reading are inside."""
    text = network.metadata().get("card")
    if text is None:
        return None
    zero, one = (0.0,) * network.channels, (1.0,) * network.channels
    inside = {"mean": zero, "std": one, "reading": PLAIN}
    exported = parsed(text, ModelCard).model_dump()
    return ModelCard.model_validate({**exported, **_own(network), **inside})


def _described(network: OnnxNetwork, about: Beside) -> ModelCard:
    if not network.side:
        raise PseudoshotError(
            'its height and width are open: add "size", such as 224, to the JSON file beside it'
        )
    told = about.model_dump(exclude={"size", "output"})
    return ModelCard.model_validate({**told, **_own(network)})


def _own(network: OnnxNetwork) -> dict[str, object]:
    """What the network itself says, and what building it again needs."""
    return {
        "backbone": "onnx",
        "channels": network.channels,
        "size": network.side,
        "config": {"output": network.output},
    }


def _question(path: Path, network: OnnxNetwork) -> PseudoshotError:
    size = "" if network.side else '"size": 224, '
    return PseudoshotError(
        f"how are images prepared for '{path}'? The file does not say: write "
        f'{{{size}"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}} to '
        f"'{path.name}.json' beside it, with the numbers that the network was trained with (these "
        f"are ImageNet's)"
    )
