"""Published sets as they arrive: damaged, cut off, or made to do harm."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import random
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pseudoshot.data import ImageSet, cache, cifar, load, omniglot
from pseudoshot.data.source import class_list
from pseudoshot.tools.errors import PseudoshotError

from .damage import damaged, one_sentence

SPLIT = "val"
NAMES = sorted(name for part in ("train", "val", "test") for name in class_list("cifar-fs", part))


def attempt(name: str, root: Path, **options: Any) -> ImageSet | None:
    """The set, or None where it was refused in one sentence."""
    try:
        return load(f"{name}:{SPLIT}", root=root, **options)
    except PseudoshotError as error:
        one_sentence(error)
        return None


# CIFAR


def cifar_part(images_a_class: int) -> dict[bytes, Any]:
    """The first byte of an image is its class."""
    labels = np.repeat(np.arange(100), images_a_class)
    data = np.zeros((len(labels), 3 * cifar.SIDE**2), np.uint8)
    data[:, 0] = labels
    return {b"data": data, b"fine_labels": labels.tolist()}


def cifar_files() -> dict[str, bytes]:
    parts = {
        "meta": {b"fine_label_names": [name.encode() for name in NAMES]},
        "train": cifar_part(2),
        "test": cifar_part(1),
    }
    return {name: pickle.dumps(content, protocol=2) for name, content in parts.items()}


def tar_gz(files: dict[str, bytes], prefix: str = f"{cifar.FOLDER}/") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(stream.getvalue(), 1)


def write_cifar(root: Path, files: dict[str, bytes]) -> None:
    (root / cifar.FOLDER).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (root / cifar.FOLDER / name).write_bytes(content)


def check_cifar(image_set: ImageSet | None) -> None:
    """Whatever was read is a possible set; which number an image had is not protected."""
    if image_set is None:
        return
    assert image_set.classes == class_list("cifar-fs", SPLIT)
    assert image_set.images.shape[1:] in ((32, 32, 3), (32, 32, 1))
    assert image_set.class_counts().min() >= 1


def damage_cifar(root: Path, times: int, seed: int) -> None:
    """Damage near both ends of a pickle, where its structure is; pixels have none."""
    whole = cifar_files()
    for part, good in whole.items():
        for number, content in enumerate(damaged(good[-3000:], times, seed)):
            place = root / f"{part} {number}"
            write_cifar(place, {**whole, part: good[:-3000] + content})
            check_cifar(attempt("cifar-fs", place))
    for number, content in enumerate(damaged(whole["train"][:300], times, seed)):
        write_cifar(root / f"start {number}", {**whole, "train": content + whole["train"][300:]})
        check_cifar(attempt("cifar-fs", root / f"start {number}"))


def damage_tar(root: Path, times: int, seed: int) -> None:
    for number, content in enumerate(damaged(tar_gz(cifar_files()), times, seed)):
        (root / str(number)).mkdir(parents=True)
        (root / str(number) / f"{cifar.FOLDER}.tar.gz").write_bytes(content)
        check_cifar(attempt("cifar-fs", root / str(number)))


def test_a_whole_cifar_is_read(tmp_path: Path) -> None:
    write_cifar(tmp_path, cifar_files())
    image_set = attempt("cifar-fs", tmp_path)
    assert image_set is not None
    numbers = [NAMES.index(image_set.classes[label]) for label in image_set.labels]
    assert image_set.images[:, 0, 0, 0].tolist() == numbers


def test_damaged_cifar_pickles(tmp_path: Path) -> None:
    damage_cifar(tmp_path, times=24, seed=0)


def test_damaged_cifar_archives(tmp_path: Path) -> None:
    damage_tar(tmp_path, times=24, seed=0)


@pytest.mark.slow
def test_damaged_cifar_by_the_thousand(tmp_path: Path) -> None:
    damage_cifar(tmp_path / "pickles", times=500, seed=1)
    damage_tar(tmp_path / "archives", times=1000, seed=1)


@pytest.mark.parametrize(
    "change",
    [
        {b"fine_labels": list(range(50))},
        {b"fine_labels": [0.5] * 200},
        {b"fine_labels": [10**30] * 200},
        {b"fine_labels": ["apple"] * 200},
        {b"fine_labels": None},
        {b"fine_labels": [0] * 200},
        {b"data": np.zeros((200, 3072), np.float32)},
        {b"data": np.zeros((200, 3071), np.uint8)},
        {b"data": np.zeros((0, 3072), np.uint8), b"fine_labels": []},
        {b"data": [[0] * 3072] * 200},
        {b"data": b"bytes"},
        {b"data": np.uint8(3)},
    ],
)
@pytest.mark.parametrize("size", [32, 16])
def test_a_cifar_of_other_content(tmp_path: Path, change: dict[bytes, Any], size: int) -> None:
    whole = cifar_files()
    for part, images in (("train", 2), ("test", 1)):
        content = pickle.dumps({**cifar_part(images), **change}, protocol=2)
        whole[part] = content
    write_cifar(tmp_path, whole)
    assert attempt("cifar-fs", tmp_path, size=size) is None


@pytest.mark.parametrize("prefix", ["../", "/", "other/", ""])
def test_a_cifar_archive_with_names_that_lead_outside(tmp_path: Path, prefix: str) -> None:
    (tmp_path / f"{cifar.FOLDER}.tar.gz").write_bytes(tar_gz(cifar_files(), prefix))
    assert attempt("cifar-fs", tmp_path) is None


def test_a_cifar_archive_of_links_and_of_enormous_files(tmp_path: Path) -> None:
    for kind, size in ((tarfile.SYMTYPE, 0), (tarfile.REGTYPE, 1 << 33), (tarfile.DIRTYPE, 0)):
        info = tarfile.TarInfo(f"{cifar.FOLDER}/meta")
        info.type, info.size, info.linkname = kind, size, "/etc/passwd"
        content = gzip.compress(info.tobuf() + bytes(1024))
        (tmp_path / f"{cifar.FOLDER}.tar.gz").write_bytes(content)
        assert attempt("cifar-fs", tmp_path) is None


# miniImageNet


def mini_pickle() -> bytes:
    classes = class_list("miniimagenet", SPLIT)
    images = np.zeros((len(classes), 8, 8, 3), np.uint8)
    images[:, 0, 0, 0] = np.arange(len(classes))
    content = {"image_data": images, "class_dict": {name: [i] for i, name in enumerate(classes)}}
    return pickle.dumps(content, protocol=2)


def damage_mini(root: Path, times: int, seed: int) -> None:
    place = root / "miniimagenet"
    place.mkdir(parents=True)
    for number, content in enumerate(damaged(mini_pickle(), times, seed)):
        (place / f"mini-imagenet-cache-{SPLIT}.pkl").write_bytes(content)
        os.utime(place / f"mini-imagenet-cache-{SPLIT}.pkl", ns=(number, number))
        image_set = attempt("miniimagenet", root, size=8)
        if image_set is not None:
            assert image_set.classes == class_list("miniimagenet", SPLIT)
            assert image_set.class_counts().min() >= 1


def test_damaged_miniimagenet(tmp_path: Path) -> None:
    damage_mini(tmp_path, times=160, seed=0)


@pytest.mark.slow
def test_damaged_miniimagenet_by_the_thousand(tmp_path: Path) -> None:
    damage_mini(tmp_path, times=4000, seed=1)


@pytest.mark.parametrize("rows", [[-1], [99], [], [[0]], [0.0], ["a"], None, 10**30, [10**30]])
def test_a_miniimagenet_whose_classes_have_impossible_images(tmp_path: Path, rows: Any) -> None:
    classes = class_list("miniimagenet", SPLIT)
    content = {
        "image_data": np.zeros((4, 8, 8, 3), np.uint8),
        "class_dict": dict.fromkeys(classes, rows),
    }
    path = tmp_path / "miniimagenet" / f"mini-imagenet-cache-{SPLIT}.pkl"
    path.parent.mkdir()
    path.write_bytes(pickle.dumps(content, 4))
    assert attempt("miniimagenet", tmp_path) is None


# Omniglot


def drawing(number: int) -> bytes:
    """A drawing that says which character it is of: its number in bits, as ink."""
    bits = [(number >> place) & 1 for place in range(16)]
    image = Image.fromarray(np.array(bits, bool).reshape(4, 4))
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def characters() -> list[str]:
    return [name for part in ("train", "val", "test") for name in class_list("omniglot", part)]


def write_omniglot(root: Path, strange: dict[str, bytes] | None = None) -> Path:
    """Two archives, all characters in the first; `strange` entries come before and after them."""
    place = root / "omniglot"
    place.mkdir(parents=True)
    known = {name: number for number, name in enumerate(characters())}
    with zipfile.ZipFile(place / "images_background.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (strange or {}).items():
            archive.writestr(name, content)
        for name in class_list("omniglot", SPLIT):
            archive.writestr(f"images_background/{name}/01.png", drawing(known[name]))
    with zipfile.ZipFile(place / "images_evaluation.zip", "w") as archive:
        archive.writestr("images_evaluation/none/01.png", drawing(0))
    return place


def check_omniglot(image_set: ImageSet | None) -> None:
    """Ink is bright: every drawing that was read says the class it stands under."""
    if image_set is None:
        return
    known = characters()
    for image, label in zip(image_set.images, image_set.labels, strict=True):
        number = sum(int(bit == 0) << place for place, bit in enumerate(image[..., 0].ravel()))
        assert known[number] == image_set.classes[label]


def damage_omniglot(root: Path, times: int, seed: int) -> None:
    place = write_omniglot(root)
    whole = (place / "images_background.zip").read_bytes()
    start = whole.index(b"PK\x01\x02")  # the directory of the archive, most of its structure
    chance = random.Random(seed)
    for number, content in enumerate(damaged(whole[start:], times, seed)):
        body = whole[:start]
        if number % 2:
            body = next(damaged(body, 1, chance.randrange(2**32)))
        (place / "images_background.zip").write_bytes(body + content)
        check_omniglot(attempt("omniglot", root, size=4))


def test_a_whole_omniglot_is_read(tmp_path: Path) -> None:
    write_omniglot(tmp_path)
    image_set = attempt("omniglot", tmp_path, size=4)
    assert image_set is not None
    assert not image_set.skipped
    check_omniglot(image_set)


def test_damaged_omniglot_archives(tmp_path: Path) -> None:
    damage_omniglot(tmp_path, times=48, seed=0)


@pytest.mark.slow
def test_damaged_omniglot_by_the_thousand(tmp_path: Path) -> None:
    damage_omniglot(tmp_path, times=1500, seed=1)


@pytest.mark.parametrize("prefix", ["../", "/", "../images_background/", "C:/", "//x/", ""])
def test_names_that_lead_outside_belong_to_no_character(tmp_path: Path, prefix: str) -> None:
    other = class_list("omniglot", SPLIT)[0]
    write_omniglot(tmp_path, {f"{prefix}{other}/02.png": drawing(0)})
    image_set = attempt("omniglot", tmp_path, size=4)
    assert image_set is not None
    check_omniglot(image_set)
    assert not list(tmp_path.rglob("02.png"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    name = class_list("omniglot", SPLIT)[0]
    write_omniglot(tmp_path, {f"images_background/{name}/01.png": drawing(5)})
    image_set = attempt("omniglot", tmp_path, size=4)
    assert image_set is not None
    assert image_set.class_counts().tolist() == [1] * len(image_set.classes)
    check_omniglot(image_set)


def test_a_zip_bomb_is_refused_by_its_declared_size(tmp_path: Path) -> None:
    name = class_list("omniglot", SPLIT)[0]
    bomb = {f"images_background/{name}/bomb.png": bytes(omniglot.MOST_BYTES + 1)}
    write_omniglot(tmp_path, bomb)
    image_set = attempt("omniglot", tmp_path, size=4)
    assert image_set is not None
    (line,) = image_set.skipped
    assert "bomb.png: " in line
    assert f"above the limit of {omniglot.MOST_BYTES:,}" in line
    check_omniglot(image_set)


def test_a_zip_bomb_that_declares_less_is_not_unpacked_beyond_it(tmp_path: Path) -> None:
    name = f"images_background/{class_list('omniglot', SPLIT)[0]}/bomb.png"
    place = write_omniglot(tmp_path, {name: bytes(8 << 20)})
    archive = place / "images_background.zip"
    content = archive.read_bytes().replace(struct.pack("<I", 8 << 20), struct.pack("<I", 1000))
    archive.write_bytes(content)
    image_set = attempt("omniglot", tmp_path, size=4)
    assert image_set is not None
    assert len(image_set.skipped) == 1


# The cache


def test_a_cache_of_any_content_is_built_again(tmp_path: Path) -> None:
    write_cifar(tmp_path, cifar_files())
    whole = attempt("cifar-fs", tmp_path)
    assert whole is not None
    expected = np.array(whole.images), whole.labels.copy()
    (folder,) = cache.cache_folder().glob("decoded/*/*")
    whole = None  # nor is it open: a damaged one is built again in its place
    contents = [b"", b"{}", b"[]", b"null", b'{"shape": 3}', b"[" * 10_000, b"\xff\xfe"]
    for file in (cache.DESCRIPTION, cache.LABELS, cache.IMAGES):
        good = (folder / file).read_bytes()
        for content in [*contents, *damaged(good[:400], 24, 0)]:
            rest = b"" if content in contents else good[400:]
            if file == cache.IMAGES and len(content + rest) == len(good):
                continue  # pixels are compared when they are read: tests of the cache do
            (folder / file).write_bytes(content + rest)
            again = attempt("cifar-fs", tmp_path)
            assert again is not None
            assert np.array_equal(again.images, expected[0])
            assert np.array_equal(again.labels, expected[1])
            (folder / file).write_bytes(good)
