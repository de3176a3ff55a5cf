"""The project: classes and examples, changes to them and back, as one file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from pseudoshot.serve.edits import MOST_EDITS, LabelFiles, NotApplicableError
from pseudoshot.serve.exchange import ProjectFile, Settings, from_file, to_file
from pseudoshot.serve.messages import Change, ProjectAnswer
from pseudoshot.serve.served import (
    Here,
    Served,
    answer,
    body_of,
    download,
    in_lane,
    refusal,
    refusals,
    takes,
)
from pseudoshot.serve.store import Snapshot
from pseudoshot.tools.errors import PseudoshotError

router = APIRouter(prefix="/project")

Version = Annotated[int | None, Query(ge=0)]
_JSON = "application/json"


def _answer(here: Served, now: Snapshot) -> Response:
    numbers = here.session.numbers
    return answer(
        ProjectAnswer(
            version=now.version,
            classes=list(now.project.classes),
            examples=dict(now.project.examples),
            settings=Settings(reject=now.project.reject),
            can_undo=now.can_undo,
            can_redo=now.can_redo,
            missing=sum(file not in numbers for file in now.project.examples),
        )
    )


@router.get(
    "",
    response_model=ProjectAnswer,
    responses={204: {"description": "nothing is new"}, **refusals(422)},
)
def project(here: Here, since: Version = None) -> Response:
    """Classes and examples; 204 where the version is still the one given."""
    now = here.store.read()
    return Response(status_code=204) if since == now.version else _answer(here, now)


@router.post(
    "/changes",
    response_model=ProjectAnswer,
    responses=refusals(409, 413, 422),
    openapi_extra=takes(Change),
)
def change(
    here: Here, wanted: Annotated[Change, Depends(body_of(Change, "kind", MOST_EDITS))]
) -> Response:
    """Apply edits, on whatever the project is by now: they are by name."""
    now = here.store.read()
    _refuse_unknown(here, wanted, now)
    try:
        return _answer(here, here.store.change(wanted.edits))
    except NotApplicableError as error:
        if wanted.base == now.version:
            raise PseudoshotError(str(error)) from error
        return refusal(f"{error}: the project was changed meanwhile", 409)


def _refuse_unknown(here: Served, wanted: Change, now: Snapshot) -> None:
    known, examples = here.session.numbers, now.project.examples
    for edit in wanted.edits:
        for file in edit.files if isinstance(edit, LabelFiles) else ():
            if file not in known and file not in examples:
                raise PseudoshotError(f"there is no image '{file[:200]}'")


@router.post("/undo", response_model=ProjectAnswer, responses=refusals(409))
def undo(here: Here) -> Response:
    """Take back the last change, whoever made it."""
    return _answer(here, here.store.undo())


@router.post("/redo", response_model=ProjectAnswer, responses=refusals(409))
def redo(here: Here) -> Response:
    """Make the change again that was taken back last."""
    return _answer(here, here.store.redo())


@router.get("/export", response_model=ProjectFile, responses=refusals())
def export(here: Here) -> Response:
    """The project as one file."""
    called = "" if here.session.folder is None else here.session.folder.name
    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in called)
    name = f"{readable[:60] or 'images'}.pseudoshot.json"
    return download(to_file(here.store.read().project), name, _JSON)


@router.post(
    "/import",
    response_model=ProjectAnswer,
    responses=refusals(413, 422),
    openapi_extra=takes(ProjectFile),
)
async def import_(here: Here, request: Request) -> Response:
    """An exported project in place of the present one; it can be undone."""
    data = await request.body()

    def taken_in() -> Response:
        return _answer(here, here.store.replace(from_file(data), "import a project"))

    return await in_lane(here.long_bodies, taken_in)
