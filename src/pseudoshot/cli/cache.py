"""The command that shows what is kept on this machine, and clears it."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from pseudoshot.cli.app import app


@app.command
def cache(
    *,
    clear: Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())] = None,
) -> None:
    """Show what is kept on this machine, where, and how large it is: images that were decoded once,
    steps that were compiled, and the projects of the page.

    Parameters
    ----------
    clear
        Delete what is named: decoded, compiled, all (both of these), or a name that is shown. What
        another process uses is left. Projects are work, and are deleted by their names alone.
    """
    from pseudoshot.runs.kept import all_kept
    from pseudoshot.runs.kept import clear as clear_kept
    from pseudoshot.runs.tables import print_cleared, print_kept

    if clear is None:
        print_kept(all_kept())
    for what in clear or ():
        print_cleared(clear_kept(what))
