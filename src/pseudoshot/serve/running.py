"""uvicorn, made impatient: with clients that send or read too slowly, and at its own end."""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS = 10.0  # seconds in which a request's headers must be there
READING = 30.0  # seconds in which a client must go on reading its answer
IDLE = 10  # seconds that a connection is kept without a request
GRACE = 1  # seconds that requests are given once the server is to end
LAST = 2.0  # seconds after which it ends whatever still runs
AFTER_ALL = 2.0  # seconds later, should no thread of Python have come to its turn by then


class ImpatientProtocol(H11Protocol):
    """uvicorn itself has time limits for idle connections alone, not for half-sent requests."""

    _late: asyncio.TimerHandle | None = None  # until the headers are there
    _stuck: asyncio.TimerHandle | None = None  # until the answer is read on

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(HEADERS, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._headers_are_there()
        elif self._late is None:  # the next request has begun, and its headers have not ended
            self._late = self.loop.call_later(HEADERS, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self._stuck or self.loop.call_later(READING, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_read_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_are_there()
        self._is_read_on()
        super().connection_lost(exc)

    def _headers_are_there(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _is_read_on(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None


class Server(uvicorn.Server):
    """Ends within seconds of SIGTERM or Ctrl-C: what was acknowledged is on the disk by then, and
    a thread that is still decoding some image holds nothing that anybody was promised."""

    def __init__(self, app: Any, last_wish: Callable[[], None]) -> None:
        self._last_wish = last_wish
        self._asked_by: int | None = None  # the signal that ends it
        config = uvicorn.Config(
            app,
            http=ImpatientProtocol,
            ws="none",
            loop="asyncio",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=GRACE,
        )
        super().__init__(config)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        first, self._asked_by = self._asked_by is None, sig
        super().handle_exit(sig, frame)
        if first:
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # of what is cut short
            nowhere = Path(os.devnull).open("wb")  # noqa: SIM115 (it is needed until the end)
            faulthandler.dump_traceback_later(LAST + AFTER_ALL, exit=True, file=nowhere)
            timer = threading.Timer(LAST, self._end, (sig,))
            timer.daemon = True
            timer.start()

    def leave(self) -> None:
        """End the process, if it was asked to end: nothing is left to be done, but the interpreter
        would wait for threads that decode, and then take torch apart for seconds."""
        if self._asked_by is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_exit_code(self._asked_by))

    def _end(self, sig: int) -> None:
        try:
            self._last_wish()
        finally:
            os._exit(_exit_code(sig))


def _exit_code(sig: int) -> int:
    return 0 if sig == signal.SIGINT else 128 + sig
