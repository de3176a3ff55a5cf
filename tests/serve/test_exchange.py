"""A project as one file: read back as it was, or refused in one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.serve.exchange import _digest, from_file, to_file
from pseudoshot.serve.project import Class, Project
from pseudoshot.tools.errors import PseudoshotError

PROJECT = Project(
    (Class(name="cat", colour="#000000"), Class(name="é 𝄞", colour="#ffffff")),
    {"a.jpg": "cat", "b/ü.jpg": "é 𝄞"},
    0.25,
)
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)


def test_a_project_is_read_back_as_it_was():
    assert from_file(to_file(PROJECT)) == PROJECT
    assert from_file(to_file(Project())) == Project()


@given(st.dictionaries(TEXT, TEXT, max_size=6), st.floats(0, 1) | st.none())
def test_any_project_is_read_back_as_it_was(examples, reject):
    names = sorted({label for label in examples.values() if label != "none of these"})
    kept = {file: label for file, label in examples.items() if label in names}
    project = Project(tuple(Class(name=name, colour="#123456") for name in names), kept, reject)
    assert from_file(to_file(project)) == project


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="replace"))
)
def test_bytes_of_any_kind_are_refused(data):
    with pytest.raises(PseudoshotError, match="no exported project"):
        from_file(data)


@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_changed_byte_is_refused_or_changes_nothing(place, flip):
    data = bytearray(to_file(PROJECT))
    data[int(place * len(data))] ^= flip
    try:
        found, told = from_file(bytes(data)), ""
    except PseudoshotError as error:
        found, told = PROJECT, str(error)
    assert found == PROJECT
    assert "\n" not in told


@pytest.mark.parametrize(
    "changed",
    [
        {"examples": {"a.jpg": "eel"}},
        {"classes": [{"name": "cat", "colour": "#000000"}] * 2, "examples": {}},
        {"classes": [{"name": "none of these", "colour": "#000000"}], "examples": {}},
        {"pseudoshot_project": 2},
        {"settings": {"reject": 7}},
        {"more": 1},
    ],
)
def test_what_is_no_project_is_refused_though_its_digest_is_right(changed):
    content = json.loads(to_file(PROJECT)) | changed
    content.pop("digest")
    data = json.dumps({**content, "digest": _digest(content)}).encode()
    with pytest.raises(PseudoshotError, match="no exported project"):
        from_file(data)


def test_deep_nesting_is_refused():
    with pytest.raises(PseudoshotError, match="no exported project"):
        from_file(b"[" * 1_000_000)
