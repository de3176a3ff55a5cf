"""The run whose embeddings another one clusters or learns from: as it was given, or trained first
by the same command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from pseudoshot.class_sources.clusters import ClustersSettings
from pseudoshot.data import ImageSet
from pseudoshot.methods import METHODS
from pseudoshot.settings.resolve import resolve
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.base_images import BaseImages, held_out_of, trained_on_the_same

PRE_LEARNT = "pre-learnt"  # in the folder of the run that needs it


def check_looked_at(settings: RunSettings, images: ImageSet) -> None:
    """Refuse a run of other images."""
    source = settings.class_source
    if isinstance(source, ClustersSettings) and source.from_run is not None:
        trained_on_the_same(source.from_run, images)


def check_enough(settings: RunSettings, images: ImageSet) -> None:
    """Refuse, before a run is trained for it, what no episode could be drawn from."""
    base = BaseImages(images, settings.class_source, torch.Generator())
    base.source.steps_per_epoch(settings.method.images, settings.method.V)


def pre_learning_options(settings: RunSettings, images: int) -> dict[str, Any] | None:
    """Of the run that is trained first, on as many images; None where there is none to train."""
    if settings.pre_learn is None:
        return None
    if METHODS[settings.pre_learn].defaults.get("class_source", "exemplars") != "exemplars":
        raise PseudoshotError(
            f"--pre-learn {settings.pre_learn} needs labels or clusters itself: choose a method "
            f"that learns from views alone, such as simclr or baseline"
        )
    options = {
        "method": settings.pre_learn,
        "size": settings.data.size,
        "rotations": settings.data.rotations,
        "recipe": settings.recipe,
        "backbone": settings.backbone.name,
        "seed": settings.seed,
        "precision": settings.optimisation.precision,
        "epochs": settings.pre_learn_epochs,
    }
    options = {name: value for name, value in options.items() if value is not None}
    method = resolve({**options, "data": settings.data.name}).method
    whole = (images - held_out_of(images)) // method.unit * method.unit
    if not whole:
        raise PseudoshotError(
            f"{images} images are too few for --pre-learn {settings.pre_learn}, whose episodes are "
            f"made of {method.unit} or more: choose another method, such as simclr"
        )
    return {**options, "images": min(method.images, whole)}


def from_pre_learnt(settings: RunSettings, out: Path) -> RunSettings:
    """The same settings, with the run by its place in the folder `out`."""
    place = str((out / PRE_LEARNT).resolve())
    changes: dict[str, Any] = {}
    if isinstance(settings.class_source, ClustersSettings):
        changes["class_source"] = settings.class_source.model_copy(update={"from_run": place})
    if settings.method.network_stays:
        changes["start_from"] = place
    return settings.model_copy(update=changes)


def check_alone(processes: int) -> None:
    """Refuse two trainings by several processes, which are launched once."""
    if processes > 1:
        raise PseudoshotError(
            "--pre-learn trains on one device: train that run first, and give it by --from"
        )
