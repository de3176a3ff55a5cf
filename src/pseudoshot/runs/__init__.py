"""What a person does with a run folder: train one, measure one. The commands call these."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pseudoshot.data import full_name
from pseudoshot.data import load as load_data
from pseudoshot.embedders.embedder import Embedder, load
from pseudoshot.methods import METHODS
from pseudoshot.report import write_report
from pseudoshot.runs.evaluate import evaluate_run
from pseudoshot.settings.run import RunSettings, resolve_settings
from pseudoshot.training.loop import run_training
from pseudoshot.training.processes import Team, build_fabric, check_shares, leads
from pseudoshot.training.run_folder import RunFolder

__all__ = ["evaluate_run", "finetune", "train"]


def train(
    data: str | Path,
    out: str | Path,
    /,
    *,
    resume: bool = False,
    data_root: Path | None = None,
    devices: int = 1,
    nodes: int = 1,
    **options: Any,
) -> Embedder:
    """Train an embedding on unlabelled images and leave it in the run folder `out`.

    `data` is a folder of images or a set's name. Options are those of `RunSettings` (method,
    backbone, epochs, seed, views, …) and of the method (images, way, shot, query, tasks, …); what
    is not given follows the paper's recipe for the backbone. With several `devices` or `nodes` an
    episode is shared by as many processes.

    >>> train("glyphs", "runs/glyphs", epochs=2)  # doctest: +SKIP
    """
    given = {name: value for name, value in options.items() if value is not None}
    run_names = RunSettings.model_fields.keys() - {"data", "episode"}
    run_options = {name: value for name, value in given.items() if name in run_names}
    episode = {name: value for name, value in given.items() if name not in run_names}
    data = full_name(str(data))
    folder = RunFolder(Path(out))
    writes = leads(devices, nodes)
    with folder.held() if writes else nullcontext():
        if resume:
            settings = folder.read_settings()
            if writes:
                folder.check_resumable(settings, {"data": data, **run_options}, episode)
        else:
            settings = resolve_settings(data, run_options, episode)
            if writes:
                folder.check_new()
        check_shares(settings.method_settings().images, devices * nodes)
        images = load_data(
            settings.data,
            split="train",
            root=data_root,
            size=settings.size,
            rotations=settings.rotations,
        )
        if not METHODS[settings.method].labelled:
            images = images.without_labels()
        fabric = build_fabric(devices, nodes, settings.precision)
        fabric.launch()  # the other processes, after all that may be refused
        embedder = run_training(settings, images, folder, Team(fabric))
        if writes:
            write_report(folder, images)
        return embedder


def finetune(
    run: str | Path,
    data: str | Path,
    out: str | Path,
    /,
    *,
    labels: float = 1.0,
    resume: bool = False,
    data_root: Path | None = None,
    **options: Any,
) -> Embedder:
    """Go on training a run with the labels of a part of each class (section 7.1).

    50 epochs of ten episodes up to a tenth of the labels, 100 above; SGD at 1e-4, SES and SNS.

    >>> finetune("runs/hms", "cifar-fs", "runs/tuned", labels=0.1)  # doctest: +SKIP
    """
    card = load(run).card
    classes = load_data(str(data), split="train", root=data_root, size=card.size).classes
    recipe = {
        "optimiser": "sgd",
        "lr": 1e-4,
        "epochs": 50 if labels <= 0.1 else 100,
        "episodes_per_epoch": 10,
        "images": min(64, len(classes)),
        "size": card.size,
        "similarity": card.similarity,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return train(
        data,
        out,
        resume=resume,
        data_root=data_root,
        method="finetune",
        backbone=card.backbone,
        start_from=str(Path(run).resolve()),
        labels=labels,
        **{**recipe, **given},
    )
