"""A request that was let in, and what is said around it: headers for the provider, headers and refusals for the client.

What is done with a request is in door.py; which headers go through at all is in headers.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foldline.proxy import headers as heads
from foldline.proxy.bodies import Receive
from foldline.proxy.relay import Send
from foldline.proxy.routes import Route
from foldline.proxy.turn import Turn
from foldline.proxy.upstreams import Upstream
from foldline.proxy.waiting import Sender


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let in: whom it is for, and what it is."""

    upstream: Upstream
    url: str
    route: Route
    scope: Mapping[str, Any]
    receive: Receive
    send: Sender

    @property
    def headers(self) -> heads.Pairs:
        return list(self.scope["headers"])


async def nothing() -> None:
    """Nothing has to be waited for."""


def onward(call: Call, body: bytes, sent: bytes) -> list[tuple[str, str]]:
    """The client's headers as they go with a body: its own, or ours, which has no coding and none of its signatures."""
    stale = () if body is sent else (b"content-encoding", b"digest", b"content-digest")
    headers = heads.onward(call.headers, without=(b"accept-encoding", *stale))
    return [*headers, ("accept-encoding", "identity"), ("content-length", str(len(body)))]


def added(turn: Turn) -> heads.Pairs:
    """What the client is told: that something went wrong, that a view was sent, and which checkpoint stands in it."""
    ready = turn.ready
    codes = ", ".join(dict.fromkeys(notice.code for notice in ready.notices))
    action = "" if ready.own else ready.action
    told = {heads.NOTICE: codes, heads.ACTION: action, heads.CHECKPOINT: ready.checkpoint}
    return [(name, value.encode()) for name, value in told.items() if value]


def refusal(why: str) -> bytes:
    return json.dumps({"error": {"type": "foldline_refused", "message": f"foldline: {why}"}}).encode()


async def say(send: Send, status: int, body: bytes, kind: str = "application/json") -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


__all__ = ["Call", "added", "nothing", "onward", "refusal", "say"]
