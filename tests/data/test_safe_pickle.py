"""Pickles of the three eras are read, and nothing they name is called."""

from __future__ import annotations

import codecs
import io
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pseudoshot.data import safe_pickle
from pseudoshot.tools.errors import PseudoshotError


def read(content: bytes) -> dict[str, Any]:
    return safe_pickle.load(io.BytesIO(content), "the.pkl", "a CIFAR file")


def refused(value: object) -> str:
    with pytest.raises(PseudoshotError) as caught:
        read(pickle.dumps(value, protocol=2))
    return str(caught.value)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "<i8", ">i4", "f4", "?"])
def test_arrays_and_containers_come_back(protocol: int, dtype: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype)
    content = {
        "c": array,
        b"fortran": np.asfortranarray(array),
        "scalars": [np.int64(3), np.float32(0.5)],
        "plain": {"names": ["a", b"b"], "none": None, "pair": (1, 2.0)},
    }
    back = read(pickle.dumps(content, protocol))
    for key in ("c", "fortran"):
        assert back[key].dtype == array.dtype.newbyteorder("=")
        assert np.array_equal(back[key], array)
    assert back["scalars"] == [3, 0.5]
    assert back["plain"] == {"names": ["a", b"b"], "none": None, "pair": (1, 2.0)}


def test_a_python_2_pickle_is_read() -> None:
    """Byte strings as opcode U and T, numpy under its old name: the official CIFAR files."""
    pixels = bytes(range(6))
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02K\x03\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89T" + struct.pack("<i", len(pixels)) + pixels + b"tb"
    )
    back = read(b"\x80\x02}(U\x04data" + array + b"U\x05names](U\x05appleU\x04beareu.")
    assert back["data"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [safe_pickle.text(name) for name in back["names"]] == ["apple", "bear"]


class Calls:
    def __init__(self, function: Any, *arguments: object) -> None:
        self.reduced = (function, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


def test_a_call_is_refused_and_not_made(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    message = refused({"data": Calls(os.mkdir, str(trace))})
    assert "mkdir, which a CIFAR file never does: not loaded" in message
    assert not trace.exists()


@pytest.mark.parametrize(
    "value",
    [
        Calls(eval, "1"),
        Calls(getattr, "x", "upper"),
        Calls(np.load, "file.npy"),
        Calls(np.frombuffer, b"1"),
        Path("/etc"),
        np.random.default_rng(0),
    ],
)
def test_no_other_name_is_admitted(value: object) -> None:
    assert "never does: not loaded" in refused({"data": value})


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, "a", None], dtype=object),
        np.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]),
        np.array(["text"]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
    ],
)
def test_arrays_of_anything_but_numbers_are_refused(array: np.ndarray) -> None:
    message = refused({"data": array})
    assert "not of numbers" in message or "never does" in message


def test_an_array_with_less_content_than_it_claims_is_refused() -> None:
    whole = pickle.dumps({"data": np.zeros(200, np.uint8)}, protocol=3)
    assert whole.count(b"K\xc8\x85") == 1  # the shape, (200,)
    with pytest.raises(PseudoshotError, match="not loaded"):
        read(whole.replace(b"K\xc8\x85", b"K\xc9\x85"))


def test_bytes_in_another_encoding_are_refused() -> None:
    assert "not loaded" in refused({"data": Calls(codecs.encode, "a" * 99, "zip")})


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps({"a": [1] * 99})[:-9]])
def test_a_damaged_pickle(content: bytes) -> None:
    with pytest.raises(PseudoshotError, match=r"the\.pkl is not a CIFAR file"):
        read(content)


def test_a_pickle_of_something_else() -> None:
    assert "holds a list" in refused([1, 2])
