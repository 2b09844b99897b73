"""A WebSocket on its way through, untouched: its history lies with the provider, so there is nothing to fit.

Codex is asked to do without: it then sends its whole history by HTTP, where it can be fitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from foldline.errors import UpstreamNotAllowed
from foldline.proxy import headers as heads
from foldline.proxy.bodies import Receive
from foldline.proxy.calls import say
from foldline.proxy.forward import Forwarder
from foldline.proxy.relay import Send
from foldline.proxy.shapes import shaped
from foldline.proxy.turn import Unwelcome
from foldline.proxy.upstreams import Upstream

if TYPE_CHECKING:
    import aiohttp

UPGRADE_REQUIRED = 426
"""What Codex takes as a sign to use HTTP for the rest of the session. Others know no other way, and are let through."""
_ANSWERED = "websocket.http.response"
"""The extension of ASGI by which an answer other than a socket can be given."""
_UNSPOKEN = frozenset({1005, 1006, 1015})
"""Codes that say how a socket ended without one: they are never sent."""
_FINE = 1000


async def run(
    forward: Forwarder, upstream: Upstream, url: str, scope: Mapping[str, Any], receive: Receive, send: Send
) -> None:
    """Opens the same socket at the provider, and carries frames both ways until one side closes."""
    await receive()  # the client's wish to connect
    try:
        there = await _opened(forward, upstream, url, scope)
    except Unwelcome as error:
        why = f"the provider {upstream.shown} {error.why}"
        await _decline(scope, send, error.status, shaped(upstream.dialect, error.status, why))
    else:
        await send({"type": "websocket.accept", "subprotocol": there.protocol})
        await _carried(there, receive, send)


async def _opened(
    forward: Forwarder, upstream: Upstream, url: str, scope: Mapping[str, Any]
) -> aiohttp.ClientWebSocketResponse:
    """The socket at the provider. Raises Unwelcome where there is none to be had."""
    import aiohttp

    if _can_do_without(scope):
        raise Unwelcome(UPGRADE_REQUIRED, "is asked by HTTP, where what is sent can be fitted")
    handshake = (b"sec-websocket-protocol", b"sec-websocket-key", b"sec-websocket-version", b"sec-websocket-extensions")
    headers = heads.onward(list(scope["headers"]), without=handshake)
    try:
        return await forward.socket(upstream, url, headers, scope.get("subprotocols", ()))
    except aiohttp.WSServerHandshakeError as error:
        status = error.status if error.status >= 400 else 502
        raise Unwelcome(status, f"opens no WebSocket ({error.status})") from None
    except UpstreamNotAllowed as error:
        raise Unwelcome(502, str(error)) from None
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise Unwelcome(502, f"cannot be reached ({type(error).__name__})") from None


async def _carried(there: aiohttp.ClientWebSocketResponse, receive: Receive, send: Send) -> None:
    ways = asyncio.create_task(_out(there, receive)), asyncio.create_task(_back(there, send))
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        left, _ = await asyncio.gather(*ways, return_exceptions=True)
        code, reason = left if isinstance(left, tuple) else (_FINE, b"")
        await there.close(code=code, message=reason)


def _can_do_without(scope: Mapping[str, Any]) -> bool:
    by_codex = heads.value(scope["headers"], b"originator").startswith(b"codex")
    return by_codex and str(scope["path"]).endswith("/responses") and _can_say(scope)


def _can_say(scope: Mapping[str, Any]) -> bool:
    return _ANSWERED in (scope.get("extensions") or ())


async def _decline(scope: Mapping[str, Any], send: Send, status: int, body: bytes) -> None:
    async def answer(event: MutableMapping[str, Any]) -> None:
        await send({**event, "type": f"websocket.{event['type']}"})

    if _can_say(scope):
        await say(answer, status, body)
    else:
        await send({"type": "websocket.close", "code": 1014})


async def _out(there: aiohttp.ClientWebSocketResponse, receive: Receive) -> tuple[int, bytes]:
    """Carries frames to the provider until the client leaves: its code and its reason."""
    while (event := await receive())["type"] == "websocket.receive":
        if event.get("text") is not None:
            await there.send_str(event["text"])
        else:
            await there.send_bytes(event.get("bytes") or b"")
    code = event.get("code", _FINE)
    return _FINE if code in _UNSPOKEN else code, (event.get("reason") or "").encode()


async def _back(there: aiohttp.ClientWebSocketResponse, send: Send) -> None:
    """Carries frames to the client until the provider closes, and closes as it did."""
    import aiohttp

    kinds = {aiohttp.WSMsgType.TEXT: "text", aiohttp.WSMsgType.BINARY: "bytes"}
    while (frame := await there.receive()).type in kinds:
        await send({"type": "websocket.send", kinds[frame.type]: frame.data})
    await send({"type": "websocket.close", "code": there.close_code or _FINE, "reason": frame.extra or ""})


__all__ = ["run"]
