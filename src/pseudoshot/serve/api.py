"""The HTTP interface: typed requests and answers, described at /openapi.json and /docs."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, HTTPException, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.middleware.trustedhost import TrustedHostMiddleware

from pseudoshot._version import __version__
from pseudoshot.serve.limits import Limits
from pseudoshot.serve.session import Session, unlike
from pseudoshot.sorting.saved import to_bytes
from pseudoshot.sorting.table import write_csv
from pseudoshot.tools.console import printable
from pseudoshot.tools.errors import PseudoshotError

MOST_BYTES = 64 << 20  # of a request
MOST_FILES = 500  # of a request
_HERE = Path(__file__).parent
_PARTS = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "requests.js": "text/javascript",
}

Label = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Example(BaseModel):
    """An image and the class a person put it in."""

    model_config = ConfigDict(extra="forbid")

    image: Annotated[int, Field(ge=0)]
    label: Label


class Examples(BaseModel):
    """All that is known: everything else follows from it."""

    model_config = ConfigDict(extra="forbid")

    examples: Annotated[list[Example], Field(min_length=1, max_length=100_000)]
    reject: Annotated[float, Field(ge=0, le=1)] | None = None  # "none of these" below

    def by_image(self) -> dict[int, str]:
        return {example.image: example.label for example in self.examples}


class Images(BaseModel):
    """What there is to sort."""

    names: list[str]  # image i is names[i]
    suggested: list[int]  # to label first
    skipped: list[str]  # files that could not be read, and why
    model: str  # what the embedding was trained on
    session: str  # changes with every start of the server, as numbers of images may
    folder: str | None  # whose images they are


class Labels(BaseModel):
    """One label an image, in the order of the images."""

    labels: list[str]
    confidences: list[float]
    runners_up: list[str]
    quality: str  # how good it is by the examples, in words
    milliseconds: float


class Embeddings(BaseModel):
    """One embedding a file, in the order sent."""

    dim: int
    embeddings: list[list[float]]


class Added(BaseModel):
    """Numbers of the images taken in."""

    images: list[int]


def build_app(session: Session, host: str = "127.0.0.1") -> FastAPI:
    """The page and its interface over one session."""
    app = FastAPI(title="pseudoshot", version=__version__, description=__doc__)
    app.state.session = session
    app.add_middleware(Limits, most=MOST_BYTES)
    open_to_all = host in ("0.0.0.0", "::")  # then it is called by any name
    names = ["*"] if open_to_all else [host, "localhost", "127.0.0.1", "[::1]"]
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=names)
    _add_page(app)
    _add_images(app, session)
    _add_sorting(app, session)

    _add_refusals(app)
    return app


def _add_refusals(app: FastAPI) -> None:
    """One sentence, without what was sent: it may not even be text."""

    @app.exception_handler(PseudoshotError)
    async def refuse(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": printable(str(error))}, 422)

    @app.exception_handler(RequestValidationError)
    async def explain(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return JSONResponse({"detail": f"{where}: {first['msg']}"}, 422)


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(_HERE / "page.html")

    @app.get("/page/{name}", include_in_schema=False)
    def part(name: str) -> FileResponse:
        if name not in _PARTS:
            raise HTTPException(404)
        return FileResponse(_HERE / name, media_type=_PARTS[name])


def _add_images(app: FastAPI, session: Session) -> None:
    @app.get("/images")
    def images() -> Images:
        """The images to sort, and which of them to label first."""
        return Images(
            names=[printable(name) for name in session.names],
            suggested=session.suggested,
            skipped=[printable(text) for text in session.skipped],
            model=session.embedder.card.trained_on,
            session=session.started,
            folder=None if session.folder is None else printable(str(session.folder)),
        )

    @app.get("/images/{number}", responses={200: {"content": {"image/jpeg": {}}}})
    def thumbnail(number: int) -> Response:
        """A small picture of one image."""
        if not 0 <= number < len(session):
            raise HTTPException(404, f"there is no image {number}")
        headers = {"Cache-Control": "private, max-age=3600"}
        return Response(session.thumbnail(number), media_type="image/jpeg", headers=headers)

    @app.post("/images")
    def add(files: list[UploadFile]) -> Added:
        """Add images to sort, all of them or none."""
        return Added(images=session.add(_contents(files)))

    @app.post("/embed")
    def embed(files: list[UploadFile]) -> Embeddings:
        """The embeddings of images, which are not kept."""
        embeddings = session.embed(_contents(files))
        return Embeddings(dim=embeddings.shape[1], embeddings=embeddings.tolist())


def _add_sorting(app: FastAPI, session: Session) -> None:
    @app.post("/classify")
    def classify(known: Examples) -> Labels:
        """A label for every image, from a few examples."""
        start = time.perf_counter()
        result = session.sort(known.by_image(), known.reject)
        return Labels(
            labels=list(result.labels),
            confidences=[round(confidence, 4) for confidence in result.confidences],
            runners_up=list(result.runners_up),
            quality=result.quality,
            milliseconds=1000 * (time.perf_counter() - start),
        )

    @app.post("/csv", responses={200: {"content": {"text/csv": {}}}})
    def csv(known: Examples) -> Response:
        """The same as a table: file, label, confidence, runner-up."""
        text = io.StringIO()
        write_csv(session.sort(known.by_image(), known.reject), text)
        return _download(text.getvalue().encode(), "labels.csv", "text/csv")

    @app.post("/classifier", responses={200: {"content": {"application/octet-stream": {}}}})
    def classifier(known: Examples) -> Response:
        """A file for `pseudoshot classify` and `load_classifier`: embedding and classes in one."""
        fitted = session.classifier(known.by_image(), known.reject)
        return _download(to_bytes(fitted), "classifier.safetensors", "application/octet-stream")


def _contents(files: list[UploadFile]) -> dict[str, bytes]:
    """By name; two of the same name are told apart."""
    if len(files) > MOST_FILES:
        raise HTTPException(413, f"{len(files)} files in one request, at most {MOST_FILES}")
    contents: dict[str, bytes] = {}
    for file in files:
        name = Path(printable(file.filename or "")).name[:200] or "image"
        contents[unlike(contents, name)] = file.file.read()
    return contents


def _download(data: bytes, name: str, media_type: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=media_type, headers=headers)
