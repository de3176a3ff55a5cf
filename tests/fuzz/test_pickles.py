"""Pickles that would run a program, take all memory, or are any bytes at all."""

from __future__ import annotations

import io
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudoshot.data import safe_pickle
from pseudoshot.tools.errors import PseudoshotError

from .damage import one_sentence


class Trap:
    def __init__(self, function: Any, *arguments: object) -> None:
        self.reduced = (function, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


def programs(trace: str) -> dict[str, bytes]:
    """Pickles that would leave a folder `trace` behind if they were run."""
    made = f"(V{trace}\ntR."
    return {
        "system": pickle.dumps({"data": Trap(os.system, f"mkdir {trace}")}, 2),
        "mkdir": pickle.dumps(Trap(os.mkdir, trace), 4),
        "eval": pickle.dumps([Trap(eval, f"__import__('os').mkdir({trace!r})")]),
        "global": f"cos\nmkdir\n{made}".encode(),
        "stack global": b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93\x8c"
        + bytes([len(trace)])
        + trace.encode()
        + b"\x85R.",
        "instance": f"(V{trace}\nios\nmkdir\n.".encode(),
        "object": f"(cos\nmkdir\nV{trace}\no.".encode(),
        "dotted": f"cnumpy\nndarray.__class__\n{made}".encode(),
        "through a stand-in": f"cnumpy\ndtype.__init__.__globals__\n{made}".encode(),
        "a changed stand-in": b"c_codecs\nencode\n}(V__defaults__\n(Va\ntub.",
        "a changed stand-in, by slots": b"c_codecs\nencode\nN}V__doc__\nVx\ns\x86b.",
    }


@pytest.mark.parametrize("name", programs("x"))
def test_a_program_is_never_run(tmp_path: Path, name: str) -> None:
    trace = tmp_path / "t"
    content = programs(str(trace))[name]
    with pytest.raises(PseudoshotError):
        safe_pickle.load(io.BytesIO(content), "the.pkl", "a CIFAR file")
    assert not trace.exists()
    again = pickle.dumps({"data": np.arange(3, dtype=np.uint8)}, 2)
    read = safe_pickle.load(io.BytesIO(again), "the.pkl", "a CIFAR file")
    assert read["data"].tolist() == [0, 1, 2], "the next file is read as ever"


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02}r\xff\xff\xff\x7f.",  # a memo at place 2**31 - 1
        b"\x80\x04\x96" + struct.pack("<Q", 1 << 36) + b".",  # a bytearray of 64 GB
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b".",
        b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"}.",
        b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
        b"I" + b"9" * 10_000 + b"\n.",
    ],
)
def test_a_pickle_that_asks_for_all_memory(content: bytes) -> None:
    try:
        assert safe_pickle.load(io.BytesIO(content), "the.pkl", "a CIFAR file") == {}
    except PseudoshotError as error:
        one_sentence(error)


@given(st.binary(max_size=80))
def test_any_bytes_as_a_pickle(content: bytes) -> None:
    try:
        safe_pickle.load(io.BytesIO(b"\x80\x02}" + content), "the.pkl", "a CIFAR file")
    except PseudoshotError as error:
        one_sentence(error)
