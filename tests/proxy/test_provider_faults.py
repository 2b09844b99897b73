"""Whatever a provider does wrong, by raw bytes: each turn is delivered, or fails in the provider's own shape.

same     status and body as the provider sent them
shaped   nothing of use came: an error of ours, in the words of that provider
cut      the answer breaks off for the client where it broke off for us; it never looks whole
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
import pytest
from tests.proxy.client import proxy, request, talk
from tests.proxy.provider import DIALECTS, events, reply

pytestmark = pytest.mark.anyio
JSON, EVENTS = "application/json", "text/event-stream"


class Raw:
    """A provider that writes the bytes it is given, whatever was asked, and hangs up."""

    def __init__(self) -> None:
        self.says, self.asked = b"", 0

    async def __aenter__(self) -> Raw:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 22)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            self.asked += 1
            writer.write(self.says)
            await writer.drain()
        writer.close()


def http(status: int | str, body: bytes, kind: str = JSON, *more: str, length: int | None = None) -> bytes:
    size = f"Content-Length: {len(body) if length is None else length}"
    lines = [f"HTTP/1.1 {status} x", f"Content-Type: {kind}", size, "Connection: close", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*pieces: bytes, kind: str = EVENTS, end: bytes = b"0\r\n\r\n", more: str = "") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n{more}\r\n"
    return head.encode() + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


def refused(dialect: str, status: int) -> bytes:
    """An error as each provider writes it, which is no overflow."""
    if dialect == "anthropic":
        return json.dumps({"type": "error", "error": {"type": "api_error", "message": "no"}}).encode()
    if dialect == "gemini":
        return json.dumps({"error": {"code": status, "message": "no", "status": "INTERNAL"}}).encode()
    return json.dumps({"error": {"message": "no", "type": "server_error", "param": None, "code": None}}).encode()


def good(dialect: str, stream: bool) -> bytes:
    return b"".join(events(dialect, "grüße fine", 50)) if stream else json.dumps(reply(dialect, "fine", 50)).encode()


def kind_of(stream: bool) -> str:
    return EVENTS if stream else JSON


@dataclass(frozen=True)
class Fault:
    """What the provider writes, and what becomes of the turn."""

    name: str
    write: Callable[[str, bool], bytes]
    whole: str = "same"
    streamed: str = "same"
    again: bool = False
    """It may mean that less has to be sent, and that is tried."""


STATUSES = (
    400,
    401,
    402,
    403,
    404,
    405,
    408,
    409,
    415,
    422,
    424,
    429,
    451,
    499,
    500,
    501,
    502,
    503,
    504,
    520,
    524,
    529,
)
FAULTS = [
    *(Fault(f"status {status}", lambda d, _, status=status: http(status, refused(d, status))) for status in STATUSES),
    *(
        Fault(
            f"redirect {status}", lambda *_, status=status: http(status, b"", JSON, "Location: /x"), "shaped", "shaped"
        )
        for status in (301, 302, 307, 308)
    ),
    Fault("status 413", lambda d, _: http(413, refused(d, 413)), again=True),
    Fault("rate limit with a time", lambda d, _: http(429, refused(d, 429), JSON, "Retry-After: 3")),
    Fault("error in HTML", lambda *_: http(502, b"<html>Bad gateway</html>", "text/html")),
    Fault("error without a body", lambda *_: http(500, b"")),
    Fault(
        "error that is packed", lambda d, _: http(500, gzip.compress(refused(d, 500)), JSON, "Content-Encoding: gzip")
    ),
    Fault("error that is no UTF-8", lambda *_: http(500, b'{"error": "\xff\xfe"}')),
    Fault("error of two megabytes", lambda *_: http(500, b'{"error":"' + b"x" * (2 << 20) + b'"}')),
    Fault("error that is cut off", lambda *_: http(500, b'{"err', length=99), "shaped", "shaped"),
    Fault("nothing but a hang-up", lambda *_: b"", "shaped", "shaped"),
    Fault("half a head", lambda *_: b"HTTP/1.1 200 OK\r\nContent-", "shaped", "shaped"),
    Fault("no HTTP at all", lambda *_: b"SSH-2.0-OpenSSH_9.2\r\n", "shaped", "shaped"),
    Fault("a status that is none", lambda *_: b"HTTP/1.1 banana\r\n\r\n", "shaped", "shaped"),
    Fault("a status beyond all", lambda *_: http(999, b"{}"), "shaped", "shaped"),
    Fault("a switch of protocols", lambda *_: http(101, b"", JSON, "Upgrade: x"), "shaped", "shaped"),
    Fault("a header without a colon", lambda *_: b"HTTP/1.1 200 OK\r\nbroken header\r\n\r\n", "shaped", "shaped"),
    Fault("a header of 100 KB", lambda *_: http(200, b"{}", JSON, "X-Big: " + "x" * 100_000), "shaped", "shaped"),
    Fault("two lengths", lambda *_: http(200, b"{}", JSON, "Content-Length: 7"), "shaped", "shaped"),
    Fault("success without a body", lambda _, stream: http(200, b"", kind_of(stream))),
    Fault("success in HTML", lambda *_: http(200, b"<html>log in</html>", "text/html")),
    Fault("success that is no JSON", lambda _, stream: http(200, b"ok", kind_of(stream))),
    Fault(
        "an error with status 200",
        lambda d, stream: http(200, b"data: " * stream + refused(d, 500) + b"\n\n", kind_of(stream)),
    ),
    Fault("no content", lambda *_: b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"),
    Fault("cut at the start", lambda _, stream: http(200, b"", kind_of(stream), length=99), "shaped", "cut"),
    Fault(
        "cut in the middle",
        lambda d, stream: http(200, good(d, stream)[:-30], kind_of(stream), length=9_999),
        "shaped",
        "cut",
    ),
    Fault(
        "cut in a chunk",
        lambda d, stream: chunked(good(d, stream), kind=kind_of(stream), end=b"ff\r\nda"),
        "shaped",
        "cut",
    ),
    Fault(
        "without a last chunk",
        lambda d, stream: chunked(good(d, stream), kind=kind_of(stream), end=b""),
        "shaped",
        "cut",
    ),
    Fault(
        "a chunk of no size",
        lambda d, stream: chunked(good(d, stream), kind=kind_of(stream), end=b"zz\r\n\r\n"),
        "shaped",
        "shaped",
    ),
    Fault("bytes in single chunks", lambda d, stream: chunked(*map(bytes, zip(good(d, stream))), kind=kind_of(stream))),
    Fault(
        "packed though not asked for",
        lambda d, stream: http(200, gzip.compress(good(d, stream)), kind_of(stream), "Content-Encoding: gzip"),
    ),
    Fault(
        "packed in a way nobody knows",
        lambda d, stream: http(200, good(d, stream), kind_of(stream), "Content-Encoding: secret"),
    ),
    Fault("another type than it is", lambda d, stream: http(200, good(d, stream), kind_of(not stream))),
    Fault("no type", lambda d, stream: http(200, good(d, stream), "")),
    Fault(
        "early hints first",
        lambda d, stream: b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + http(200, good(d, stream), kind_of(stream)),
    ),
    Fault(
        "an event of five megabytes",
        lambda _, stream: http(200, b"data: " + b"x" * (5 << 20) + b"\n\n", kind_of(stream)),
    ),
    Fault("comments and pings alone", lambda _, stream: http(200, b": ping\n\n" * 50, kind_of(stream))),
    Fault("noise", lambda _, stream: http(200, bytes(range(256)) * 40, kind_of(stream))),
    Fault(
        "a stream with other line ends",
        lambda d, _: http(200, good(d, True).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"), EVENTS),
    ),
    Fault("a stream without its end", lambda d, _: http(200, good(d, True)[:-60], EVENTS)),
]


def is_shaped(dialect: str, status: int, said: bytes) -> bool:
    body = json.loads(said)
    error = body["error"]
    own = {"anthropic": {"type", "message"}, "gemini": {"code", "message", "status"}}
    keys = own.get(dialect, {"message", "type", "param", "code"})
    fits = body.get("type") == "error" if dialect == "anthropic" else error.get("code") in (None, status)
    return status == 502 and error.keys() == keys and fits


async def outcome(client, dialect: str, stream: bool, sent: bytes) -> str:
    try:
        status, said, _ = await client.ask(dialect, request(talk(dialect, 1)), stream=stream)
    except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError):
        return "cut"
    if b"foldline: " in said:
        return "shaped" if is_shaped(dialect, status, said) else f"{status} {said[:80]!r}"
    head, _, body = sent.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")
    body = unchunked(body) if b"chunked" in head else body
    same = said == (gzip.decompress(body) if b"gzip" in head else body)
    return "same" if same and head.startswith(str(status).encode()) else f"{status} {said[:80]!r}"


async def closed(running) -> None:
    """A request is over a moment after its client has the last byte."""
    while running.health.open:
        await asyncio.sleep(0.01)


def unchunked(body: bytes) -> bytes:
    plain = b""
    while (size := int(body.partition(b"\r\n")[0], 16)) > 0:
        start = body.index(b"\r\n") + 2
        plain, body = plain + body[start : start + size], body[start + size + 2 :]
    return plain


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_every_turn_is_delivered_or_fails_in_the_providers_own_shape(dialect, stream):
    wrong = []
    async with Raw() as provider, proxy(provider, window=100_000, dialect=dialect) as client:
        for fault in FAULTS:
            provider.says, asked = fault.write(dialect, stream), provider.asked
            found = await asyncio.wait_for(outcome(client, dialect, stream, provider.says), 20)
            if found != (fault.streamed if stream else fault.whole):
                wrong.append((fault.name, found))
            if provider.asked != asked + 1 and not fault.again:
                wrong.append((fault.name, f"asked {provider.asked - asked} times"))
        await asyncio.wait_for(closed(client.running), 10)
        provider.says = http(200, good(dialect, stream), kind_of(stream))
        assert await outcome(client, dialect, stream, provider.says) == "same", "it still serves"
    assert not wrong


def test_there_are_enough_of_them():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 40
