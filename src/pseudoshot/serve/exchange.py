"""A project as one file that can be mailed: JSON with a digest of what it says."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from pseudoshot.serve.edits import MOST_CLASSES, MOST_EXAMPLES
from pseudoshot.serve.project import Class, Confidence, File, Label, Project, Strict
from pseudoshot.sorting.estimator import NONE_OF_THESE
from pseudoshot.tools.errors import PseudoshotError, validation_line

FORMAT = 1


class Settings(Strict):
    """What a person set beside classes and examples."""

    reject: Confidence | None = None


class ProjectFile(Strict):
    """What such a file holds."""

    pseudoshot_project: Literal[1]  # the format
    classes: Annotated[list[Class], Field(max_length=MOST_CLASSES)]
    examples: Annotated[dict[File, Label], Field(max_length=MOST_EXAMPLES)]
    settings: Settings
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # of all else


def to_file(project: Project) -> bytes:
    content = {
        "pseudoshot_project": FORMAT,
        "classes": [c.model_dump() for c in project.classes],
        "examples": dict(sorted(project.examples.items())),
        "settings": {"reject": project.reject},
    }
    return json.dumps({**content, "digest": _digest(content)}, indent=1).encode()


def from_file(data: bytes) -> Project:
    """A file of any content: a project, or one sentence."""
    try:
        file = ProjectFile.model_validate_json(data)
    except ValidationError as error:
        raise PseudoshotError(f"this is no exported project: {validation_line(error)}") from error
    content = file.model_dump(exclude={"digest"})
    if _digest(content) != file.digest:
        raise PseudoshotError(
            "this project was changed or damaged since it was exported: export it again"
        )
    names = [c.name for c in file.classes]
    if len(set(names)) < len(names) or NONE_OF_THESE in names:
        raise PseudoshotError("this is no exported project: two of its classes are called the same")
    if not set(file.examples.values()) <= set(names):
        raise PseudoshotError("this is no exported project: an example is of no class")
    return Project(tuple(file.classes), file.examples, file.settings.reject)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
