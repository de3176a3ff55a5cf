"""What a request may take: bytes, by what it is for, and time until all of it is there."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SILENCE = 15.0  # seconds without a byte of a body that has not ended
WHOLE = 300.0  # seconds for all of it

_SMALL = 64 << 10
MOST_BYTES = {
    "/images": 64 << 20,
    "/embed": 64 << 20,
    "/project/import": 16 << 20,
    "/project/changes": 4 << 20,
    "/classify": 1 << 20,
}


class Limits:
    """Counts what is received: a length that is declared may be wrong or missing."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = MOST_BYTES.get(scope["path"], _SMALL)
        body = _Body(receive, most)
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > most:
            refusal = JSONResponse({"detail": body.too_much, "stale": False}, 413)
            await refusal(scope, receive, send)
        else:
            await self.app(scope, body.receive, send)


class _Body:
    """A body on its way in."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most = receive, most
        self._received, self._ended = 0, False
        self._until = asyncio.get_running_loop().time() + WHOLE
        size = f"{most >> 20} MB" if most >> 20 else f"{most >> 10} kB"
        self.too_much = f"more than {size} in one request of this kind"

    async def receive(self) -> Message:
        """Errors are raised where the application reads, and answered by it."""
        if self._ended:  # what comes now is that the client has gone, at any time
            return await self._receive()
        left = self._until - asyncio.get_running_loop().time()
        try:
            message = await asyncio.wait_for(self._receive(), min(SILENCE, max(left, 0.0)))
        except TimeoutError as error:
            raise HTTPException(408, "the request did not arrive in time") from error
        self._received += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._received > self._most:
            raise HTTPException(413, self.too_much)
        return message
