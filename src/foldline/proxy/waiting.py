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
    mine, left = asyncio.current_task(), False
    assert mine is not None

    async def watch() -> None:
        nonlocal left
        await sent.wait()
        while (await receive())["type"] != "http.disconnect":
            pass
        left = mine.cancel()

    watching = asyncio.create_task(watch())
    try:
        await work
    except asyncio.CancelledError:
        if left and not mine.uncancel():
            raise Gone from None
        raise
    finally:
        watching.cancel()


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
