"""Every test here has a cache of its own, and a time after which it counts as hung."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS, SECONDS_OF_THE_SLOW = 120, 1800


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PSEUDOSHOT_DATA", raising=False)


@pytest.fixture(autouse=True)
def _never_a_hang(request: pytest.FixtureRequest) -> Iterator[None]:
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def hung(_number: int, _frame: object) -> None:
        raise TimeoutError("it hangs")

    slow = request.node.get_closest_marker("slow") is not None
    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(SECONDS_OF_THE_SLOW if slow else SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
