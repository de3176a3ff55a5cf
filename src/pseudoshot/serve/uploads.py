"""Uploaded files: how many, how called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import HTTPException, UploadFile

from pseudoshot.serve.session import unlike
from pseudoshot.tools.allocator import return_freed_memory
from pseudoshot.tools.console import printable

MOST_FILES = 500  # of a request
_MOST_DEEP = 20  # folders


@contextmanager
def taken_in(files: list[UploadFile]) -> Iterator[dict[str, bytes]]:
    """The files by name; what it took to decode them is given back when they were."""
    try:
        yield contents(files)
    finally:
        return_freed_memory()


def contents(files: list[UploadFile]) -> dict[str, bytes]:
    """By name; two of the same name are told apart."""
    if len(files) > MOST_FILES:
        raise HTTPException(413, f"{len(files)} files in one request, at most {MOST_FILES}")
    found: dict[str, bytes] = {}
    for file in files:
        found[unlike(found, plain_name(file.filename or ""))] = file.file.read()
    return found


def plain_name(given: str) -> str:
    """A relative path without anything that leads elsewhere: it is only ever a name here.

    >>> plain_name("holiday/../a.jpg"), plain_name("C:\\\\b.jpg"), plain_name("..")
    ('holiday/a.jpg', 'C:/b.jpg', 'image')
    """
    text = re.sub(r"[\x00-\x1f\x7f]", "?", printable(given)).replace("\\", "/")
    parts = [part[-200:] for part in text.split("/") if part.strip(". ")]
    return "/".join(parts[-_MOST_DEEP:])[-1000:].lstrip("/") or "image"
