"""Stands between the proxy and a real model: sees every request, has it judged, and has the model count it.

The model's own server counts every prompt, in milliseconds, and refuses what its window does not hold. To read
a prompt takes it many seconds, so it answers only every n-th; the others are answered here, with the model's own count.
"""

from __future__ import annotations

from typing import Any

import aiohttp
from aiohttp import web
from tests.proxy.provider import dialect_of, streaming
from tests.proxy.scripted import answer

from foldline.validators import check

COUNTS = {
    "anthropic": "/v1/messages/count_tokens",
    "openai-chat": "/v1/chat/completions/input_tokens",
    "openai-responses": "/v1/responses/input_tokens",
}


class Witness:
    """A server on the loopback in front of `model`, whose window has `window` tokens."""

    def __init__(self, model: str, window: int, every: int) -> None:
        self.model, self.window, self.every = model, window, every
        self.bodies: list[Any] = []
        self.counts: list[int] = []
        self.violations: list[str] = []
        self.real = self.refused = 0
        self.port = 0

    async def __aenter__(self) -> Witness:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/{path:.*}", self._serve)
        self._session = aiohttp.ClientSession()
        self._runner = web.AppRunner(app, shutdown_timeout=0.2, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        await self._session.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        dialect = dialect_of(request.path)
        assert dialect is not None
        self.violations += [f"request {len(self.bodies)}: {violation}" for violation in check(body, dialect)]
        self.bodies.append(body)
        tokens = await self.count(dialect, body)
        self.counts.append(tokens)
        if tokens >= self.window or len(self.bodies) % self.every == 0:
            return await self._forwarded(request, body)
        return await answer(request, dialect, body, tokens)

    async def count(self, dialect: str, body: Any) -> int:
        async with self._session.post(self.model + COUNTS[dialect], json=body) as counted:
            said = await counted.json()
        assert counted.status == 200, said
        return int(said["input_tokens"])

    async def _forwarded(self, request: web.Request, body: Any) -> web.StreamResponse:
        """The model's own answer, whatever it is."""
        async with self._session.post(self.model + request.path, json=body) as said:
            self.refused += said.status == 400
            self.real += said.status == 200
            kind = "text/event-stream" if said.status == 200 and streaming(request, body) else "application/json"
            return web.Response(body=await said.read(), status=said.status, headers={"content-type": kind})
