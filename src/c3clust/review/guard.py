"""Guard: who may talk to the page. Reachable from this computer only; every address begins with a random token.

Host and Origin are compared, so that neither a page of another site nor a name that somebody points to 127.0.0.1 can
read or change anything.
"""

import hmac
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard"]

MOST = 8_000_000  # bytes of a request
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Guard:
    """ASGI middleware. hosts: the values of Host that are accepted; token: the first part of every path."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused = self._refused(scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({"Cache-Control": "no-store", **HEADERS, **dict(_kept(headers))})
            await send(message)

        answer: Any = PlainTextResponse(refused, 403) if refused else self.app
        await answer(scope, receive, send_guarded)

    def _refused(self, scope: Scope) -> str:
        """Why a request is refused; "" if it is not."""
        headers = Headers(scope=scope)
        host, origin, method = headers.get("host", ""), headers.get("origin"), scope["method"]
        given = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if host not in self.hosts:
            return "This page is served to this computer only."
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "Open the address that c3clust review printed: it contains the key to this page."
        if origin not in ((f"http://{host}",) if method == "POST" else (None, f"http://{host}")):
            return "Requests of other pages are refused."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "Requests of other pages are refused."
        if method == "POST" and headers.get("content-type", "").split(";")[0] != "application/json":
            return "A request must be JSON."
        length = headers.get("content-length", "0" if method != "POST" else "")
        if not length.isdecimal() or int(length) > MOST:
            return f"A request must have at most {MOST:,} bytes."
        return ""


def _kept(headers: MutableHeaders) -> list[tuple[str, str]]:
    """Thumbnails may be kept by the browser, everything else is asked for again."""
    found = headers.get("cache-control")
    return [("Cache-Control", found)] if found else []
