"""The C files of this folder, compiled once on this machine for this machine; None where that
cannot be done.

Everything works without it, more slowly: a compiler is welcome, not required.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pseudoshot.data.cache import cache_folder
from pseudoshot.tools.files import replaced
from pseudoshot.tools.processor import first_core

SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in ("block.c", "first_block.c", "norm_relu.c", "weight_gradient.c")
)
HEADERS = (Path(__file__).with_name("kernels.h"),)
# Not -ffast-math: linking with it makes the whole process flush subnormal numbers to zero.
FLAGS = (
    *("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"),
    *("-fno-math-errno", "-fno-trapping-math"),  # so that comparisons become vector code
)


_aside = False


@contextmanager
def set_aside() -> Iterator[None]:
    """Within the block modules do all the work: the compiled steps have no second derivative."""
    global _aside
    before, _aside = _aside, True
    try:
        yield
    finally:
        _aside = before


def library() -> ctypes.CDLL | None:
    """The compiled functions, or None where they are set aside or cannot be had."""
    return None if _aside else built()


@functools.cache
def built() -> ctypes.CDLL | None:
    """None: no compiler, no place to write, another kind of system."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or platform.system() == "Windows":
        return None
    try:
        return ctypes.CDLL(str(_built(compiler)))
    except (OSError, subprocess.SubprocessError):
        return None


def compiled_folder() -> Path:
    return cache_folder() / "compiled"


def source_digest() -> str:
    """Which version of the C files this is."""
    texts = (path.read_bytes() for path in (*SOURCES, *HEADERS))
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def _built(compiler: str) -> Path:
    """The shared object, from the cache where it has been built before."""
    # -march=native: another processor must not find what was built for this one
    core = first_core()
    abilities = [core.get(key) for key in _ABILITIES] if core else platform.processor()
    about = (source_digest(), compiler, FLAGS, platform.machine(), abilities)
    path = compiled_folder() / f"{hashlib.sha256(repr(about).encode()).hexdigest()}.so"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary:
            command = [compiler, *FLAGS, *map(str, SOURCES), "-o", str(temporary)]
            subprocess.run(command, check=True, capture_output=True, timeout=120)
    return path


_ABILITIES = ("model name", "flags", "Features")
