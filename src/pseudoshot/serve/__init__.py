"""A page on this machine on which a person sorts images, and the HTTP interface behind it."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from pseudoshot.tools.errors import PseudoshotError


def serve(
    run: str | Path,
    images: Path | None,
    host: str,
    port: int,
    classifier: str | None = None,
    reading: str | None = None,
) -> None:
    """Answer on http://host:port until interrupted."""
    try:
        import uvicorn

        from pseudoshot.serve.api import build_app
    except ImportError as error:
        raise PseudoshotError(
            f"serve needs {error.name}: pip install 'pseudoshot[serve]'"
        ) from error
    from pseudoshot.serve.session import Session
    from pseudoshot.serve.store import Store, project_file

    listening = _listen(host, port)
    session = Session(run, images, classifier, reading)
    folder = session.folder
    store = Store() if folder is None else Store(project_file(folder), str(folder))
    app = build_app(session.begin(), store, host)
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    with suppress(KeyboardInterrupt):
        print(f"open http://{shown}:{listening.getsockname()[1]} (Ctrl-C ends)", flush=True)
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """Before anything is embedded: an address that cannot be had is told at once."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PseudoshotError(
            f"cannot listen on {host} port {port} ({reason}): give another --host or --port"
        ) from error
    return listening
