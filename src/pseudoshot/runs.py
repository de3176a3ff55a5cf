"""What a person does with a run folder: train one, measure one. The commands call these."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pseudoshot.console import console
from pseudoshot.data import default_query, full_name
from pseudoshot.data import load as load_data
from pseudoshot.evaluation import Evaluation, check_tasks, evaluate_embeddings
from pseudoshot.model import Embedder, load
from pseudoshot.report import Novel, write_report
from pseudoshot.training.loop import run_training
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.settings import RunSettings, check_same, resolve_settings


def train(
    data: str | Path,
    out: str | Path,
    /,
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
    run_names = RunSettings.model_fields.keys() - {"data", "episode"}
    run_options = {name: value for name, value in given.items() if name in run_names}
    episode = {name: value for name, value in given.items() if name not in run_names}
    data = full_name(str(data))
    folder = RunFolder(Path(out))
    with folder.held():
        if resume:
            folder.check_resumable()
            settings = folder.read_settings()
            check_same(settings, {"data": data, **run_options}, episode)
            folder.check_circumstances(settings)
        else:
            folder.check_new()
            settings = resolve_settings(data, run_options, episode)
        images = load_data(
            settings.data,
            split="train",
            root=data_root,
            size=settings.size,
            rotations=settings.rotations,
        ).without_labels()
        embedder = run_training(settings, images, folder)
        write_report(folder, images)
        return embedder


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
    data_root: Path | None = None,
) -> Evaluation:
    """Measure a run on labelled images, and add the result and one task in pictures to its report.

    >>> evaluate_run("runs/demo", "glyphs", way=20, query=7)  # doctest: +SKIP
    """
    embedder = load(run)
    images = load_data(
        str(data), split="test", root=data_root, size=embedder.card.size, rotations=rotations
    )
    query = default_query(str(data)) if query is None else query
    shots = check_tasks(images, way, shots, query, tasks, seed)
    embeddings = embedder.embed(images)
    result = evaluate_embeddings(
        embeddings,
        images,
        embedder.card.similarity,
        way=way,
        shots=shots,
        query=query,
        tasks=tasks,
        seed=seed,
    )
    folder = RunFolder(Path(run))
    if folder.started:
        try:
            write_report(folder, None, {"trained": [result]}, Novel(images, embeddings))
        except OSError as error:
            console.print(f"the report was not updated: {error}", markup=False)
    return result
