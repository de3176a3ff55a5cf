"""The command line: as a user types it, in a process of its own, or its entry point called here."""

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from pseudoshot.cli import main

ENTRY = Path(sys.executable).with_name("pseudoshot")


def _environment(root: Path | None) -> dict[str, str]:
    return {**os.environ, "PSEUDOSHOT_DATA": str(root or "/nowhere"), "COLUMNS": "200"}


def pseudoshot(*arguments: object, root: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ENTRY), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=_environment(root),
        timeout=300,
        check=False,
    )


def here(*arguments: object, root: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The same without a new process, which takes seconds to start: for many ways to be refused."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape") for _ in range(2))
    command = [str(ENTRY), *map(str, arguments)]
    with (
        mock.patch.dict(os.environ, _environment(root)),
        mock.patch.object(sys, "argv", command),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err) if not stream.flush()]
    return subprocess.CompletedProcess(command, code, *texts)


def refused(result: subprocess.CompletedProcess[str], message: str) -> None:
    """One sentence on standard error, an exit code that is not 0, no traceback."""
    assert result.returncode != 0
    assert re.search(message, result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
