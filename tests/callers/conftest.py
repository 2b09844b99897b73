"""A scripted provider, both ways of asking, and a clock that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from foldline.callers import Caller, Clock
from foldline.core.asking import Ask, Reply

from .server import Server, serving

Way = Callable[[Caller, Ask], Reply]


@pytest.fixture(scope="module")
def _server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(_server: Server) -> Server:
    _server.says()
    return _server


def _sync(caller: Caller, ask: Ask) -> Reply:
    return caller.ask(ask)


def _async(caller: Caller, ask: Ask) -> Reply:
    return asyncio.run(caller.aask(ask))


@pytest.fixture(params=[_sync, _async], ids=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


class Time:
    """A clock that only sleeping moves. `slept` is what was slept."""

    def __init__(self, chance: float = 0.0) -> None:
        self.at, self.slept, self.chance = 1_000.0, [], chance

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    @property
    def clock(self) -> Clock:
        return Clock(
            now=lambda: self.at,
            wall=lambda: 1_794_744_000.0,
            sleep=self.sleep,
            asleep=self.asleep,
            chance=lambda: self.chance,
        )


@pytest.fixture
def fake_time() -> Time:
    return Time()
