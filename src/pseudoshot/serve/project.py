"""A project: what a person has said about a folder of images, and what differs between two.

Every change is a `Patch`, the difference between two projects. Its inverse is the same difference
read backwards, so that undo and redo need to know nothing of the kinds of edits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

Label = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
File = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
Colour = Annotated[str, Field(pattern=r"^#[0-9a-f]{6}$")]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Class(Strict):
    """A class as it is shown."""

    name: Label
    colour: Colour


@dataclass(frozen=True)
class Project:
    """What a person has said about a folder of images; never changed, only replaced."""

    classes: tuple[Class, ...] = ()
    examples: Mapping[str, str] = field(default_factory=dict)  # file name to class name
    reject: float | None = None  # below this confidence, "none of these"

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.classes]


@dataclass(frozen=True)
class Patch:
    """What differs between two projects: before and after."""

    classes: tuple[tuple[Class, ...], tuple[Class, ...]] | None = None
    examples: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    reject: tuple[float | None, float | None] | None = None

    @classmethod
    def between(cls, before: Project, after: Project) -> Self:
        old, new = before.examples, after.examples
        examples = {
            file: (old.get(file), new.get(file))
            for file in old.keys() | new.keys()
            if old.get(file) != new.get(file)
        }
        return cls(
            (before.classes, after.classes) if before.classes != after.classes else None,
            examples,
            (before.reject, after.reject) if before.reject != after.reject else None,
        )

    def inverse(self) -> Patch:
        return Patch(
            self.classes and (self.classes[1], self.classes[0]),
            {file: (after, before) for file, (before, after) in self.examples.items()},
            self.reject and (self.reject[1], self.reject[0]),
        )

    def applied_to(self, project: Project) -> Project:
        examples = dict(project.examples)
        for file, (_, after) in self.examples.items():
            if after is None:
                examples.pop(file, None)
            else:
                examples[file] = after
        return Project(
            self.classes[1] if self.classes else project.classes,
            examples,
            self.reject[1] if self.reject else project.reject,
        )

    def __bool__(self) -> bool:
        return bool(self.classes or self.examples or self.reject)

    def to_json(self) -> bytes:
        classes = self.classes and [[[c.name, c.colour] for c in some] for some in self.classes]
        return json.dumps([classes, self.examples, self.reject], ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        classes, examples, reject = json.loads(text)
        before, after = (
            tuple(Class(name=name, colour=colour) for name, colour in some)
            for some in classes or ((), ())
        )
        return cls(
            (before, after) if classes else None,
            {file: (old, new) for file, (old, new) in examples.items()},
            reject and (reject[0], reject[1]),
        )
