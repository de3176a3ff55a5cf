"""The HTTP interface put together: routes, what is refused, what /openapi.json says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect

from pseudoshot._version import __version__
from pseudoshot.serve.edits import NotApplicableError
from pseudoshot.serve.limits import Limits
from pseudoshot.serve.routes import ROUTERS
from pseudoshot.serve.security import LOOPBACK, Gate
from pseudoshot.serve.served import BODIES, Served, StaleError, refusal
from pseudoshot.serve.session import NoImageError, NotYetError, Session
from pseudoshot.serve.sorter import Sorter
from pseudoshot.serve.store import Store
from pseudoshot.tools.console import printable
from pseudoshot.tools.errors import PseudoshotError

THREADS = 8
_CODES: dict[type[PseudoshotError], int] = {
    StaleError: 409,
    NotApplicableError: 409,
    NotYetError: 409,
    NoImageError: 404,
}


def build_app(
    session: Session,
    store: Store | None = None,
    names: Sequence[str] = LOOPBACK,
    token: str | None = None,
    cookie: str = "pseudoshot",
) -> FastAPI:
    """The page and its interface over one session; `names` are those the server may be called."""
    app = FastAPI(
        title="pseudoshot",
        version=__version__,
        description="Images sorted by a few examples.",
        docs_url=None,  # its scripts would come from other sites
        redoc_url=None,
        lifespan=_with_few_threads,
    )
    app.state.served = Served(session, store or Store(), Sorter(session))
    app.add_middleware(Limits)
    app.add_middleware(Gate, names=names, token=token, cookie=cookie)  # outermost
    for router in ROUTERS:
        app.include_router(router)
    _add_refusals(app)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _with_few_threads(_: FastAPI) -> AsyncIterator[None]:
    """For what is quick; many threads would only wait for each other's turn."""
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield


def _described(app: FastAPI) -> dict[str, Any]:
    """With the bodies that routes read themselves."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        template = "#/components/schemas/{model}"
        _, bodies = models_json_schema(
            [(model, "validation") for model in BODIES.values()], ref_template=template
        )
        schema["components"]["schemas"] |= bodies["$defs"]
        app.openapi_schema = schema
    return app.openapi_schema


def _add_refusals(app: FastAPI) -> None:
    """One sentence, without what was sent: it may not even be text."""

    @app.exception_handler(PseudoshotError)
    async def refuse(_: Request, error: Exception) -> JSONResponse:
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), 422)
        return refusal(printable(str(error)), code, isinstance(error, StaleError))

    @app.exception_handler(RequestValidationError)
    async def explain(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return refusal(f"{where}: {first['msg']}", 422)

    @app.exception_handler(ClientDisconnect)
    async def nobody(_: Request, __: Exception) -> JSONResponse:
        return refusal("the request was not sent to its end", 400)  # which nobody reads

    @app.exception_handler(StarletteHTTPException)
    async def say(_: Request, error: HTTPException) -> JSONResponse:
        return refusal(str(error.detail), error.status_code)
