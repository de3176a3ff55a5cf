"""What a person does with a run folder: train one, measure one. The commands call these."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pseudoshot.tools.console import console
from pseudoshot.data import default_query, default_views, full_name
from pseudoshot.data import load as load_data
from pseudoshot.evaluation import Evaluation, check_tasks, evaluate_embeddings
from pseudoshot.evaluation.pseudo_tasks import view_set
from pseudoshot.methods import METHODS
from pseudoshot.embedders import Embedder, load
from pseudoshot.report import Novel, write_report
from pseudoshot.training.loop import run_training
from pseudoshot.training.processes import Team, build_fabric, check_shares, leads
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.settings.run import RunSettings, resolve_settings
from pseudoshot.views import get_policy

PSEUDO_SHOTS, PSEUDO_IMAGES = (1, 5), 1_000


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
        embedder.folder = folder.path  # where its head is, if it has one
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


def evaluate_run(
    run: str | Path,
    data: str | Path,
    *,
    way: int = 5,
    shots: Sequence[int] | None = None,
    query: int | None = None,
    tasks: int = 10_000,
    seed: int = 0,
    rotations: bool = False,
    classifier: str | None = None,
    pseudo: bool = False,
    data_root: Path | None = None,
) -> Evaluation:
    """Measure a run on labelled images, and add the result and one task in pictures to its report.

    `classifier` is a name of CLASSIFIERS, by default the one the model is made for. With
    `pseudo`, tasks are made of views: each image is a class, and labels are not looked at.

    >>> evaluate_run("runs/demo", "glyphs", way=20, query=7)  # doctest: +SKIP
    """
    folder, embedder = RunFolder(Path(run)), load(run)
    chosen = embedder.classifier(classifier)
    images = load_data(
        str(data), split="test", root=data_root, size=embedder.card.size, rotations=rotations
    )
    query = default_query(str(data)) if query is None else query
    if pseudo:
        shots = tuple(shots or PSEUDO_SHOTS)
        policy = get_policy(default_views(str(data)))
        images = view_set(images, policy, max(shots) + query, PSEUDO_IMAGES, seed)
    shots = check_tasks(images, way, shots, query, tasks, seed)
    embeddings = embedder.embed(images)
    result = evaluate_embeddings(
        embeddings, images, chosen, way=way, shots=shots, query=query, tasks=tasks, seed=seed
    )
    if folder.started:
        try:
            write_report(folder, None, {"trained": [result]}, Novel(images, embeddings))
        except OSError as error:
            console.print(f"the report was not updated: {error}", markup=False)
    return result
