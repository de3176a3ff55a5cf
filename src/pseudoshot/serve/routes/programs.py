"""For programs: embeddings of files, and labels from examples by number."""

from __future__ import annotations

import time
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, UploadFile
from fastapi.responses import Response

from pseudoshot.serve.messages import MOST_EXAMPLES, Classified, EmbeddingsAnswer, Examples
from pseudoshot.serve.served import (
    Here,
    Served,
    answer,
    body_of,
    check_session,
    in_lane,
    refusals,
    takes,
)
from pseudoshot.serve.uploads import taken_in

router = APIRouter()


@router.post("/embed", response_model=EmbeddingsAnswer, responses=refusals(409, 413, 422))
async def embed(here: Here, files: list[UploadFile]) -> Response:
    """The embeddings of images, which are not kept."""

    def embedded() -> Response:
        with taken_in(files) as contents:
            rows = here.session.embed(contents)
        return answer(EmbeddingsAnswer(dim=rows.shape[1], embeddings=rows.tolist()))

    return await in_lane(here.uploads, embedded)


@router.post(
    "/classify",
    response_model=Classified,
    responses=refusals(409, 413, 422),
    openapi_extra=takes(Examples),
)
async def classify(
    here: Here, asked: Annotated[Examples, Depends(body_of(Examples, "image", MOST_EXAMPLES))]
) -> Response:
    """A label for every image, from the examples given; the project plays no part."""
    return await in_lane(here.sorting, lambda: _classified(here, asked))


def _classified(here: Served, asked: Examples) -> Response:
    start = time.perf_counter()
    check_session(here, asked.session)
    found = here.sorter.sort(asked.by_image(), asked.reject)
    rows = found.table(here.session)
    numbers = np.flatnonzero(found.known).tolist()
    labels: list[str | None] = [None] * len(found.known)
    seconds, confidences = labels.copy(), [0.0] * len(labels)
    for number, label, confidence, second in zip(
        numbers, rows.labels, rows.confidences, rows.runners_up, strict=True
    ):
        labels[number], seconds[number] = label, second
        confidences[number] = round(confidence, 4)
    return answer(
        Classified(
            labels=labels,
            confidences=confidences,
            runners_up=seconds,
            quality=found.quality,
            milliseconds=1000 * (time.perf_counter() - start),
        )
    )
