"""What a person writes for DATA, and what is said when it does not stand for anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.data import SOURCES, default_views, describe, load
from pseudoshot.data.loading import parse
from pseudoshot.tools.errors import PseudoshotError

NAMES = (
    *("glyphs", "cifar-fs", "fc100", "tiny-imagenet"),
    *("omniglot", "cub", "miniimagenet", "tieredimagenet"),
)


def test_the_names() -> None:
    assert tuple(SOURCES) == NAMES
    assert all(name == source.name for name, source in SOURCES.items())


@given(st.sampled_from(NAMES), st.none() | st.text(max_size=8))
def test_a_name_and_its_split_come_apart(name: str, split: str | None) -> None:
    data = name if split is None else f"{name}:{split}"
    assert parse(data, SOURCES) == (name, split)


@given(st.text())
def test_anything_else_is_a_folder_as_it_stands(data: str) -> None:
    named = data in NAMES or data.startswith(tuple(f"{name}:" for name in NAMES))
    if not named:
        assert parse(data, SOURCES) == (data, None)


def test_the_split_behind_the_name_wins() -> None:
    assert load("glyphs:test", split="train").name == "glyphs:test"
    assert load("glyphs", split="test").name == "glyphs:test"
    assert load("glyphs").name == "glyphs:train"


@pytest.mark.parametrize("data", ["cifar100", "", "no/such/folder", "cifar:test"])
def test_an_unknown_name(data: str) -> None:
    with pytest.raises(PseudoshotError, match="give a folder of images or one of glyphs, cifar-fs"):
        load(data)


@pytest.mark.parametrize("data", ["glyphs:val", "glyphs:"])
def test_an_unknown_split(data: str) -> None:
    with pytest.raises(PseudoshotError, match="its splits are train, test"):
        load(data)


@pytest.mark.parametrize("data", ["glyphs", "cifar-fs:test", "."])
def test_rotations_are_for_omniglot(data: str) -> None:
    with pytest.raises(PseudoshotError, match="rotations as extra classes are for omniglot"):
        load(data, rotations=True)


@pytest.mark.parametrize("size", [0, -3])
def test_a_size_without_pixels(size: int) -> None:
    with pytest.raises(PseudoshotError, match="at least 1 pixel"):
        load("glyphs", size=size)


@pytest.mark.parametrize(
    ("name", "download", "place"),
    [
        ("cifar-fs", "cifar-100-python.tar.gz from the CIFAR page", "cifar-100-python.tar.gz"),
        ("tiny-imagenet", "tiny-imagenet-200.zip", "tiny-imagenet-200"),
        ("omniglot", "images_background.zip and images_evaluation.zip", "omniglot"),
        ("cub", "CUB_200_2011.tgz", "CUB_200_2011"),
        ("miniimagenet", "mini-imagenet-cache-train.pkl", "miniimagenet"),
        ("tieredimagenet", "ImageNet", "tieredimagenet"),
    ],
)
def test_a_missing_set(
    name: str, download: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PSEUDOSHOT_DATA", str(tmp_path / "environment"))
    with pytest.raises(PseudoshotError) as caught:
        load(name)
    message = str(caught.value)
    assert download in message
    assert f"{tmp_path / 'environment' / place} or {tmp_path / 'cache' / place}" in message
    assert "PSEUDOSHOT_DATA or --data-root" in message
    with pytest.raises(PseudoshotError, match=str(tmp_path / "given" / place)):
        load(name, root=tmp_path / "given")


@pytest.mark.parametrize(
    ("data", "views"),
    [("glyphs", "typefaces"), ("glyphs:test", "typefaces"), ("omniglot", "strokes")],
)
def test_characters_are_viewed_as_characters(data: str, views: str) -> None:
    assert default_views(data) == views


@pytest.mark.parametrize("data", ["cub", "cifar-fs:train", "some/folder", "./glyphs"])
def test_all_else_is_viewed_as_photographs(data: str) -> None:
    assert default_views(data) == "amdim"


def test_describe_says_what_there_is(omniglot_folder: Path) -> None:
    rows = {row.name: row for row in describe(omniglot_folder.parent)}
    assert tuple(rows) == NAMES
    assert [(s.split, s.classes, s.images) for s in rows["glyphs"].splits] == [
        ("train", 483, 7124),
        ("test", 121, 1452),
    ]
    assert rows["omniglot"].place == omniglot_folder
    assert rows["omniglot"].splits[2].images == 8460
    assert rows["cub"].place is None
    assert [(s.classes, s.present, s.images) for s in rows["cub"].splits] == [
        (100, 0, None),
        (50, 0, None),
        (50, 0, None),
    ]
    assert rows["tieredimagenet"].splits[0].published
