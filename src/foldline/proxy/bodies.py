"""Bodies of requests: read within limits, unpacked within limits, and refused where an object has a key twice.

    Pool.share()                  gives `count`: all requests together may hold so much
    take(receive, count, pace)    → bytes, counted as they come
    unpacked(data, coding)        → bytes; gzip, deflate and zstd
    refuse_twins(data)            raises Twins: two parsers would read two different requests

What a body means is in skim.py.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import zstandard

from foldline.dialects import jsontext
from foldline.errors import MalformedInput, TooDeep, TooLarge

BODY_MOST = 64 << 20
"""Bytes of one body, unpacked: twice what the largest provider takes."""
ALL_MOST = 512 << 20
"""Bytes of all bodies that are held at once."""
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Twins(MalformedInput):
    """An object has the same key twice."""


class Gone(Exception):
    """The client left before its request was whole."""


class Crowded(Exception):
    """There is no room for this request now; there will be, when others have ended."""


class Pool:
    """Counts the bytes that are held, and says when there are too many."""

    def __init__(self, most: int = ALL_MOST) -> None:
        self.most, self.held = most, 0

    @contextmanager
    def share(self) -> Iterator[Callable[[int], None]]:
        """Gives a function that takes bytes from the pool; all of them come back at the end."""
        taken = 0

        def take(count: int) -> None:
            nonlocal taken
            if self.held + count > self.most:
                raise Crowded(f"all requests together hold over {self.most:,} bytes; try again when some have ended")
            self.held += count
            taken += count

        try:
            yield take
        finally:
            self.held -= taken


async def take(
    receive: Receive, count: Callable[[int], None], pace: Callable[[], Awaitable[None]], most: int = BODY_MOST
) -> bytes:
    """The whole body; what does not come in one piece at the given pace, so that many large ones at once do not hold up
    the event loop. Raises TooLarge as soon as it is, and Gone when the client is."""
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        if parts:
            await pace()
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Gone
        part = event.get("body", b"")
        size += len(part)
        if size > most:
            raise TooLarge(f"the body is over {most:,} bytes")
        count(len(part))
        parts.append(part)
        more = event.get("more_body", False)
    return b"".join(parts) if len(parts) != 1 else bytes(parts[0])


def unpacked(data: bytes, coding: str, most: int = BODY_MOST) -> bytes:
    """The body without its content coding. Raises MalformedInput for a coding nobody knows or damaged data."""
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return data
    try:
        if coding in ("gzip", "x-gzip", "deflate"):
            return _inflated(data, most, 47 if "gzip" in coding else 15)
        if coding == "zstd":
            return _limited(zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read(most + 1), most)
    except (zlib.error, zstandard.ZstdError):
        raise MalformedInput(f"the {coding} body is damaged") from None
    raise MalformedInput("the content coding is not known here; send identity, gzip, deflate or zstd")


def _inflated(data: bytes, most: int, bits: int) -> bytes:
    machine = zlib.decompressobj(bits)
    plain = _limited(machine.decompress(data, most + 1), most)
    if not machine.eof:
        raise MalformedInput("the packed body is cut off")
    return plain


def _limited(plain: bytes, most: int) -> bytes:
    if len(plain) > most:
        raise TooLarge(f"the body unpacks to over {most:,} bytes")
    return plain


def refuse_twins(data: bytes) -> None:
    """Raises Twins where an object in this JSON has a key twice. What is no JSON is not judged here."""
    try:
        _twins.decode(jsontext.text_of(data))
    except RecursionError:
        raise TooDeep("the body is nested too deeply to be read safely") from None
    except MalformedInput:
        raise
    except ValueError:
        return


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise Twins("an object in the body has the same key twice; two servers may read it in two ways")


_twins = json.JSONDecoder(object_pairs_hook=_unique)


__all__ = ["Crowded", "Gone", "Pool", "Twins", "refuse_twins", "take", "unpacked"]
