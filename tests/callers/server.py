"""A provider on the loopback that answers from a script and remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Say:
    """One answer. `cut` sends so many bytes of the body and hangs up; `wait` sleeps first; `drip` sends byte by byte
    with that pause, until the client has gone; `length` set to False leaves Content-Length out and just ends;
    `raw` is sent instead of everything else."""

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    cut: int | None = None
    drip: float = 0.0
    drip_headers: float = 0.0
    raw: bytes = b""
    hang_up: bool = False
    length: bool = True

    @property
    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Heard:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Say] = []
        self.heard: list[Heard] = []
        self.gone = threading.Event()
        """Set when a client went away while it was being answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def says(self, *script: Say) -> None:
        """The last answer is repeated."""
        self.script, self.heard = list(script), []
        self.gone.clear()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.heard.append(Heard(self.command, self.path, headers, body))
        script = self.server.script
        self.close_connection = True
        self._answer(script.pop(0) if len(script) > 1 else script[0])

    def _answer(self, say: Say) -> None:
        if say.hang_up:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if say.raw:
            self.wfile.write(say.raw)
            return
        if say.wait:
            time.sleep(say.wait)
        if say.drip_headers:
            self._drip(b"HTTP/1.1 200 OK\r\nx-slow: " + b"a" * 10_000, say.drip_headers)
            return
        self.send_response_only(say.status)
        for name, value in {"content-type": "application/json", **say.headers}.items():
            self.send_header(name, value)
        if say.length:
            self.send_header("content-length", str(len(say.data)))
        self.end_headers()
        data = say.data if say.cut is None else say.data[: say.cut]
        self._drip(data, say.drip) if say.drip else self.wfile.write(data)

    def _drip(self, data: bytes, pause: float) -> None:
        try:
            for index in range(len(data)):
                self.wfile.write(data[index : index + 1])
                self.wfile.flush()
                time.sleep(pause)
        except OSError:
            self.server.gone.set()


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port nobody listens on. It is held, so that meanwhile nobody else gets it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
