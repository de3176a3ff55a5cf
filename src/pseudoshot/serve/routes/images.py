"""Images: their names, their pictures, how far they are prepared; adding and removing."""

from __future__ import annotations

import platform
from typing import Annotated, Literal

from fastapi import APIRouter, Path, UploadFile
from fastapi.responses import Response

from pseudoshot.serve.messages import Added, Images, Stage, StageOf
from pseudoshot.serve.served import Current, Here, answer, in_lane, refusals
from pseudoshot.serve.session import Progress
from pseudoshot.serve.uploads import taken_in
from pseudoshot.tools.console import printable

router = APIRouter()

Number = Annotated[int, Path(ge=0, le=2**31)]
_PICTURE = {"content": {"image/jpeg": {}}, "description": "a JPEG"}


@router.get("/images", response_model=Images, responses=refusals())
def images(here: Here) -> Response:
    """The images to sort, and which of them to label first."""
    session = here.session
    return answer(
        Images(
            session=session.started,
            folder=None if session.folder is None else printable(str(session.folder)),
            machine=platform.node(),
            names=list(session.names),
            added=session.added,
            skipped=session.skipped,
            suggested=session.suggested,
            model=session.embedder.card.trained_on,
            progress=Stage.model_validate(_stage(session.progress)),
        )
    )


@router.get("/progress", dependencies=[Current], responses=refusals(409, 422))
def progress(here: Here) -> StageOf:
    """How far the images are prepared."""
    stage = _stage(here.session.progress)
    return StageOf.model_validate({**stage, "images": len(here.session)})


@router.get(
    "/images/{number}",
    dependencies=[Current],
    response_class=Response,
    responses={200: _PICTURE, **refusals(404, 409, 422)},
)
async def picture(
    here: Here, number: Number, size: Literal["small", "large"] = "small"
) -> Response:
    """A small square of one image, or the whole of it, larger."""
    wanted = here.session.large if size == "large" else here.session.thumbnail
    data = await in_lane(here.pictures, lambda: wanted(number))
    headers = {"Cache-Control": "private, max-age=3600"}
    return Response(data, media_type="image/jpeg", headers=headers)


@router.post("/images", dependencies=[Current], responses=refusals(409, 413, 422))
async def add(here: Here, files: list[UploadFile]) -> Added:
    """Add images to sort, all of them or none; a file's name may be a path, as in a folder."""

    def added() -> list[int]:
        with taken_in(files) as contents:
            return here.session.add(contents)

    return Added(images=await in_lane(here.uploads, added))


@router.delete(
    "/images/{number}", dependencies=[Current], status_code=204, responses=refusals(404, 409, 422)
)
def remove(here: Here, number: Number) -> None:
    """Take out an image that was added; the others keep their numbers."""
    here.session.remove(number)


def _stage(progress: Progress) -> dict[str, object]:
    return {
        "stage": progress.stage,
        "done": progress.done,
        "total": progress.total,
        "seconds_left": progress.seconds_left,
        "error": progress.error,
    }
