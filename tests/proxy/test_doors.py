"""Ways in that must stay shut, by raw bytes: what a web page, a rebound name or a second server could send.

Beside those of test_guard.py. Each table goes to one proxy, a connection for each line; none may reach the provider.
"""

from __future__ import annotations

import asyncio

import pytest
from tests.proxy import test_guard as guard
from tests.proxy.client import proxy

pytestmark = pytest.mark.anyio
WAIT = 1.0
"""Seconds; some of these are never answered, as more would have to come."""
TINY = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}'
POST = b"POST /{secret}/test/v1/messages HTTP/1.1\r\n"
HOST = b"Host: 127.0.0.1:{port}\r\n"
KIND = b"Content-Type: application/json\r\n"
LONG = b"Content-Length: %d\r\n" % len(TINY)
GOOD = POST + HOST + KIND + LONG + b"\r\n" + TINY
CHUNKED = POST + HOST + KIND + b"Transfer-Encoding: chunked\r\n\r\n"
SOCKET = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n"
)
ASKED = b"GET /{secret}/test/v1/responses HTTP/1.1\r\n"

REBINDING = {
    "no host": POST + KIND + LONG + b"\r\n" + TINY,
    "two hosts": POST + HOST + b"Host: evil.example\r\n" + KIND + LONG + b"\r\n" + TINY,
    "the same host twice": POST + HOST + HOST + KIND + LONG + b"\r\n" + TINY,
    "a host with a user": POST + b"Host: evil@127.0.0.1:{port}\r\n" + KIND + LONG + b"\r\n" + TINY,
    "a host with a path": POST + b"Host: 127.0.0.1:{port}/evil\r\n" + KIND + LONG + b"\r\n" + TINY,
    "a host with a dot behind": POST + b"Host: localhost.:{port}\r\n" + KIND + LONG + b"\r\n" + TINY,
    "a host with another port": POST + b"Host: localhost:80\r\n" + KIND + LONG + b"\r\n" + TINY,
    "a host in octal": POST + b"Host: 0177.0.0.1:{port}\r\n" + KIND + LONG + b"\r\n" + TINY,
    "a host in hexadecimal": POST + b"Host: 0x7f000001:{port}\r\n" + KIND + LONG + b"\r\n" + TINY,
    "a host in other letters": POST + "Host: ⓛocalhost:{port}\r\n".encode() + KIND + LONG + b"\r\n" + TINY,
    "a name that points here": POST + b"Host: localtest.me:{port}\r\n" + KIND + LONG + b"\r\n" + TINY,
    "HTTP/1.0 without a host": POST.replace(b"1.1", b"1.0") + KIND + LONG + b"\r\n" + TINY,
    "a forwarded host": POST
    + b"Host: evil.example\r\nX-Forwarded-Host: 127.0.0.1:{port}\r\n"
    + KIND
    + LONG
    + b"\r\n"
    + TINY,
}
PAGES = {
    "a socket from a page": ASKED + HOST + SOCKET + b"Origin: https://evil.example\r\n\r\n",
    "a socket from no origin": ASKED + HOST + SOCKET + b"Origin: null\r\n\r\n",
    "a socket by another name": ASKED + b"Host: evil.example\r\n" + SOCKET + b"\r\n",
    "a socket without the secret": b"GET /test/v1/responses HTTP/1.1\r\n" + HOST + SOCKET + b"\r\n",
    "a socket to nobody": b"GET /{secret}/evil/v1 HTTP/1.1\r\n" + HOST + SOCKET + b"\r\n",
    "a question before": b"OPTIONS /{secret}/test/v1/messages HTTP/1.1\r\n" + HOST + b"Origin: null\r\n\r\n",
    "an image": b"GET /{secret}/test/v1/models HTTP/1.1\r\n" + HOST + b"Sec-Fetch-Site: cross-site\r\n\r\n",
    "a page of the same machine": POST + HOST + b"Origin: http://127.0.0.1:{port}\r\n" + KIND + LONG + b"\r\n" + TINY,
    "an origin that is empty": POST + HOST + b"Origin:\r\n" + KIND + LONG + b"\r\n" + TINY,
    "JSON as plain text": POST
    + HOST
    + b"Content-Type: text/plain; charset=application/json\r\n"
    + LONG
    + b"\r\n"
    + TINY,
    "a beacon": POST
    + HOST
    + b"Content-Type: text/plain;charset=UTF-8\r\nSec-Fetch-Mode: no-cors\r\n"
    + LONG
    + b"\r\n"
    + TINY,
    "the metrics, asked by a page": b"GET /{secret}/metrics HTTP/1.1\r\n" + HOST + b"Origin: null\r\n\r\n",
}
ELSEWHERE = {
    "an absolute address": b"POST http://evil.example/{secret}/test/v1/messages HTTP/1.1\r\n"
    + HOST
    + KIND
    + LONG
    + b"\r\n"
    + TINY,
    "an address of a cloud": b"GET http://169.254.169.254/latest/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    "the whole server": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "a user in the path": b"GET /{secret}/test@evil.example/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "a slash too many": b"GET /{secret}/test//evil.example/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "dots twice encoded": b"GET /{secret}/test/%2e%2e/%2e%2e/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "a backslash": b"GET /{secret}/test/\\evil.example/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "a fragment in the query": b"GET /{secret}/test/x?a#b HTTP/1.1\r\n" + HOST + b"\r\n",
    "a line end in the query": b"GET /{secret}/test/x?a=%0d%0aX:y\r\n Evil: 1 HTTP/1.1\r\n" + HOST + b"\r\n",
    "letters beyond ASCII": "GET /{secret}/test/é HTTP/1.1\r\n".encode() + HOST + b"\r\n",
    "the secret in other letters": b"GET /{SECRET}/test/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "half of the secret": b"GET /{half}/test/x HTTP/1.1\r\n" + HOST + b"\r\n",
}
SMUGGLED = {
    "length and chunks": POST + HOST + KIND + LONG + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GOOD,
    "lengths in a list": POST + HOST + KIND + b"Content-Length: 71, 5\r\n\r\n" + TINY,
    "a length with a sign": POST + HOST + KIND + b"Content-Length: +71\r\n\r\n" + TINY,
    "a length with an underscore": POST + HOST + KIND + b"Content-Length: 7_1\r\n\r\n" + TINY,
    "a length in other digits": POST + HOST + KIND + "Content-Length: ٧١\r\n\r\n".encode() + TINY,
    "a length beyond all": POST + HOST + KIND + b"Content-Length: 99999999999999999999\r\n\r\n" + TINY,
    "a blank before the colon": POST + HOST + KIND + b"Content-Length : 71\r\n\r\n" + TINY,
    "chunks in a folded header": POST + HOST + KIND + LONG + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a bare carriage return": POST + HOST + KIND + b"X-A: b\rContent-Length: 71\r\n\r\n" + TINY,
    "a zero byte in a header": POST + HOST + KIND + LONG + b"X-A: b\0c\r\n\r\n" + TINY,
    "chunks in capitals and twice": POST + HOST + KIND + b"Transfer-Encoding: Chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunks with a tab": POST + HOST + KIND + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "a chunk below zero": CHUNKED + b"-1\r\n" + TINY + b"\r\n0\r\n\r\n",
    "a chunk with a prefix": CHUNKED + b"0x47\r\n" + TINY + b"\r\n0\r\n\r\n",
    "a chunk longer than said": CHUNKED + b"5\r\n" + TINY + b"\r\n0\r\n\r\n",
    "a chunk beyond all": CHUNKED + b"fffffffffffffffff\r\n" + TINY + b"\r\n0\r\n\r\n",
    "a kind that is told twice": POST + HOST + KIND + b"Content-Type: text/plain\r\n" + LONG + b"\r\n" + TINY,
    "a header without a name": POST + HOST + KIND + LONG + b": x\r\n\r\n" + TINY,
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "the old HTTP": b"GET /{secret}/test/v1/models\r\n\r\n",
    "the new HTTP": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}
