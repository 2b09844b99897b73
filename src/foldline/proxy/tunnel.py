"""A WebSocket on its way through, untouched: its history lies with the provider, so there is nothing to fit.

Codex is asked to do without: it then sends its whole history by HTTP, where it can be fitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from foldline.proxy import headers as heads
from foldline.proxy.bodies import Receive
from foldline.proxy.relay import Send

if TYPE_CHECKING:
    import aiohttp

FRAME_MOST = 64 << 20
"""Bytes of one frame."""
UPGRADE_REQUIRED = 426
"""What Codex takes as a sign to use HTTP for the rest of the session. Others know no other way, and are let through."""


async def run(session: aiohttp.ClientSession, url: str, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
    """Opens the same socket at the provider, and carries frames both ways until one side closes."""
    import aiohttp

    await receive()  # the client's wish to connect
    if _can_do_without(scope):
        await send({"type": "websocket.http.response.start", "status": UPGRADE_REQUIRED, "headers": []})
        await send({"type": "websocket.http.response.body", "body": b""})
        return
    handshake = (b"sec-websocket-protocol", b"sec-websocket-key", b"sec-websocket-version", b"sec-websocket-extensions")
    headers = heads.onward(list(scope["headers"]), without=handshake)
    try:
        there = await session.ws_connect(
            url, headers=headers, protocols=scope.get("subprotocols", ()), autoclose=False, max_msg_size=FRAME_MOST
        )
    except (aiohttp.ClientError, OSError, TimeoutError):
        await send({"type": "websocket.close", "code": 1014})
        return
    await send({"type": "websocket.accept", "subprotocol": there.protocol})
    ways = {asyncio.create_task(_out(there, receive)), asyncio.create_task(_back(there, send))}
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await there.close()


def _can_do_without(scope: Mapping[str, Any]) -> bool:
    by_codex = heads.value(scope["headers"], b"originator").startswith(b"codex")
    return by_codex and str(scope["path"]).endswith("/responses") and "websocket.http.response" in scope["extensions"]


async def _out(there: aiohttp.ClientWebSocketResponse, receive: Receive) -> None:
    while (event := await receive())["type"] == "websocket.receive":
        if event.get("text") is not None:
            await there.send_str(event["text"])
        else:
            await there.send_bytes(event.get("bytes") or b"")


async def _back(there: aiohttp.ClientWebSocketResponse, send: Send) -> None:
    import aiohttp

    async for frame in there:
        if frame.type is aiohttp.WSMsgType.TEXT:
            await send({"type": "websocket.send", "text": frame.data})
        elif frame.type is aiohttp.WSMsgType.BINARY:
            await send({"type": "websocket.send", "bytes": frame.data})
        else:
            break
    await send({"type": "websocket.close", "code": there.close_code or 1000})


__all__ = ["run"]
