"""The command line: what a user types, and nothing else. No logic lives here."""

from __future__ import annotations

import sys

from cyclopts import CycloptsError

from pseudoshot.cli import cache, images, research, study  # noqa: F401 (each adds its commands)
from pseudoshot.cli.app import app
from pseudoshot.tools.console import console, shown
from pseudoshot.tools.errors import PseudoshotError, StoppedError


def main() -> None:
    """The entry point: an error a user can put right is one sentence and exit code 1."""
    try:
        app(sys.argv[1:], exit_on_error=False, print_error=False)
    except CycloptsError as error:  # what was typed is no command, option or value
        console.print(shown(f"pseudoshot: {error}"), style="red", soft_wrap=True, markup=False)
        sys.exit(1)
    except StoppedError as error:
        console.print(shown(f"pseudoshot: {error}"), soft_wrap=True, markup=False)
        sys.exit(error.code)
    except PseudoshotError as error:
        console.print(shown(f"pseudoshot: {error}"), style="red", soft_wrap=True, markup=False)
        sys.exit(1)
    except OSError as error:  # a full disk, a folder that may not be written
        console.print(shown(f"pseudoshot: {error}"), style="red", soft_wrap=True, markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("interrupted; a training continues with --resume")
        sys.exit(130)