TABLES = {"rebinding": REBINDING, "pages": PAGES, "elsewhere": ELSEWHERE, "smuggled": SMUGGLED}


async def said_to(client, raw: bytes) -> bytes:
    """What is answered to these bytes, as far as it comes."""
    secret = client.running.secret.encode()
    for name, value in (
        (b"{secret}", secret),
        (b"{SECRET}", secret.swapcase()),
        (b"{half}", secret[: len(secret) // 2]),
        (b"{port}", str(client.running.port).encode()),
    ):
        raw = raw.replace(name, value)
    reader, writer = await asyncio.open_connection("127.0.0.1", client.running.port)
    writer.write(raw)
    try:
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT)
    except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("table", TABLES)
async def test_none_of_these_gets_in(provider, table):
    passed = []
    async with proxy(provider) as client:
        for name, raw in TABLES[table].items():
            said = await said_to(client, raw)
            if provider.got or said.startswith((b"HTTP/1.1 1", b"HTTP/1.1 2")):
                passed.append((name, said[:80], provider.got))
                provider.got = []
        await asyncio.sleep(0.1)
        assert not passed
        assert not provider.got
        assert (await said_to(client, GOOD)).startswith(b"HTTP/1.1 200 "), "what is right gets in"


async def test_what_stands_behind_a_request_is_a_request_of_its_own(provider):
    """A second one on the same connection is judged like the first."""
    async with proxy(provider) as client:
        evil = GOOD.replace(HOST, b"Host: evil.example\r\n")
        await said_to(client, GOOD + evil)
        await asyncio.sleep(0.1)
        await said_to(client, CHUNKED + b"47\r\n" + TINY + b"\r\n0\r\n\r\n" + evil)
        await asyncio.sleep(0.1)
        assert [got.body for got in provider.got] == [TINY, TINY]


async def test_what_may_be_written_in_two_ways_goes_on_in_one(provider):
    """A folded header and a length said twice over are legal; the provider is told them plainly."""
    async with proxy(provider) as client:
        length = b"Content-Length: %d, %d\r\n" % (len(TINY), len(TINY))
        await said_to(client, POST + HOST + KIND + length + b"X-A: b\r\n Content-Length: 9\r\n\r\n" + TINY)
        got = provider.got[0]
        assert (got.body, got.headers["content-length"]) == (TINY, str(len(TINY)))
        assert got.headers["x-a"] == "b Content-Length: 9"


def test_there_are_enough_of_them():
    here = sum(map(len, TABLES.values()))
    there = sum(map(len, (guard.HOSTS, guard.PAGES, guard.SECRETS, guard.TARGETS, guard.SMUGGLED, guard.TWINS)))
    assert here >= 55
    assert here + there >= 60
