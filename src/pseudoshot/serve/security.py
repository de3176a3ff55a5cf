"""Who is let in: by which name the server was called, from which page, with which token.

On a loopback address whoever is on this machine is let in, but no page of another site: neither by
its scripts (Origin) nor by a picture or a frame in it (Sec-Fetch-Site), nor under a name that leads
here without being ours (Host). On any other address a token is needed too.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Iterable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob: data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
_NOBODY_ELSE = ("same-origin", "none")  # Sec-Fetch-Site of our own page, of an address typed in


class Gate:
    """In front of everything else; `token` is None where the loopback address is enough."""

    def __init__(
        self, app: ASGIApp, names: Iterable[str], token: str | None, cookie: str = "pseudoshot"
    ) -> None:
        self.app, self.token, self.cookie = app, token, cookie
        self.names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = MutableHeaders(scope=message)
                added.update(HEADERS)
                added.setdefault("Cache-Control", "no-store")
                if self.token is not None and refusal is None and self._in_address(scope):
                    added.append("Set-Cookie", self._as_cookie())
            await send(message)

        await (refusal or self.app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        if host_of(headers.get("host", "")) not in self.names:
            return _no(400, "this server is not called so: give --name NAME to let it be")
        if _of_another_page(headers) or _within_another_page(scope, headers):
            return _no(403, "another site's page may not ask this server")
        if self.token is not None and not self._shows_token(scope, headers):
            return _no(401, "open the address that the server printed, which has a token in it")
        return None

    def _shows_token(self, scope: Scope, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return True
        cookies: SimpleCookie = SimpleCookie()
        with suppress(CookieError):
            cookies.load(headers.get("cookie", ""))
        found = cookies.get(self.cookie)
        return self._in_address(scope) or (found is not None and self._is_token(found.value))

    def _in_address(self, scope: Scope) -> bool:
        """Only the page's own address may have it; afterwards there is the cookie."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return self._is_token(given[0])

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), (self.token or "").encode())

    def _as_cookie(self) -> str:
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def host_of(host: str) -> str:
    """Without the port.

    >>> host_of("[::1]:8000"), host_of("Photos.local:80")
    ('[::1]', 'photos.local')
    """
    if host.startswith("["):
        return "".join(host.partition("]")[:2]).lower()
    return host.partition(":")[0].lower()


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def names_of(host: str, listening: socket.socket, others: Iterable[str]) -> list[str]:
    """By which the server may be called: its address, those given, and of a server on all addresses
    those of the machine."""
    found = [*LOOPBACK, _in_brackets(host), *others]
    if ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_unspecified:
        found += [socket.gethostname(), socket.getfqdn(), *map(_in_brackets, _own_addresses())]
    return list(dict.fromkeys(found))


def _own_addresses() -> list[str]:
    """Those of the machine's name, and those that packets to elsewhere would leave from."""
    found: list[str] = []
    with suppress(OSError):
        known = socket.getaddrinfo(socket.gethostname(), None)
        found += [str(address[4][0]).partition("%")[0] for address in known]
    elsewhere = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
    for family, address in elsewhere:  # reserved for documentation: nothing is sent
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            found.append(str(probe.getsockname()[0]))
    return found


def _in_brackets(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _of_another_page(headers: Headers) -> bool:
    """A browser says which site a script came from; programs say nothing."""
    origin = headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc != headers.get("host")
    except ValueError:  # no address at all
        return True


def _within_another_page(scope: Scope, headers: Headers) -> bool:
    """A picture, a script or a frame; a link to the page itself may stand anywhere."""
    if headers.get("sec-fetch-site", "none") in _NOBODY_ELSE:
        return False
    opened = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    to_the_page = scope["path"] == "/" and scope["method"] == "GET"
    return not (to_the_page and opened == ("navigate", "document"))


def _no(code: int, detail: str) -> JSONResponse:
    return JSONResponse({"detail": detail, "stale": False}, code)
