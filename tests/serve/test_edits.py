"""Edits and their inverses: undo all is the start, redo all is the end, whatever was done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from pseudoshot.serve.edits import Edit, NotApplicableError, apply, in_words
from pseudoshot.serve.project import Patch, Project
from pseudoshot.serve.store import Store

EDIT = TypeAdapter(Edit)
NAMES, FILES = ("cat", "dog", "fish", "é"), tuple("abcdef")
COLOURS = ("#000000", "#ff8800")


def edit(kind: str, **fields: object) -> Edit:
    return EDIT.validate_python({"kind": kind, **fields})


NAME, COLOUR = st.sampled_from(NAMES), st.sampled_from(COLOURS)
EDITS = st.one_of(
    st.builds(edit, st.just("add_class"), name=NAME, colour=COLOUR | st.none()),
    st.builds(edit, st.just("rename_class"), name=NAME, to=NAME),
    st.builds(edit, st.just("merge_class"), name=NAME, into=NAME),
    st.builds(edit, st.just("delete_class"), name=NAME),
    st.builds(edit, st.just("recolour_class"), name=NAME, colour=COLOUR),
    st.builds(edit, st.just("order_classes"), names=st.permutations(NAMES)),
    st.builds(
        lambda files, name: edit("label", files=files, **{"class": name}),
        st.lists(st.sampled_from(FILES), min_size=1, max_size=4),
        NAME | st.none(),
    ),
    st.builds(edit, st.just("set"), reject=st.floats(0, 1) | st.none()),
    st.builds(edit, st.just("clear")),
)
CHANGES = st.lists(st.lists(EDITS, min_size=1, max_size=3), max_size=12)


def applied(store: Store, changes: list[list[Edit]]) -> list[Project]:
    """The projects after each change that made sense; others change nothing."""
    found = [store.read().project]
    for edits in changes:
        before = store.read()
        try:
            now = store.change(edits)
        except NotApplicableError:
            assert store.read() == before
            continue
        if now != before:
            found.append(now.project)
    return found


@given(CHANGES)
def test_any_changes_are_undone_to_the_start_and_redone_to_the_end(changes):
    store = Store()
    steps = applied(store, changes)
    for project in reversed(steps[:-1]):
        assert store.undo().project == project
    assert store.read().can_undo is None
    with pytest.raises(NotApplicableError, match="nothing to undo"):
        store.undo()
    for project in steps[1:]:
        assert store.redo().project == project
    assert store.read().can_redo is None
    with pytest.raises(NotApplicableError, match="nothing to redo"):
        store.redo()
    store.close()


@given(CHANGES, CHANGES)
def test_a_patch_leads_there_and_its_inverse_back_also_as_bytes(some, others):
    store, other = Store(), Store()
    before, after = applied(store, some)[-1], applied(other, others)[-1]
    patch = Patch.between(before, after)
    assert patch.applied_to(before) == after
    assert patch.inverse().applied_to(after) == before
    assert Patch.from_json(patch.to_json()) == patch
    assert bool(patch) == (before != after)
    store.close()
    other.close()


@given(CHANGES)
def test_examples_are_always_of_a_class_and_classes_are_called_differently(changes):
    store = Store()
    for project in applied(store, changes):
        assert set(project.examples.values()) <= set(project.names)
        assert len(set(project.names)) == len(project.names)
    store.close()


def test_what_each_edit_does():
    project = apply(
        Project(),
        [
            edit("add_class", name="cat"),
            edit("add_class", name="dog", colour="#00ff00"),
            edit("label", files=["a", "b"], **{"class": "cat"}),
            edit("label", files=["c"], **{"class": "dog"}),
            edit("set", reject=0.5),
        ],
    )
    assert [c.name for c in project.classes] == ["cat", "dog"]
    assert project.examples == {"a": "cat", "b": "cat", "c": "dog"}
    assert project.reject == 0.5
    renamed = apply(project, [edit("rename_class", name="cat", to="lynx")])
    assert renamed.names == ["lynx", "dog"]
    assert renamed.examples == {"a": "lynx", "b": "lynx", "c": "dog"}
    merged = apply(project, [edit("merge_class", name="dog", into="cat")])
    assert merged.names == ["cat"]
    assert merged.examples == {"a": "cat", "b": "cat", "c": "cat"}
    assert apply(project, [edit("delete_class", name="cat")]).examples == {"c": "dog"}
    assert apply(project, [edit("order_classes", names=["dog", "cat"])]).names == ["dog", "cat"]
    taken = apply(project, [edit("label", files=["a", "z"], **{"class": None})])
    assert taken.examples == {"b": "cat", "c": "dog"}
    cleared = apply(project, [edit("clear")])
    assert (cleared.classes, cleared.examples, cleared.reject) == ((), {}, 0.5)
    assert len({c.colour for c in apply(project, [edit("add_class", name="x")]).classes}) == 3


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("add_class", {"name": "cat"}, "there is a class 'cat' already"),
        ("add_class", {"name": "none of these"}, "for images of no class"),
        ("rename_class", {"name": "cat", "to": "dog"}, "there is a class 'dog' already"),
        ("rename_class", {"name": "eel", "to": "x"}, "no class 'eel'"),
        ("rename_class", {"name": "cat", "to": "none of these"}, "for images of no class"),
        ("merge_class", {"name": "cat", "into": "cat"}, "into itself"),
        ("merge_class", {"name": "cat", "into": "eel"}, "no class 'eel'"),
        ("delete_class", {"name": "eel"}, "no class 'eel'"),
        ("recolour_class", {"name": "eel", "colour": "#000000"}, "no class 'eel'"),
        ("order_classes", {"names": ["cat"]}, "each of them once"),
        ("order_classes", {"names": ["cat", "dog", "dog"]}, "each of them once"),
        ("label", {"files": ["a"], "class": "eel"}, "no class 'eel'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(kind, fields, words):
    start = apply(Project(), [edit("add_class", name="cat"), edit("add_class", name="dog")])
    with pytest.raises(NotApplicableError, match=words):
        apply(start, [edit(kind, **fields)])


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("add_class", {"name": ""}),
        ("add_class", {"name": "a\nb"}),
        ("add_class", {"name": "x" * 101}),
        ("add_class", {"name": "a", "colour": "red; background: url(//x)"}),
        ("label", {"files": [], "class": "a"}),
        ("label", {"files": ["a\0"], "class": "a"}),
        ("label", {"files": ["a"]}),
        ("set", {"reject": 1.5}),
        ("set", {"reject": float("nan")}),
        ("drop_table", {}),
        ("clear", {"more": 1}),
    ],
)
def test_what_is_no_edit_is_refused(kind, fields):
    with pytest.raises(ValidationError):
        edit(kind, **fields)


def test_what_would_be_undone_is_said():
    label = {"files": ["a", "b", "c"], "class": "cat"}
    assert in_words([edit("label", **label)]) == "label 3 images"
    assert in_words([edit("label", files=["a"], **{"class": None})]) == "take back 1 image"
    both = [edit("add_class", name="cat"), edit("label", **label)]
    assert in_words(both) == "add class cat, label 3 images"
    assert in_words([edit("merge_class", name="a", into="b")]) == "merge a into b"
