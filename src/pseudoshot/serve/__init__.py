"""A page on this machine on which a person sorts images, and the HTTP interface behind it."""

from __future__ import annotations

import gc
import secrets
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from PIL import Image

from pseudoshot.tools.allocator import share_one_arena
from pseudoshot.tools.errors import PseudoshotError


def serve(
    run: str | Path,
    images: Path | None,
    host: str,
    port: int,
    classifier: str | None = None,
    reading: str | None = None,
    names: Sequence[str] = (),
) -> None:
    """Answer on http://host:port until interrupted.

    On an address that others can reach, whoever has the token of the printed address is let in.
    """
    try:
        from pseudoshot.serve.api import build_app
        from pseudoshot.serve.running import Server
    except ImportError as error:
        raise PseudoshotError(
            f"serve needs {error.name}: pip install 'pseudoshot[serve]'"
        ) from error
    from pseudoshot.serve.security import is_loopback, names_of
    from pseudoshot.serve.session import Session
    from pseudoshot.serve.store import Store, project_file

    share_one_arena()
    listening = _listen(host, port)
    address, port = listening.getsockname()[:2]
    token = None if is_loopback(address) else secrets.token_urlsafe(24)
    session = Session(run, images, classifier, reading)
    folder = session.folder
    store = Store() if folder is None else Store(project_file(folder), str(folder))
    called = names_of(host, listening, names)
    app = build_app(session, store, called, token, f"pseudoshot-{port}")
    session.begin()
    gc.freeze()  # what is there now stays: not to be looked through while clients wait
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # there are limits of our own
    # uvicorn raises the signal again once it has ended, which would end us before the rest is done
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    server = Server(app, session.discard)
    with suppress(KeyboardInterrupt):
        print(f"open {_shown(host, port, token)} (Ctrl-C ends)", flush=True)
        try:
            server.run(sockets=[listening])
        finally:
            session.close()
            store.close()
            server.leave()


def _shown(host: str, port: int, token: str | None) -> str:
    """The address to open: of a server on all addresses, the machine's name."""
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}" + (f"/?token={token}" if token else "")


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
