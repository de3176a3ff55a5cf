"""Doors: what a person may name as a model, one file each."""

from __future__ import annotations

from typing import Protocol

from pseudoshot.embedders.doors import lite0, onnx_file, runs, transformers_folder
from pseudoshot.embedders.embedder import Embedder


class Door(Protocol):
    """A module of this folder."""

    def takes(self, name: str) -> bool:
        """Whether the name is of this door's kind; whether it can be opened is told by `enter`."""

    def enter(self, name: str) -> Embedder:
        """The model of that name, or a sentence that says what it lacks."""


# asked in this order; runs takes every name
DOORS: tuple[Door, ...] = (lite0, onnx_file, transformers_folder, runs)
