"""Measure a run, and keep what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from torch import Tensor

from pseudoshot.data import ImageSet, default_query, default_views, is_named
from pseudoshot.data import load as load_data
from pseudoshot.embedders import Embedder, load
from pseudoshot.evaluation import Evaluation, check_tasks, evaluate_embeddings
from pseudoshot.evaluation.few_shot import Table, table_for
from pseudoshot.evaluation.linear import check_linear, evaluate_linear
from pseudoshot.evaluation.pseudo_tasks import view_set
from pseudoshot.evaluation.records import append_record
from pseudoshot.report import Novel, write_report
from pseudoshot.runs.mapping import draw_map
from pseudoshot.tools.console import console
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.views import get_policy

PSEUDO_SHOTS, PSEUDO_IMAGES = (1, 5), 1_000


class ProtocolOptions(TypedDict, total=False):
    """The keywords of `evaluate_run`, for what passes them on."""

    way: int
    shots: Sequence[int] | None
    query: int | None
    tasks: int
    seed: int
    rotations: bool
    classifier: str | None
    reading: str | None
    pseudo: bool
    linear: bool
    tsne: bool
    data_root: Path | None


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
    reading: str | None = None,
    pseudo: bool = False,
    linear: bool = False,
    tsne: bool = False,
    data_root: Path | None = None,
) -> Evaluation:
    """Measure a run on labelled images, record it in its folder and add it to its report.

    `classifier` is a name of CLASSIFIERS, `reading` one of READINGS, by default those the model is
    made for. A reading that centres does so on a folder's own images, as `classify` would, and of
    a named set on those the model was trained on. With `pseudo`, tasks are made of views: each
    image is a class, and labels are not looked at. With `linear`, a logistic regression on the
    embeddings of nine tenths of the images tells the last tenth, ten times. With `tsne`, the report
    also shows a map of some classes that were trained on and some of these.

    >>> evaluate_run("runs/demo", "glyphs", way=20, query=7)  # doctest: +SKIP
    """
    folder, embedder = RunFolder(Path(run)), load(run, reading)
    chosen = embedder.classifier(classifier)
    _refuse_at_odds(linear, pseudo, classifier)
    name, size, labelled = str(data), embedder.card.size, not pseudo
    images = load_data(
        name, split="test", root=data_root, size=size, rotations=rotations, labelled=labelled
    )
    query = default_query(name) if query is None else query
    if pseudo:
        shots = tuple(shots or PSEUDO_SHOTS)
        policy = get_policy(default_views(name))
        images = view_set(images, policy, max(shots) + query, PSEUDO_IMAGES, seed)
    if linear:
        check_linear(images)
    else:
        shots = check_tasks(images, way, shots, query, tasks, seed)
    embedder, told = _centred(embedder, images, name)
    behind = embedder.card.labels
    about: dict[str, Any] = {"seed": seed, "reading": told, "pretrained_labels": behind}
    table: Table
    if linear:
        table = embedder.embed(images)
        result = evaluate_linear(table, images, chosen.similarity, **about)
    else:
        about |= {"way": way, "shots": shots or (), "query": query, "tasks": tasks}
        table = table_for(chosen, embedder, images)
        result = evaluate_embeddings(table, images, chosen, **about)
    if tsne:
        draw_map(folder, embedder, images, seed, data_root)
    if folder.started:
        measured = embedder.card.unfinished or "trained"
        embeddings = table if isinstance(table, Tensor) else embedder.embed(images)
        record(folder, {measured: [result]}, Novel(images, embeddings))
    return result


def _centred(embedder: Embedder, images: ImageSet, data: str) -> tuple[Embedder, str]:
    """As the images are to be read, and how that is told."""
    told = str(embedder.card.reading)
    if not embedder.card.reading.centre or is_named(data):
        return embedder, told
    return embedder.centred_on(images), f"{told}, centred on these images"


def _refuse_at_odds(linear: bool, pseudo: bool, classifier: str | None) -> None:
    if linear and (pseudo or classifier is not None):
        raise PseudoshotError(
            "--linear fits a logistic regression to real labels: leave out --pseudo and "
            "--classifier"
        )


def record(folder: RunFolder, measured: Mapping[str, Sequence[Evaluation]], novel: Novel) -> None:
    """Keep evaluations, by the name of what was measured, and show them in the report.

    A folder that cannot be written, another person's perhaps, does not cost the result.
    """
    try:
        for name, evaluations in measured.items():
            for evaluation in evaluations:
                append_record(folder.path, name, evaluation)
    except OSError as error:
        console.print(f"the evaluation was not recorded: {error}", markup=False, soft_wrap=True)
        return
    try:
        write_report(folder, novel=novel)
    except OSError as error:
        console.print(f"the report was not updated: {error}", markup=False, soft_wrap=True)
