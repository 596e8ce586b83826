"""The page of `c3clust review`: a local server (Starlette, uvicorn) for one run."""

import json
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from c3clust.errors import C3ClustError, InputError, RunError
from c3clust.report.page import TEMPLATES
from c3clust.review.guard import Guard
from c3clust.review.session import Run, Session

__all__ = ["application", "serve"]

PAGE = Path(__file__).with_name("page")
STALE = "The clusters were changed in another window or by a command: look at them again, then repeat this."
SECONDS = 3  # that open connections get when the server ends


def application(session: Session, token: str, port: int) -> Starlette:
    """The ASGI application; every path begins with the token."""
    hosts = frozenset(f"{host}:{port}" for host in ("127.0.0.1", "localhost"))
    routes = [
        Route("/", lambda request: FileResponse(PAGE / "index.html")),
        _get("/api/about", lambda request: session.about()),
        _get("/api/state", lambda request: _state(session, request.query_params.get("version"))),
        _get("/api/sample/{i:int}", lambda request: session.sample(request.path_params["i"])),
        _get("/api/question", lambda request: {"question": session.question()}),
        _post("/api/cards", lambda body: session.cards(_positions(body))),
        _post("/api/like", lambda body: session.like(_positions(body))),
        _post("/api/search", lambda body: session.search(body.get("text", ""))),
        _post("/api/do", lambda body: _do(session, body)),
        _picture("/thumb/{i:int}", session, lambda i: session.shown.thumb(i)),
        _picture("/whole/{i:int}", session, lambda i: session.shown.whole(i)),
        Route("/static/base.css", lambda request: FileResponse(TEMPLATES / "base.css")),
        Mount("/static", StaticFiles(directory=PAGE)),
    ]
    guard = Middleware(Guard, token=token, hosts=hosts)
    return Starlette(routes=[Mount(f"/{token}", routes=routes)], middleware=[guard])


def serve(run: Run, port: int = 0, browser: bool = True, say: Callable[[str], object] = print) -> None:
    """Serve the page of a run until Ctrl-C, on 127.0.0.1 only. port: 0 takes a free one."""
    import uvicorn

    session = Session(run)
    try:
        with _bound(port) as listening:
            token, number = secrets.token_urlsafe(24), listening.getsockname()[1]
            address = f"http://127.0.0.1:{number}/{token}/"
            config = uvicorn.Config(
                application(session, token, number),
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=SECONDS,
            )
            say(f"Review: {address}")
            say("Everything is saved as you do it. Ctrl-C ends the review.")
            if browser:
                threading.Timer(0.5, webbrowser.open, [address]).start()
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listening])
    finally:
        session.close()


def _bound(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()  # a browser that is faster than the server waits
    except (OSError, OverflowError) as error:
        listening.close()
        raise RunError(f"Port {port} cannot be used: {error}. Omit --port to take a free one.") from None
    return listening


def _state(session: Session, version: str | None) -> dict[str, Any]:
    """The clusters, or only their version if the page knows them."""
    now = session.history.now
    return {"ready": session.ready, "version": now.version} if version == str(now.version) else session.state(now)


def _do(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out one action on the clusters that the page shows."""
    values = dict(body)
    action, version = values.pop("action", None), values.pop("version", None)
    if action not in session.actions:
        raise InputError(f"{str(action)[:40]!r} is not an action.")
    before = session.history.now
    if version != before.version:
        return {"error": STALE, **session.state(before)}
    try:
        done = session.actions[action](**values)
    except TypeError:
        raise InputError(f"{action} was requested with values that it does not take.") from None
    return {"followed": done.followed, **session.state(done.now)}


def _positions(body: dict[str, Any]) -> list[int]:
    found = body.get("samples")
    if not isinstance(found, list):
        raise InputError("A list of samples is needed.")
    return found


def _answer(call: Callable[[], Any]) -> Response:
    """JSON of a result, or of the sentence of an error."""
    try:
        content, status = call(), 200
    except C3ClustError as error:
        content, status = {"error": str(error)}, 400
    if isinstance(content, dict) and content.get("error") == STALE:
        status = 409
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Response(text, status, media_type="application/json")


def _get(path: str, call: Callable[[Request], Any]) -> Route:
    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_answer, lambda: call(request))

    return Route(path, endpoint, methods=["GET"])


def _post(path: str, call: Callable[[dict[str, Any]], Any]) -> Route:
    def parsed(raw: bytes) -> Any:
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise InputError("The request is not a JSON object.")
        return call(body)

    async def endpoint(request: Request) -> Response:
        raw = await request.body()
        return await run_in_threadpool(_answer, lambda: parsed(raw))

    return Route(path, endpoint, methods=["POST"])


def _picture(path: str, session: Session, call: Callable[[int], bytes]) -> Route:
    def found(i: int) -> Response:
        if i >= len(session.names) or session.history.now.record.data.get("kind") != "image":
            return Response(status_code=404)
        try:
            content = call(i)
        except C3ClustError:
            return Response(status_code=404)
        return Response(content, media_type="image/webp", headers={"Cache-Control": "private, max-age=86400"})

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(found, request.path_params["i"])

    return Route(path, endpoint, methods=["GET"])
