"""Sets larger than memory: a process that may not grow decodes one, lists one, trains on one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pseudoshot.data import cache, load
from pseudoshot.data.checked import write_digests
from pseudoshot.data.from_files import Encoded, Form, Listing, identity_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are the kernel's")

MB = 1 << 20
# What follows may allocate so much more than is held once everything is imported and warm.
LIMITED = """
import resource, sys, time
from pathlib import Path

def may_grow_by(megabytes):
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (held + (megabytes << 20),) * 2)
"""
DECODES = """
from pseudoshot.data import load
warm, data, size, megabytes = sys.argv[1:]
load(warm, size=int(size))
may_grow_by(int(megabytes))
image_set = load(data, size=int(size))
print(len(image_set), image_set.images.nbytes, int(image_set.images[-1].sum()))
"""
TRAINS = """
from pseudoshot.runs import train
warm, data, out, megabytes = sys.argv[1:]
options = {"recipe": "paper", "size": 16, "images": 8, "query": 1, "tasks": 4, "epochs": 1}
options["episodes_per_epoch"] = 5
train(warm, out + "-warm", **options)
may_grow_by(int(megabytes))
train(data, out, **options)
try:
    bytearray(int(megabytes) << 20)
except MemoryError:
    print("trained within the limit")
"""


def run(code: str, *arguments: object) -> str:
    """What a process of its own prints; it has one thread and one arena, so that limits bite."""
    single = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **single},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def many_files(path: Path, count: int) -> Path:
    """Files that are a few images under many names."""
    path.mkdir(parents=True)
    originals = []
    for seed in range(4):
        pixels = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        originals.append(path / f"{seed}.png")
        Image.fromarray(pixels).save(originals[-1])
    for number in range(4, count):
        if number % 30_000 < 4:  # an image may have only so many names
            content = originals[number % 4].read_bytes()
            originals[number % 4] = path / f"{number}.png"
            originals[number % 4].write_bytes(content)
        else:
            os.link(originals[number % 4], path / f"{number}.png")
    return path


def decode_many(tmp_path: Path, count: int, size: int, megabytes: int) -> None:
    warm = many_files(tmp_path / "warm", 40)
    data = many_files(tmp_path / "many", count)
    images, decoded, _ = map(int, run(DECODES, warm, data, size, megabytes).split())
    assert images == count
    assert decoded > 4 * megabytes * MB, "else it would be no test"


def test_a_folder_several_times_the_limit_is_decoded(tmp_path: Path) -> None:
    decode_many(tmp_path, count=1500, size=256, megabytes=64)


@pytest.mark.slow
def test_a_folder_of_many_files_is_decoded(tmp_path: Path) -> None:
    decode_many(tmp_path, count=300_000, size=32, megabytes=200)


def cached_set(data: Path, count: int, size: int) -> None:
    """A set in the cache as if `data` had been decoded: its images a file without content."""
    many_files(data, 4)
    name = str(data.resolve())
    load(name, size=size)
    identity = identity_of(data, Form(size))
    (place,) = cache.versions_in(cache.place_of(name, identity))
    with (place / cache.IMAGES).open("wb") as images:
        images.truncate(count * size * size * 3)
        images.write(np.random.default_rng(0).integers(0, 256, MB, dtype=np.uint8).data)
    description = json.loads((place / cache.DESCRIPTION).read_text())
    description |= {"shape": (count, size, size, 3), "files": ()}
    (place / cache.DESCRIPTION).write_text(json.dumps(description))
    write_digests(place, cache.IMAGES, count, [cache.DESCRIPTION])


def train_on_many(tmp_path: Path, count: int, megabytes: int) -> None:
    assert count * 16 * 16 * 3 > 4 * megabytes * MB, "else it would be no test"
    warm = many_files(tmp_path / "warm", 60)
    cached_set(tmp_path / "large", count, size=16)
    shown = run(TRAINS, warm, tmp_path / "large", tmp_path / "run", megabytes)
    assert "trained within the limit" in shown
    assert (tmp_path / "run" / "model.safetensors").is_file()


@pytest.mark.slow
def test_training_on_a_set_several_times_the_limit(tmp_path: Path) -> None:
    train_on_many(tmp_path, count=1_500_000, megabytes=256)


@pytest.mark.slow
def test_training_on_a_set_of_millions(tmp_path: Path) -> None:
    train_on_many(tmp_path, count=10_000_000, megabytes=900)


def held_per_file(count: int) -> float:
    names = (f"class{i % 100:03d}/image_{i:010d}.jpg" for i in range(count))
    tracemalloc.start()
    try:
        listing = Listing(Encoded(name, (1000, 10**18), Path, name[:8]) for name in names)
        held = tracemalloc.get_traced_memory()[0] / count
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        listing.version(listing.keys())
        hashing = tracemalloc.get_traced_memory()[1] - before
        assert hashing < 4 * MB + 64 * count, "two small digests of each, and no text of all"
        return held
    finally:
        tracemalloc.stop()


def test_a_listed_file_takes_little_more_than_its_name() -> None:
    name = sys.getsizeof("class000/image_0000000000.jpg")
    assert held_per_file(30_000) < name + 64


@pytest.mark.slow
def test_a_million_listed_files_take_no_more_each() -> None:
    assert held_per_file(1_000_000) < sys.getsizeof("class000/image_0000000000.jpg") + 64
