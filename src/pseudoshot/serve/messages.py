"""What is asked of the server and what it answers, as types: the same that /openapi.json says."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from pseudoshot.serve.edits import MOST_EDITS, Edit
from pseudoshot.serve.exchange import Settings
from pseudoshot.serve.project import Class, Confidence, Label, Strict

Number = Annotated[int, Field(ge=0, le=2**31)]
MOST_EXAMPLES = 20_000  # in one request
SessionName = Annotated[str, Field(max_length=100)]


class Refusal(BaseModel):
    """Why not, in one sentence."""

    detail: str
    stale: bool = False  # the server was started anew, and images have other numbers


class Stage(BaseModel):
    """How far the images are prepared."""

    stage: Literal["listing", "reading", "embedding", "ready"]
    done: int
    total: int
    seconds_left: float | None
    error: str | None  # why it will go no further


class StageOf(Stage):
    images: int


class Images(BaseModel):
    """What there is to sort."""

    session: str  # changes with every start of the server, as numbers of images may
    folder: str | None  # whose images they are
    machine: str  # on which the folder is
    names: list[str | None]  # image i is names[i]; null: it cannot be read, or was removed
    added: list[int]  # those that may be removed
    skipped: list[str]  # files that could not be read, and why
    suggested: list[int]  # to label first
    model: str  # what the embedding was trained on
    progress: Stage


class Added(BaseModel):
    """Numbers of the images taken in."""

    images: list[int]


class ProjectAnswer(BaseModel):
    """What a person has said about the images."""

    version: int
    classes: list[Class]
    examples: dict[str, str]
    settings: Settings
    can_undo: str | None  # what would be undone
    can_redo: str | None
    missing: int  # examples whose file is not there


class Change(Strict):
    """Edits, all of them or none; one step of undo."""

    base: Annotated[int, Field(ge=0)]  # the version they were made on
    edits: Annotated[list[Edit], Field(min_length=1, max_length=MOST_EDITS)]


class OfSession(Strict):
    session: SessionName


class Sort(OfSession):
    reject: Confidence | None = None  # the project's where it is not given


class Csv(Sort):
    all_probabilities: bool = False


class SortInto(Sort):
    folder: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
    copy_: Annotated[bool, Field(alias="copy")] = False


class SortedInto(BaseModel):
    """The folder that was made."""

    folder: str
    images: int
    left_out: int  # added images, which are no files of the folder


class Labels(BaseModel):
    """One of each per image, as base64 of little-endian uint16."""

    version: int  # of the project
    classes: list[str]
    labels: str  # index into classes; 65535 none of these, 65534 not embedded
    confidences: str  # 0 to 10000
    runners_up: str
    distance: str  # 0 to 10000, the rank of how unlike every example
    quality: str  # how good it is by the examples, in words
    classifier: str  # how images are told apart, in words
    milliseconds: float


class Propose(OfSession):
    among: Literal["all", "unlike"] = "all"
    count: Annotated[int, Field(ge=1, le=60)] = 12


class GroupAnswer(BaseModel):
    images: list[int]  # the most typical first
    size: int


class Groups(BaseModel):
    """The largest first."""

    groups: list[GroupAnswer]


class Example(TypedDict):
    """An image and the class a person put it in; a dictionary, as there may be thousands."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    image: Number
    label: Label


class Examples(Sort):
    """All that is known: everything else follows from it."""

    examples: Annotated[list[Example], Field(min_length=1, max_length=MOST_EXAMPLES)]

    def by_image(self) -> dict[int, str]:
        return {example["image"]: example["label"] for example in self.examples}


class Classified(BaseModel):
    """One label per image, in the order of the images; null where there is none."""

    labels: list[str | None]
    confidences: list[float]
    runners_up: list[str | None]
    quality: str
    milliseconds: float


class EmbeddingsAnswer(BaseModel):
    """One embedding per file, in the order sent."""

    dim: int
    embeddings: list[list[float]]
