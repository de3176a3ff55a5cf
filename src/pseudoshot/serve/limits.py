"""What the server refuses before it looks at it: bodies too large, requests of other sites."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Limits:
    """Counts what is received: a length that is declared may be wrong or missing."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, received = Headers(scope=scope), 0
        too_much = f"more than {self.most / 2**20:.0f} MB in one request"

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.most:
                raise HTTPException(413, too_much)  # where the application reads, and answers
            return message

        declared = headers.get("content-length", "0")
        if _from_elsewhere(headers):
            refusal = JSONResponse({"detail": "another site's page may not ask this server"}, 403)
            await refusal(scope, receive, send)
        elif declared.isdecimal() and int(declared) > self.most:
            await JSONResponse({"detail": too_much}, 413)(scope, receive, send)
        else:
            await self.app(scope, counted, send)


def _from_elsewhere(headers: Headers) -> bool:
    """A browser says which site a page came from; programs say nothing."""
    origin = headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc != headers.get("host")
    except ValueError:  # no address at all
        return True
