"""The MCP server over HTTP, for this machine alone.

    request ── Guard: the token, in a header or in the path ── mcp: Host and Origin ── the tools

It listens on the loopback address only. Every web page can send requests there, so a token is needed, and Host and
Origin must be this server's own: a page whose name was made to point here has another.
"""

from __future__ import annotations

import hmac
import re
import secrets
import socket
from collections.abc import Callable

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from foldline.errors import FoldlineError, InputError
from foldline.mcp.server import build
from foldline.tools import Desk

HOST = "127.0.0.1"
PATH = "/mcp"
BODY = 1 << 20
"""Bytes of a request: the longest arguments, many times over."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{22,200}")
"""128 bits at least, in characters that need no escape in a path."""
_DENIED = "Denied: the token is missing or wrong. Send 'Authorization: Bearer <token>'; it was printed at the start.\n"


class Guard:
    """Lets through whoever has the token, as a bearer or as the first part of the path."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._bearer = f"Bearer {token}".encode()
        self._path = f"/{token}{PATH}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} here")  # uvicorn is told to speak nothing else
        elif _same(scope["path"].encode("utf-8", "replace"), self._path):
            await self._app({**scope, "path": PATH, "raw_path": PATH.encode()}, receive, send)
        elif self._has_bearer(scope):
            await self._app(scope, receive, send)
        else:
            denied = PlainTextResponse(_DENIED, 401, {"WWW-Authenticate": "Bearer"})
            await denied(scope, receive, send)

    def _has_bearer(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and _same(given[0], self._bearer)


def _same(given: bytes, wanted: bytes) -> bool:
    """Compares without telling by its time how much was right."""
    return hmac.compare_digest(given, wanted)


def application(desk: Desk, port: int, token: str) -> ASGIApp:
    """The tools behind the guard, for a server at this port."""
    names = [f"{HOST}:{port}", f"localhost:{port}"]
    inside = build(desk).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,  # the tools keep nothing between calls
        max_request_body_size=BODY,
        transport_security=TransportSecuritySettings(
            allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
        ),
    )
    return Guard(inside, token)


def run_http(desk: Desk, port: int, announce: Callable[[str, str], None], token: str | None) -> None:
    token = token or secrets.token_urlsafe(32)
    if not _TOKEN.fullmatch(token):
        raise InputError(
            "the token must have 22 to 200 letters, digits, - or _; set FOLDLINE_MCP_TOKEN to such a one, or unset it"
        )
    with _listening(port) as listener:
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            application(desk, port, token),
            access_log=False,  # a path may hold the token
            log_level="warning",
            server_header=False,
            ws="none",
        )
        announce(f"http://{HOST}:{port}{PATH}", token)
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)  # before the address is told: whoever reads it may connect at once
    except OSError as error:
        listener.close()
        raise FoldlineError(f"port {port} of {HOST} cannot be had ({error.strerror}); give another --port") from None
    return listener
