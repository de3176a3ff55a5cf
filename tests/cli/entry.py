"""The real entry point, as a user types it."""

import os
import re
import subprocess
import sys
from pathlib import Path

ENTRY = Path(sys.executable).with_name("pseudoshot")


def pseudoshot(*arguments: object, root: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PSEUDOSHOT_DATA": str(root or "/nowhere"), "COLUMNS": "200"}
    return subprocess.run(
        [str(ENTRY), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


def refused(result: subprocess.CompletedProcess[str], message: str) -> None:
    """One sentence on standard error, an exit code that is not 0, no traceback."""
    assert result.returncode != 0
    assert re.search(message, result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
