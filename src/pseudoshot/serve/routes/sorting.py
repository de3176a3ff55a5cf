"""Sorting by the project's examples: labels, tables, files, folders, proposals."""

from __future__ import annotations

import base64
import io
import time
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends
from fastapi.responses import Response

from pseudoshot.serve.messages import (
    Csv,
    GroupAnswer,
    Groups,
    Labels,
    Propose,
    Sort,
    SortedInto,
    SortInto,
)
from pseudoshot.serve.proposals import propose, unlike_every_example
from pseudoshot.serve.served import (
    Here,
    Served,
    answer,
    body_of,
    check_session,
    download,
    in_lane,
    refusals,
    takes,
)
from pseudoshot.serve.sorter import Codes, Sorting, TooFewError
from pseudoshot.sorting.placing import sort_into as sort_into_folder
from pseudoshot.sorting.saved import to_bytes
from pseudoshot.sorting.table import write_csv
from pseudoshot.tools.console import printable
from pseudoshot.tools.errors import PseudoshotError

router = APIRouter()


def _sorted(here: Served, asked: Sort) -> tuple[int, Sorting]:
    """By the project as it is now; the version that is."""
    check_session(here, asked.session)
    now = here.store.read()
    reject = now.project.reject if asked.reject is None else asked.reject
    return now.version, here.sorter.by_project(now.project, now.version, reject)


@router.post(
    "/sort", response_model=Labels, responses=refusals(409, 413, 422), openapi_extra=takes(Sort)
)
async def sort(here: Here, asked: Annotated[Sort, Depends(body_of(Sort))]) -> Response:
    """A label for every image; no classes where fewer than two have an example."""
    return await in_lane(here.sorting, lambda: _labels(here, asked))


def _labels(here: Served, asked: Sort) -> Response:
    start = time.perf_counter()
    try:
        version, found = _sorted(here, asked)
    except TooFewError:
        return answer(_nothing(here.store.read().version))
    return answer(
        Labels(
            version=version,
            classes=found.classes,
            labels=_encoded(found.labels),
            confidences=_encoded(found.confidences),
            runners_up=_encoded(found.runners_up),
            distance=_encoded(found.distances),
            quality=found.quality,
            classifier=found.classifier.classifier_.rule,
            milliseconds=1000 * (time.perf_counter() - start),
        )
    )


def _nothing(version: int) -> Labels:
    empty = {"labels": "", "confidences": "", "runners_up": "", "distance": ""}
    words = {"quality": "", "classifier": ""}
    return Labels(version=version, classes=[], milliseconds=0, **empty, **words)


def _encoded(codes: Codes) -> str:
    return base64.b64encode(codes.astype("<u2").tobytes()).decode()


@router.post(
    "/csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}}, **refusals(409, 413, 422)},
    openapi_extra=takes(Csv),
)
async def csv(here: Here, asked: Annotated[Csv, Depends(body_of(Csv))]) -> Response:
    """The same as a table: file, label, confidence, runner-up."""
    return await in_lane(here.sorting, lambda: _table(here, asked))


def _table(here: Served, asked: Csv) -> Response:
    text = io.StringIO()
    write_csv(_sorted(here, asked)[1].table(here.session), text, asked.all_probabilities)
    return download(text.getvalue().encode(), "labels.csv", "text/csv")


@router.post(
    "/classifier",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **refusals(409, 413, 422)},
    openapi_extra=takes(Sort),
)
async def classifier(here: Here, asked: Annotated[Sort, Depends(body_of(Sort))]) -> Response:
    """A file for `pseudoshot classify` and `load_classifier`: embedding and classes in one."""
    return await in_lane(here.sorting, lambda: _classifier(here, asked))


def _classifier(here: Served, asked: Sort) -> Response:
    fitted = _sorted(here, asked)[1].classifier
    return download(to_bytes(fitted), "classifier.safetensors", "application/octet-stream")


@router.post("/sort-into", responses=refusals(409, 413, 422), openapi_extra=takes(SortInto))
async def sort_into(
    here: Here, asked: Annotated[SortInto, Depends(body_of(SortInto))]
) -> SortedInto:
    """Make a new folder on the server's machine, of links to the images or of copies."""
    return await in_lane(here.sorting, lambda: _folders(here, asked))


def _folders(here: Served, asked: SortInto) -> SortedInto:
    into = Path(asked.folder).expanduser()
    if not into.is_absolute():
        raise PseudoshotError(f"'{asked.folder}' is no full path: begin with / or ~")
    session, found = here.session, _sorted(here, asked)[1]
    if session.folder is None:
        raise PseudoshotError("there is no folder of images on the server: start it with --images")
    result, left_out = found.of_the_folder(session)
    sort_into_folder(result, session.folder, into, asked.copy_)
    return SortedInto(folder=printable(str(into)), images=len(result.files), left_out=left_out)


@router.post(
    "/propose",
    response_model=Groups,
    responses=refusals(409, 413, 422),
    openapi_extra=takes(Propose),
)
async def proposals(here: Here, asked: Annotated[Propose, Depends(body_of(Propose))]) -> Response:
    """Groups of alike images: all that are no examples, or those unlike every example."""
    return await in_lane(here.sorting, lambda: _groups(here, asked))


def _groups(here: Served, asked: Propose) -> Response:
    check_session(here, asked.session)
    view, now = here.session.view(), here.store.read()
    free = view.known.copy()
    numbers = here.session.numbers
    free[[numbers[file] for file in now.project.examples if file in numbers]] = False
    chosen = np.flatnonzero(free)
    if asked.among == "unlike":
        found = here.sorter.by_project(now.project, now.version, now.project.reject)
        chosen = unlike_every_example(found.likeness, chosen[chosen < len(found.likeness)])
    groups = propose(view.rows, chosen, asked.count)
    return answer(Groups(groups=[GroupAnswer(images=g.images, size=g.size) for g in groups]))
