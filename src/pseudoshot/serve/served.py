"""What all routes share: the session and its project, bodies read off the event loop, answers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ValidationError

from pseudoshot.serve.messages import Refusal
from pseudoshot.serve.session import Session
from pseudoshot.serve.sorter import Sorter
from pseudoshot.serve.store import Store
from pseudoshot.tools.allocator import return_freed_memory
from pseudoshot.tools.errors import PseudoshotError, validation_line

BODIES: dict[str, type[BaseModel]] = {}  # of requests, by the name /openapi.json calls them
LONG = 1 << 18  # bytes of a body that takes a while to read
Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")


def _lane(threads: int) -> Callable[[], CapacityLimiter]:
    return lambda: CapacityLimiter(threads)


@dataclass(frozen=True)
class Served:
    """One server's images and what is said of them.

    What takes long has lanes of its own: however many ask for it, they wait for each other and not
    for them those who only look at the project.
    """

    session: Session
    store: Store
    sorter: Sorter
    uploads: CapacityLimiter = field(default_factory=_lane(2))
    pictures: CapacityLimiter = field(default_factory=_lane(4))
    sorting: CapacityLimiter = field(default_factory=_lane(2))
    long_bodies: CapacityLimiter = field(default_factory=_lane(1))


class StaleError(PseudoshotError):
    """Numbers of images as another start of the server gave them."""


def served(request: Request) -> Served:
    found: Served = request.app.state.served
    return found


Here = Annotated[Served, Depends(served)]


def check_session(here: Served, session: str) -> None:
    if session != here.session.started:
        raise StaleError("the server was started anew: load the list of images again")


def _current(here: Here, session: Annotated[str, Query(max_length=100)]) -> None:
    check_session(here, session)


Current = Depends(_current)  # of a route whose address says which session its numbers are of


async def in_lane(lane: CapacityLimiter, work: Callable[[], Result]) -> Result:
    """The work's result, done by a thread of the lane."""
    return await to_thread.run_sync(work, limiter=lane)


def body_of(
    model: type[Model], field: str = "", most: int = 0
) -> Callable[..., Coroutine[Any, Any, Model]]:
    """A dependency that reads the body in a thread: a long one holds up nobody else.

    The parser lets no other thread run, so where a body has objects with a `field` in them, and
    more than `most` are refused, many more than that are refused before they are parsed.
    """
    BODIES[model.__name__] = model

    async def read(request: Request, here: Here) -> Model:
        body = await request.body()
        if field and body.count(f'"{field}"'.encode()) > 2 * most:
            raise PseudoshotError(f"body: at most {most:,} in one request")
        lane = here.long_bodies if len(body) > LONG else None
        return await to_thread.run_sync(_parsed, model, body, limiter=lane)

    return read


def _parsed(model: type[Model], body: bytes) -> Model:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise PseudoshotError(f"body: {validation_line(error)}") from error
    finally:
        if len(body) > LONG:
            return_freed_memory()


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """The body as /openapi.json describes it."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The ways in which a route may say no, for /openapi.json; what is too long may be too slow."""
    slow = (408,) if 413 in codes else ()
    return {code: {"model": Refusal} for code in (400, 401, 403, *slow, *codes)}


def answer(model: BaseModel) -> Response:
    """As JSON, made in the thread of the route."""
    return Response(model.model_dump_json(), media_type="application/json")


def refusal(detail: str, code: int, stale: bool = False) -> JSONResponse:
    return JSONResponse(Refusal(detail=detail, stale=stale).model_dump(), code)


def download(data: bytes, name: str, media_type: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=media_type, headers=headers)
