"""Run folders, and bundled models by their names."""

from __future__ import annotations

from pathlib import Path

from pseudoshot.embedders.card import ModelCard, card_digest
from pseudoshot.embedders.doors.reading import read_json
from pseudoshot.embedders.doors.transformers_folder import is_hub_name
from pseudoshot.embedders.embedder import CARD, Embedder, from_weights
from pseudoshot.embedders.unfinished import embedder_of, is_unfinished
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import is_file
from pseudoshot.tools.registry import nearest
from pseudoshot.tools.tensor_file import read

_BUNDLED = Path(__file__).parents[1] / "bundled"


def takes(name: str) -> bool:
    """Every name: what no other door knows is said to hold no model."""
    return True


def enter(name: str) -> Embedder:
    folder = _folder_of(name)
    if is_unfinished(folder):
        return embedder_of(folder)
    card = _read_card(folder)
    try:
        weights, words = read(folder / "model.safetensors", [CARD])
        text = (folder / "model.json").read_text(encoding="utf-8")
        if words.get(CARD, card_digest(text)) != card_digest(text):
            raise PseudoshotError("model.json is not the one that was written with them")
        return from_weights(card, weights, folder)
    except Exception as error:  # a header of any content leads to errors of any kind
        raise PseudoshotError(
            f"the weights {folder / 'model.safetensors'} cannot be read: {first_line(error)}"
        ) from error


def bundled_models() -> tuple[str, ...]:
    """The names of the trained models that come with the package."""
    return tuple(sorted(folder.name for folder in _BUNDLED.iterdir() if folder.is_dir()))


def _folder_of(name: str) -> Path:
    """A folder of that name comes before a bundled model."""
    bundled = name in bundled_models() and not is_file(Path(name) / "model.json")
    return _BUNDLED / name if bundled else Path(name)


def _read_card(folder: Path) -> ModelCard:
    path = folder / "model.json"
    if not is_file(path):
        raise PseudoshotError(f"'{str(folder)[:300]}' holds no model: {_hint(folder)}")
    return read_json(path, ModelCard, "a model description")


def _hint(folder: Path) -> str:
    hint = (
        "give a run folder, the --out of `pseudoshot train`, an .onnx file, a folder of a "
        f"transformers model, or one of lite0, {', '.join(bundled_models())}"
    )
    if near := nearest(str(folder), ["lite0", *bundled_models()]):
        return f"did you mean '{near}'? Else {hint}"
    if is_hub_name(str(folder)):
        hint += (
            f"; a model of the Hugging Face hub is first downloaded with `hf download {folder}` "
            f"(pip install 'pseudoshot[transformers]')"
        )
    return hint
