"""A model of a training that has not finished: as the last checkpoint has it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from torch import Tensor

from pseudoshot.data import load as load_data
from pseudoshot.embedders.card import ModelCard
from pseudoshot.embedders.embedder import Embedder, from_weights
from pseudoshot.embedders.head import trained_with
from pseudoshot.tools.console import say
from pseudoshot.tools.errors import PseudoshotError, first_line
from pseudoshot.tools.files import is_file
from pseudoshot.tools.state_file import load_checkpoint

_AVERAGE, _BACKBONE = "module.", "backbone."  # before the names of weights in a checkpoint


def is_unfinished(folder: Path) -> bool:
    return is_file(folder / "run.json") and not is_file(folder / "model.json")


def embedder_of(folder: Path) -> Embedder:
    """The embedding so far, of which one line says that it is not the last."""
    state = load_checkpoint(folder)
    if state is None:
        raise PseudoshotError(
            f"'{folder}' holds no model: its training has not finished, nor come to a checkpoint; "
            f"continue with --resume"
        )
    epochs = trained_with(folder).optimisation.epochs
    try:
        so_far = f"epoch {float(state['epoch']):.4g} of {epochs}"
        card = ModelCard.model_validate({**state["card"], "unfinished": so_far})
        embedder = from_weights(card, _weights(state), folder)
    except Exception as error:  # a state of any content leads to errors of any kind
        raise PseudoshotError(
            f"'{folder}' holds no model: its training has not finished, and of its checkpoint none "
            f"can be made ({first_line(error)}); continue with --resume"
        ) from error
    _say_once(f"note: the training of '{folder}' has not finished, this is {so_far}")
    return embedder


def centred(embedder: Embedder) -> Embedder:
    """About the mean of the images that are trained on, where the reading asks for one: a finished
    run keeps it, a checkpoint does not."""
    wanted = embedder.card.unfinished and embedder.card.reading.centre and not embedder.centre
    if not wanted or embedder.folder is None:
        return embedder
    data = trained_with(embedder.folder).data
    try:
        images = load_data(data.name, split="train", size=data.size, rotations=data.rotations)
    except PseudoshotError as error:
        raise PseudoshotError(
            f"'{embedder.folder}' has not finished, and is read about the mean of the images it is "
            f"trained on, which are not to be had ({error}): give --reading plain"
        ) from error
    return embedder.centred_on(images)


def _weights(state: dict[str, Any]) -> dict[str, Tensor]:
    """Those that the run would leave behind now: the average of the weights where there is one."""
    average = state.get("average")
    stored, before = (state["method"], _BACKBONE) if average is None else (average, _AVERAGE)
    return {n.removeprefix(before): v for n, v in stored.items() if n.startswith(before)}


@lru_cache
def _say_once(text: str) -> None:
    """A command may load a model more than once."""
    say(text)
