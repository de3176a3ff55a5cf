"""What a person does to a project: edits, applied as pure functions, all of a change or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pseudoshot.serve.project import Class, Colour, Confidence, File, Label, Project, Strict
from pseudoshot.sorting.estimator import NONE_OF_THESE
from pseudoshot.tools.errors import PseudoshotError

MOST_CLASSES = 1_000
MOST_EXAMPLES = 200_000
MOST_EDITS = 1_000  # of one change
COLOURS = (
    *("#1f6fa8", "#c0392b", "#237a4b", "#8e5ea2", "#a05f00"),
    *("#00727f", "#7a4a2b", "#5361b8", "#56731a", "#b0307f"),
)


class NotApplicableError(PseudoshotError):
    """An edit that makes no sense of the project as it is."""


class AddClass(Strict):
    kind: Literal["add_class"]
    name: Label
    colour: Colour | None = None


class RenameClass(Strict):
    kind: Literal["rename_class"]
    name: Label
    to: Label


class MergeClass(Strict):
    kind: Literal["merge_class"]
    name: Label
    into: Label


class DeleteClass(Strict):
    kind: Literal["delete_class"]
    name: Label


class RecolourClass(Strict):
    kind: Literal["recolour_class"]
    name: Label
    colour: Colour


class OrderClasses(Strict):
    kind: Literal["order_classes"]
    names: Annotated[list[Label], Field(max_length=MOST_CLASSES)]


class LabelFiles(Strict):
    """Files become examples of a class, or of none."""

    kind: Literal["label"]
    files: Annotated[list[File], Field(min_length=1, max_length=MOST_EXAMPLES)]
    class_: Annotated[Label | None, Field(alias="class")]


class Set(Strict):
    kind: Literal["set"]
    reject: Confidence | None


class Clear(Strict):
    """No classes and no examples."""

    kind: Literal["clear"]


Edit: TypeAlias = Annotated[
    AddClass
    | RenameClass
    | MergeClass
    | DeleteClass
    | RecolourClass
    | OrderClasses
    | LabelFiles
    | Set
    | Clear,
    Field(discriminator="kind"),
]


def apply(project: Project, edits: Sequence[Edit]) -> Project:
    """The project after the edits, all of them or none.

    >>> edit = AddClass(kind="add_class", name="cat")
    >>> apply(Project(), [edit]).classes
    (Class(name='cat', colour='#1f6fa8'),)
    """
    draft = _Draft(project)
    for edit in edits:
        draft.apply(edit)
    return draft.done()


class _Draft:
    """A project that is being changed."""

    def __init__(self, project: Project) -> None:
        self.colours = {c.name: c.colour for c in project.classes}  # in the order of the classes
        self.examples = dict(project.examples)
        self.reject = project.reject

    def done(self) -> Project:
        if len(self.colours) > MOST_CLASSES:
            raise NotApplicableError(f"at most {MOST_CLASSES:,} classes can be told apart")
        if len(self.examples) > MOST_EXAMPLES:
            raise NotApplicableError(f"at most {MOST_EXAMPLES:,} images can be examples")
        classes = tuple(Class(name=name, colour=c) for name, c in self.colours.items())
        return Project(classes, self.examples, self.reject)

    def apply(self, edit: Edit) -> None:
        match edit:
            case AddClass():
                self._must_be_new(edit.name)
                self.colours[edit.name] = edit.colour or self._free_colour()
            case RenameClass():
                self._rename(edit.name, edit.to)
            case MergeClass():
                self._merge(edit.name, edit.into)
            case DeleteClass():
                self._must_be(edit.name)
                del self.colours[edit.name]
                self.examples = {f: c for f, c in self.examples.items() if c != edit.name}
            case RecolourClass():
                self._must_be(edit.name)
                self.colours[edit.name] = edit.colour
            case OrderClasses():
                if sorted(edit.names) != sorted(self.colours):
                    raise NotApplicableError("an order of classes names each of them once")
                self.colours = {name: self.colours[name] for name in edit.names}
            case LabelFiles():
                self._label(edit.files, edit.class_)
            case Set():
                self.reject = edit.reject
            case Clear():
                self.colours, self.examples = {}, {}

    def _must_be(self, name: str) -> None:
        if name not in self.colours:
            raise NotApplicableError(f"there is no class '{name}'")

    def _must_be_new(self, name: str) -> None:
        if name == NONE_OF_THESE:
            raise NotApplicableError(f"'{name}' is for images of no class: name it otherwise")
        if name in self.colours:
            raise NotApplicableError(f"there is a class '{name}' already")

    def _free_colour(self) -> str:
        taken = list(self.colours.values())
        return min(COLOURS, key=taken.count)  # the first of those used least

    def _rename(self, name: str, to: str) -> None:
        self._must_be(name)
        if name == to:
            return
        self._must_be_new(to)
        self.colours = {to if n == name else n: c for n, c in self.colours.items()}
        self.examples = {f: to if c == name else c for f, c in self.examples.items()}

    def _merge(self, name: str, into: str) -> None:
        self._must_be(name)
        self._must_be(into)
        if name == into:
            raise NotApplicableError(f"'{name}' cannot be merged into itself")
        del self.colours[name]
        self.examples = {f: into if c == name else c for f, c in self.examples.items()}

    def _label(self, files: Sequence[str], name: str | None) -> None:
        if name is None:
            for file in files:
                self.examples.pop(file, None)
        else:
            self._must_be(name)
            self.examples.update(dict.fromkeys(files, name))


def in_words(edits: Sequence[Edit]) -> str:
    """What a change does, to say what would be undone.

    >>> in_words([LabelFiles(**{"kind": "label", "files": ["a.jpg"], "class": "cat"})])
    'label 1 image'
    """
    labelled = {file for edit in edits if isinstance(edit, LabelFiles) for file in edit.files}
    others = [edit for edit in edits if not isinstance(edit, LabelFiles)]
    parts = [_words(edit) for edit in others[:2]] + (["more"] if len(others) > 2 else [])
    if labelled:
        removed = all(edit.class_ is None for edit in edits if isinstance(edit, LabelFiles))
        count = f"{len(labelled):,} image{'s' if len(labelled) > 1 else ''}"
        parts.append(f"take back {count}" if removed else f"label {count}")
    return ", ".join(parts)


def _words(edit: Edit) -> str:
    match edit:
        case AddClass():
            return f"add class {edit.name}"
        case RenameClass():
            return f"rename {edit.name} to {edit.to}"
        case MergeClass():
            return f"merge {edit.name} into {edit.into}"
        case DeleteClass():
            return f"delete class {edit.name}"
        case RecolourClass():
            return f"recolour {edit.name}"
        case OrderClasses():
            return "order classes"
        case Set():
            return "set the doubt threshold"
        case _:
            return "clear everything"
