"""One POST, sync and async, as a value: an Answer or a CallerError. Knows no provider and tries once.

Errors of the HTTP library are turned into values here, so that no traceback of ours runs through frames that hold the
key. The HTTP library is loaded at the first call.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foldline.callers.apart import apart
from foldline.callers.retry import Answer, Outcome
from foldline.errors import CallerError, Overloaded, Refused, StreamBroken, TimedOut

if TYPE_CHECKING:
    import ssl

    import httpx2

REPLY_MOST = 8 * 1_024 * 1_024
"""Bytes of an answer: a hundred times the longest reply a model writes."""

CONNECT_MOST = 10.0
"""Seconds to connect: a server that does not take a connection by then will not, and another try may."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request ready to be sent. `key` gives the secret for a URL, and only for the right one."""

    name: str
    url: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    key: Callable[[str, str], str] | None = None
    key_header: str = "authorization"
    key_prefix: str = ""

    def sign(self, request: httpx2.Request) -> httpx2.Request:
        """Put the key on a request, at the last moment and for the address it really goes to."""
        if self.key is not None:
            request.headers[self.key_header] = self.key(str(request.url), self.key_prefix)
        return request

    def client(self, seconds: float) -> dict[str, Any]:
        """A proxy from the environment serves for https alone: over http it would see the key."""
        return {
            "timeout": _limits(seconds),
            "verify": _tls(),
            "trust_env": self.url.startswith("https:"),
            "follow_redirects": False,
        }

    def post(self) -> dict[str, Any]:
        headers = {"accept-encoding": "identity", "user-agent": "foldline", **self.headers}
        return {"method": "POST", "url": self.url, "content": self.body, "headers": headers, "auth": self.sign}


def send(call: Call, seconds: float) -> Outcome:
    """In a thread of its own: so the deadline holds against slow name lookup, and servers that send a byte a minute."""
    try:
        return apart(_exchange, call, seconds).result(seconds)
    except TimeoutError:
        return _late(call)


async def asend(call: Call, seconds: float) -> Outcome:
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            return await _aexchange(call, seconds)
    except TimeoutError:
        return _late(call)


def _exchange(call: Call, seconds: float) -> Outcome:
    import httpx2

    body, end = bytearray(), time.monotonic() + seconds
    try:
        with httpx2.Client(**call.client(seconds)) as client, client.stream(**call.post()) as response:
            for chunk in response.iter_bytes():
                body += chunk
                if time.monotonic() > end:
                    return _late(call)
                if len(body) > REPLY_MOST:
                    break
            return _answer(call, response, body)
    except (httpx2.HTTPError, httpx2.InvalidURL, CallerError) as error:
        return _broken(call, error)


async def _aexchange(call: Call, seconds: float) -> Outcome:
    import httpx2

    body = bytearray()
    try:
        async with httpx2.AsyncClient(**call.client(seconds)) as client, client.stream(**call.post()) as response:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > REPLY_MOST:
                    break
            return _answer(call, response, body)
    except (httpx2.HTTPError, httpx2.InvalidURL, CallerError) as error:
        return _broken(call, error)


def _answer(call: Call, response: httpx2.Response, body: bytearray) -> Outcome:
    if len(body) > REPLY_MOST:
        return Refused(f"{call.name} answered with more than {REPLY_MOST:,} bytes; that is no reply of a model")
    return Answer(response.status_code, dict(response.headers), bytes(body))


def _broken(call: Call, error: Exception) -> CallerError:
    """Our error for the HTTP library's, without its words: they may quote a header."""
    import httpx2

    if isinstance(error, CallerError):
        return error
    if isinstance(error, httpx2.TimeoutException):
        return _late(call)
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        return Overloaded(f"{call.name} cannot be reached ({type(error).__name__}); check the address and the network")
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError | httpx2.DecodingError):
        return StreamBroken(f"{call.name} ended the connection before its reply ({type(error).__name__}); try again")
    return Refused(f"{call.name} could not be asked ({type(error).__name__}); check base_url")


def _late(call: Call) -> TimedOut:
    return TimedOut(f"{call.name} did not answer in time; try again, or allow more with deadline=")


def _limits(seconds: float) -> httpx2.Timeout:
    import httpx2

    return httpx2.Timeout(seconds, connect=min(seconds, CONNECT_MOST))


@functools.cache
def _tls() -> ssl.SSLContext:
    """Loaded once: reading the certificates takes longer than all the rest."""
    import httpx2

    return httpx2.create_ssl_context()
