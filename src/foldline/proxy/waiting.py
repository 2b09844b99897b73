"""Waiting for a client: for the pieces of its body, and for it to go away while something is done for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, MutableMapping
from typing import Any

from foldline.proxy.bodies import Gone, Receive
from foldline.proxy.relay import Send


class Sender:
    """Sends to the client, and knows whether the answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.began = send, False

    async def __call__(self, event: MutableMapping[str, Any]) -> None:
        self.began = True
        await self._send(event)


async def while_there(receive: Receive, work: Coroutine[Any, Any, None], sent: asyncio.Event) -> None:
    """Does the work, and stops when the client has gone."""

    async def watch() -> None:
        await sent.wait()
        while (await receive())["type"] != "http.disconnect":
            pass

    task, gone = asyncio.create_task(work), asyncio.create_task(watch())
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        raise Gone from None


async def pieces(receive: Receive, sent: asyncio.Event) -> AsyncIterator[bytes]:
    more = True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Gone
        yield event.get("body", b"")
        more = event.get("more_body", False)
    sent.set()


__all__ = ["Sender", "pieces", "while_there"]
