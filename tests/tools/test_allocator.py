"""Freed memory is handed back, whichever thread had it."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Threads hold large blocks as a decoder does, one thread after the other, and let them go.
PROGRAM = """
import ctypes, re, threading
from pathlib import Path
from pseudoshot.tools.allocator import keep_freed_memory, return_freed_memory, share_one_arena

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = libc.malloc.argtypes = [ctypes.c_size_t]
taken, free = threading.Barrier(8), threading.Barrier(8)

def hold():
    blocks = [libc.malloc(16 << 20) for _ in range(3)]
    for block in blocks:
        ctypes.memset(block, 1, 16 << 20)
    taken.wait()  # all at once: each has an arena, where it may
    for block in blocks:
        libc.free(block)
    free.wait()

share_one_arena()  # without it about 380 MB stay
keep_freed_memory()
before = resident()
threads = [threading.Thread(target=hold) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
return_freed_memory()
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_what_threads_free_is_handed_back_where_they_share_an_arena():
    command = [sys.executable, "-c", PROGRAM]
    kept = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert kept < 20  # of 384 MB
