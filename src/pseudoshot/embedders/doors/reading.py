"""JSON files beside models, read into what they must be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pseudoshot.tools.errors import PseudoshotError, first_line, validation_line

M = TypeVar("M", bound=BaseModel)


def read_json(path: Path, kind: type[M], what: str) -> M:
    """The file as a model of pydantic, or a sentence that names the file and what it is not."""
    try:
        return parsed(path.read_text(encoding="utf-8"), kind)
    except (OSError, ValueError) as error:
        raise PseudoshotError(f"{path} is not {what}: {first_line(error)}") from error


def parsed(text: str, kind: type[M]) -> M:
    """A ValueError says in one line what is wrong."""
    try:
        fields: Any = json.loads(text)
        return kind.model_validate(fields)
    except ValidationError as error:
        raise ValueError(validation_line(error)) from error
    except RecursionError as error:
        raise ValueError(first_line(error)) from error
