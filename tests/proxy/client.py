"""A client of the proxy in a few lines, and conversations for it to send."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from tests.proxy.provider import PATHS, Provider

from foldline.proxy.serve import Config, Running, start
from foldline.proxy.upstreams import Upstream
from foldline.testing import Session

MODEL = "test-model"


class Client:
    """Talks to one upstream of a running proxy."""

    def __init__(self, running: Running, session: aiohttp.ClientSession, name: str = "test") -> None:
        self.running, self.session, self.base = running, session, running.url(name)

    async def post(self, path: str, body: Any, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = {"content-type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
        async with self.session.post(self.base + path, data=data, headers=kind, allow_redirects=False) as answer:
            return answer.status, await answer.read(), {key.lower(): value for key, value in answer.headers.items()}

    async def ask(self, dialect: str, body: Any, *, stream: bool = False) -> tuple[int, bytes, dict[str, str]]:
        path = PATHS[dialect]
        if stream and dialect == "gemini":
            path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
        elif stream:
            body = {**body, "stream": True}
        return await self.post(path, body)


@asynccontextmanager
async def proxy(provider: Provider, **settings: Any):
    """A proxy in front of a provider, and a client of it."""
    dialect = settings.pop("dialect", "anthropic")
    upstream = Upstream("test", provider.url, dialect)
    settings.setdefault("grace", 2)
    async with start(Config((upstream,), **settings)) as running, aiohttp.ClientSession() as session:
        yield Client(running, session)


def talk(dialect: str, turns: int, *, words: int = 60, secret: str = "") -> Session:
    """A conversation with tools. Each turn adds about as many tokens as words, twice."""
    session = Session(dialect, system="You are a careful agent.", model="" if dialect == "gemini" else MODEL)
    session.user(f"Please look at all files. {secret}")
    for number in range(turns):
        grow(session, number, words)
    return session


def grow(session: Session, number: int, words: int = 60) -> None:
    text = " ".join(f"line{number}-{word}" for word in range(words))
    session.tools(("read", json.dumps({"path": f"src/file{number}.py"}), text), text=f"Reading file {number}.")


def request(session: Session) -> dict[str, Any]:
    limits = {"anthropic": {"max_tokens": 64}}
    return {**session.request(), **limits.get(session.dialect.name, {})}
