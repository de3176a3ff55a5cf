"""The run whose embeddings another one clusters, where one command trains both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pseudoshot.methods import METHODS
from pseudoshot.settings.resolve import resolve
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.base_images import held_out_of

PRE_LEARNT = "pre-learnt"  # in the folder of the run that needs it


def pre_learning_options(settings: RunSettings, images: int) -> dict[str, Any] | None:
    """Of the run that is trained first, on as many images; None where there is none to train."""
    source = settings.class_source
    if getattr(source, "pre_learn", None) is None:
        return None
    name = source.pre_learn  # type: ignore[attr-defined]
    if METHODS[name].defaults.get("class_source", "exemplars") != "exemplars":
        raise PseudoshotError(
            f"--pre-learn {name} needs labels or clusters itself: choose a method that learns from "
            f"views alone, such as simclr or baseline"
        )
    options = {
        "method": name,
        "size": settings.data.size,
        "rotations": settings.data.rotations,
        "recipe": settings.recipe,
        "backbone": settings.backbone.name,
        "seed": settings.seed,
        "precision": settings.optimisation.precision,
        "epochs": source.pre_learn_epochs,  # type: ignore[attr-defined]
    }
    options = {option: value for option, value in options.items() if value is not None}
    usual = resolve({**options, "data": settings.data.name}).method.images
    return {**options, "images": min(usual, images - held_out_of(images))}


def from_pre_learnt(settings: RunSettings, out: Path) -> RunSettings:
    """The same settings, with the run by its place in the folder `out`."""
    named = {"from_run": str((out / PRE_LEARNT).resolve())}
    return settings.model_copy(
        update={"class_source": settings.class_source.model_copy(update=named)}
    )
