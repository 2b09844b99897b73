"""From the provider back to the client: each byte as it came, as soon as it is clear that the answer is a good one.

    Relay.judge() ──> Outcome        reads until it is clear what this answer is
    Relay.pass_on(send, …)           all of it, what was read first

A refusal as too large, in whatever form it comes, is answered by sending less: a smaller output limit where that is
enough, else a smaller view, strictly smaller each time. The client sees one answer. Everything else a provider says
(429, 5xx, a stream that breaks off) is passed on as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from foldline.errors import CallerError, Overflow
from foldline.overflow import overflow_in
from foldline.proxy import headers as heads
from foldline.proxy.bodies import unpacked
from foldline.proxy.signals import LARGE, Events, Verdict, Watch, whole

T = TypeVar("T")
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
HOLD_SECONDS = 10.0
"""How long a stream that says nothing is held back: an overflow is told at once, and clients wait this long."""
HOLD_BYTES = 262_144
"""How much of one."""
ERROR_MOST = 1 << 20
"""Bytes of an error that are read before it is passed on."""
REPLY_MOST = 32 << 20
"""Bytes of a reply in one piece that are held to look at it; a longer one is passed on unseen."""


_SILENCE = Overflow("the provider began an answer and sent nothing; send less", status=200)
"""Some servers answer a prompt that is too large with status 200 and then nothing at all."""


class Answer(Protocol):
    """What the provider answers: aiohttp's response."""

    status: int

    @property
    def raw_headers(self) -> Any: ...

    @property
    def content(self) -> Any: ...

    def close(self) -> None: ...


@dataclass
class Outcome:
    """What a reply turned out to be."""

    status: int
    watch: Watch
    refusal: CallerError | None = None
    """The prompt was refused as too large, and nothing was passed on yet."""
    said: bytes = field(default=b"", repr=False)
    """The error's own words, for its numbers."""


class Cut(Exception):
    """The provider's stream broke off after its beginning was passed on: the client's has to break off too."""


class Relay:
    """One answer on its way to the client. Nothing goes out before `pass_on` is called or the answer is good."""

    def __init__(
        self,
        answer: Answer,
        dialect: str,
        tokens: int = 0,
        *,
        framed: bool = False,
        tight: bool = False,
        ours: bool = True,
    ) -> None:
        """`tight`: the prompt fills so much of the window that silence may mean it was too large. An answer that is not
        `ours` is neither looked at nor kept."""
        self._answer, self._framed, self._tight, self._ours = answer, framed, tight, ours
        self._events = Events(framed)
        self._broken: Cut | None = None
        self.watch = Watch(dialect, tokens)
        self._pairs = [(key.lower(), value) for key, value in answer.raw_headers]
        self._held: list[bytes] = []
        self._chunks = answer.content.iter_any()
        self._whole = False
        self.kept: list[bytes] = []
        """What was passed on, for the archive; emptied when it is more than is worth holding."""
        self._size = 0

    @property
    def status(self) -> int:
        return self._answer.status

    def close(self) -> None:
        """Lets go of the connection; one that was read to its end is used again."""
        self._answer.close()

    @property
    def streams(self) -> bool:
        kind = heads.value(self._pairs, b"content-type").partition(b";")[0].strip().lower()
        return kind == b"text/event-stream" or (self._framed and kind == b"application/json")

    @property
    def _coding(self) -> str:
        return heads.value(self._pairs, b"content-encoding").decode("latin-1")

    async def judge(self) -> Outcome:
        """Reads until it is clear what this answer is."""
        status = self._answer.status
        if status >= 400:
            return await self._error(status)
        if status != 200 or self._coding not in ("", "identity"):
            self.watch.good = True
            return Outcome(status, self.watch)
        return await (self._stream() if self.streams else self._piece())

    async def _error(self, status: int) -> Outcome:
        await self._read_all(ERROR_MOST)
        said = _plain(b"".join(self._held), self._coding)
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in self._pairs}
        return Outcome(status, self.watch, overflow_in(said, status=status, headers=headers), said)

    async def _piece(self) -> Outcome:
        await self._read_all(REPLY_MOST)
        said = b"".join(self._held)
        if self._whole:
            self.watch = await _aside(said, whole, self.watch.dialect, said, self.watch.tokens)
        refusal = self.watch.refusal
        return Outcome(200, self.watch, refusal if isinstance(refusal, Overflow) else None, said[:ERROR_MOST])

    async def _stream(self) -> Outcome:
        try:
            async with asyncio.timeout(HOLD_SECONDS):
                return await self._hold()
        except TimeoutError:
            self.watch.good = True
        except Cut as cut:
            self._broken = cut
        return Outcome(200, self.watch)

    async def _hold(self) -> Outcome:
        size = 0
        while (chunk := await self._next()) is not None:
            self._held.append(chunk)
            size += len(chunk)
            verdicts = await self._heard(chunk)
            if "refused" in verdicts and not self.watch.good:
                refusal = self.watch.refusal
                overflow = refusal if isinstance(refusal, Overflow) else None
                return Outcome(200, self.watch, overflow, b"".join(self._held)[-ERROR_MOST:])
            if self.watch.good or size > HOLD_BYTES:
                self.watch.good = True
                return Outcome(200, self.watch)
        self._whole = True
        return Outcome(200, self.watch, _SILENCE if self._tight and not size else None)

    async def pass_on(self, send: Send, added: heads.Pairs, last: Callable[[], Awaitable[None]]) -> None:
        """All of it to the client, what was held first. `last` is waited for before the end is told.

        The last byte of an answer whose length was told is its end, so one that is held whole waits for it as a whole.
        """
        pairs = heads.back(self._pairs) + added
        if self._whole:
            await last()
        await send({"type": "http.response.start", "status": self._answer.status, "headers": pairs})
        async for chunk in self._all():
            if chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if not self._whole:
            await last()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _all(self) -> AsyncIterator[bytes]:
        for held in self._held:
            self._keep(held)
            yield held
        self._held = []
        if self._broken is not None:
            raise self._broken
        while not self._whole and (chunk := await self._next()) is not None:
            yield chunk
            if not self._ours:
                continue
            self._keep(chunk)
            if self.streams and self._coding in ("", "identity"):
                await self._heard(chunk)

    async def _heard(self, chunk: bytes) -> list[Verdict]:
        return [await _aside(data, self.watch.see, data) for data in self._events.feed(chunk)]

    def _keep(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size <= REPLY_MOST:
            self.kept.append(chunk)
        else:
            self.kept.clear()

    async def _read_all(self, most: int) -> None:
        size = 0
        while size <= most and (chunk := await self._next()) is not None:
            self._held.append(chunk)
            size += len(chunk)
        self._whole = size <= most

    async def _next(self) -> bytes | None:
        import aiohttp

        try:
            chunk: bytes = await anext(self._chunks)
        except StopAsyncIteration:
            return None
        except (aiohttp.ClientError, ConnectionError, TimeoutError) as error:
            raise Cut(type(error).__name__) from None
        return chunk


async def _aside(data: bytes, function: Callable[..., T], *arguments: Any) -> T:
    """Here and now for the small, in a thread for what would hold up the event loop."""
    return await asyncio.to_thread(function, *arguments) if len(data) > LARGE else function(*arguments)


def _plain(body: bytes, coding: str) -> bytes:
    try:
        return unpacked(body, coding, ERROR_MOST)
    except Exception:  # an error that cannot be unpacked is passed on unread
        return b""


__all__ = ["Answer", "Cut", "Outcome", "Relay", "Send"]
