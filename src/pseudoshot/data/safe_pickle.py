"""Reads pickled arrays without trusting the file: nothing it names is ever called.

A pickle is a program. The data sets of the field are published as pickles all the same, so the few
names such a file needs resolve to the stand-ins below, which make plain arrays of numbers, and no
other name resolves at all.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import IO, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pseudoshot.tools.errors import PseudoshotError

MOST_ROWS = 1 << 40


class _RefusedError(Exception):
    """What the file asked for and does not get."""


class _Dtype:
    """Stands in for numpy.dtype: remembers what the file asks for, admits numbers only."""

    def __init__(self, code: str | bytes, *_flags: object) -> None:
        self._code = text(code)
        self._order = ""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = text(state[1])
        self._order = order if order in ("<", ">") else ""

    def plain(self) -> np.dtype[Any]:
        dtype = np.dtype(self._code)
        if dtype.kind not in "biuf":
            raise _RefusedError(f"an array of '{self._code}', not of numbers")
        return np.dtype(self._order + self._code)


class _Array(np.ndarray[Any, np.dtype[Any]]):
    """An array that takes its content from the file once it is known to be what it says."""

    def __setstate__(self, state: Any) -> None:
        _version, shape, dtype, fortran, data = state
        plain = dtype.plain()
        if not all(type(side) is int and 0 <= side <= MOST_ROWS for side in shape):
            raise _RefusedError("an array of a shape that no array has")
        if not isinstance(data, bytes) or len(data) != math.prod(shape) * plain.itemsize:
            raise _RefusedError(f"an array of shape {tuple(shape)} with other content")
        state = (1, tuple(shape), plain, bool(fortran), data)
        super().__setstate__(state)


def _reconstruct(_subtype: object, _shape: object, _code: object) -> npt.NDArray[Any]:
    return _Array((0,), np.uint8)


def _scalar(dtype: _Dtype, data: bytes) -> Any:
    return np.frombuffer(data, dtype.plain(), count=1)[0].item()


def _encode(characters: str, encoding: str) -> bytes:
    """How protocol 2 writes bytes."""
    if encoding != "latin1":
        raise _RefusedError(f"text in the encoding '{encoding}'")
    return characters.encode("latin1")


class _Function:
    """A stand-in that a file can call, and not change: what one file does is gone with it."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, _state: object) -> None:
        raise _RefusedError("a change of what reads it")


_STAND_INS = {
    ("numpy", "ndarray"): "numpy.ndarray",  # only ever handed to _reconstruct, which needs it not
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _Function(_encode),
    **{
        (module, name): stand_in
        for module in ("numpy.core.multiarray", "numpy._core.multiarray")
        for name, stand_in in (
            ("_reconstruct", _Function(_reconstruct)),
            ("scalar", _Function(_scalar)),
        )
    },
}


# Opcodes that no file of numbers has: they make objects, ask others for them, or take memory that
# the file has no content for.
_NEVER = (
    *(pickle.INST, pickle.OBJ, pickle.NEWOBJ, pickle.NEWOBJ_EX, pickle.PERSID, pickle.BINPERSID),
    *(pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.BYTEARRAY8, pickle.NEXT_BUFFER),
    *(pickle.READONLY_BUFFER, pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET),
)


class _Unpickler(pickle._Unpickler):
    """The one written in Python: that in C makes room for as many memos as a file says it has."""

    dispatch: ClassVar = {
        opcode: step
        for opcode, step in pickle._Unpickler.dispatch.items()
        if bytes([opcode]) not in _NEVER
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _STAND_INS:
            raise _RefusedError(f"{module}.{name}")
        return _STAND_INS[module, name]


def load(file: IO[bytes], path: object, kind: str) -> dict[str, Any]:
    """The dictionary pickled in `file`, its keys as text; `kind` is what the file should be.

    Raises PseudoshotError for a file that names anything but arrays of numbers and containers.
    """
    try:
        content = _Unpickler(file, encoding="bytes").load()
    except _RefusedError as refused:
        raise PseudoshotError(
            f"{path} contains {brief(refused)}, which {kind} never does: not loaded"
        ) from refused
    except Exception as error:  # a broken pickle raises whatever its broken opcode leads to
        raise PseudoshotError(f"{path} is not {kind}, or a damaged one ({brief(error)})") from error
    if not isinstance(content, dict):
        raise PseudoshotError(f"{path} holds a {type(content).__name__}; {kind} holds a dictionary")
    return {text(key): value for key, value in content.items() if isinstance(key, str | bytes)}


def text(value: str | bytes) -> str:
    """Text, which Python 2 pickled as bytes."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    raise TypeError(f"text was expected, not a {type(value).__name__}")


def brief(error: Exception) -> str:
    """One line, however much of the file the error quotes."""
    line = " ".join(str(error).split()) or type(error).__name__
    return line if len(line) <= 100 else f"{line[:99]}…"
