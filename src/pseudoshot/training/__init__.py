"""Training: settings and recipes, the run folder, checkpoints, and the loop in plain sight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pseudoshot.data import load as load_data
from pseudoshot.model import Embedder
from pseudoshot.training.loop import run_training
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.settings import RunSettings, check_same, resolve_settings


def train(
    data: str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    data_root: Path | None = None,
    **options: Any,
) -> Embedder:
    """Train an embedding on unlabelled images and leave it in the run folder `out`.

    `data` is a folder of images or a set's name. Options are those of `RunSettings` (method,
    backbone, epochs, seed, views, …) and of the method (images, way, shot, query, tasks, …); what
    is not given follows the paper's recipe for the backbone.

    >>> train("glyphs", "runs/glyphs", epochs=2)  # doctest: +SKIP
    """
    given = {name: value for name, value in options.items() if value is not None}
    run_options = {k: v for k, v in given.items() if k in RunSettings.model_fields}
    episode = {k: v for k, v in given.items() if k not in RunSettings.model_fields}
    folder = RunFolder(Path(out))
    with folder.held():
        if resume:
            folder.check_resumable()
            settings = folder.read_settings()
            check_same(settings, {"data": str(data), **run_options}, episode)
        else:
            folder.check_new()
            settings = resolve_settings(str(data), run_options, episode)
        images = load_data(
            settings.data,
            split="train",
            root=data_root,
            size=settings.size,
            rotations=settings.rotations,
        )
        return run_training(settings, images.without_labels(), folder)


__all__ = ["RunFolder", "RunSettings", "train"]
