"""The page itself."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse

router = APIRouter(include_in_schema=False)

_PAGE = Path(__file__).parent.parent / "page"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PARTS = {path.name: path for path in _PAGE.iterdir() if path.suffix in _TYPES}
_ANEW = {"Cache-Control": "no-cache"}  # so that a new version is seen


@router.get("/")
def page() -> FileResponse:
    return FileResponse(_PAGE / "page.html", headers=_ANEW)


@router.get("/page/{name}")
def part(name: str) -> FileResponse:
    if name not in _PARTS:
        raise HTTPException(404, "there is no such part of the page")
    path = _PARTS[name]
    return FileResponse(path, media_type=_TYPES[path.suffix], headers=_ANEW)
