"""The run whose embeddings another one clusters: as it was given, or trained first by the same
command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pseudoshot.class_sources.clusters import ClustersSettings
from pseudoshot.data import ImageSet
from pseudoshot.methods import METHODS
from pseudoshot.settings.resolve import resolve
from pseudoshot.settings.tree import RunSettings
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.base_images import held_out_of, trained_on_the_same

PRE_LEARNT = "pre-learnt"  # in the folder of the run that needs it


def check_looked_at(settings: RunSettings, images: ImageSet) -> None:
    """Refuse a run of other images."""
    source = settings.class_source
    if isinstance(source, ClustersSettings) and source.from_run is not None:
        trained_on_the_same(source.from_run, images)


def pre_learning_options(settings: RunSettings, images: int) -> dict[str, Any] | None:
    """Of the run that is trained first, on as many images; None where there is none to train."""
    source = settings.class_source
    if not isinstance(source, ClustersSettings) or source.pre_learn is None:
        return None
    if METHODS[source.pre_learn].defaults.get("class_source", "exemplars") != "exemplars":
        raise PseudoshotError(
            f"--pre-learn {source.pre_learn} needs labels or clusters itself: choose a method that "
            f"learns from views alone, such as simclr or baseline"
        )
    options = {
        "method": source.pre_learn,
        "size": settings.data.size,
        "rotations": settings.data.rotations,
        "recipe": settings.recipe,
        "backbone": settings.backbone.name,
        "seed": settings.seed,
        "precision": settings.optimisation.precision,
        "epochs": source.pre_learn_epochs,
    }
    options = {name: value for name, value in options.items() if value is not None}
    usual = resolve({**options, "data": settings.data.name}).method.images
    return {**options, "images": min(usual, images - held_out_of(images))}


def from_pre_learnt(settings: RunSettings, out: Path) -> RunSettings:
    """The same settings, with the run by its place in the folder `out`."""
    named = {"from_run": str((out / PRE_LEARNT).resolve())}
    return settings.model_copy(
        update={"class_source": settings.class_source.model_copy(update=named)}
    )


def check_alone(processes: int) -> None:
    """Refuse two trainings by several processes, which are launched once."""
    if processes > 1:
        raise PseudoshotError(
            "--pre-learn trains on one device: train that run first, and give it by --from"
        )
