"""What every test shares: a cache of the session's own, and the real data where there is any."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import hypothesis
import pytest

import pseudoshot.tools.threads  # noqa: F401 (before the tests import torch)


def pytest_configure(config: pytest.Config) -> None:
    """The user's cache is never touched, by tests or by the examples in docstrings."""
    folder = tempfile.TemporaryDirectory(prefix="pseudoshot-tests-", ignore_cleanup_errors=True)
    os.environ["PSEUDOSHOT_CACHE"] = folder.name
    config.add_cleanup(folder.cleanup)
    hypothesis.settings.register_profile("shared machine", deadline=None)
    hypothesis.settings.load_profile("shared machine")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the real image sets; a test that asks for it is skipped where there is none."""
    folder = os.environ.get("PSEUDOSHOT_DATA")
    if not folder:
        pytest.skip("PSEUDOSHOT_DATA does not point to the real image sets")
    return Path(folder)
