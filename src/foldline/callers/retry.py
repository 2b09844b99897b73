"""How often a model is asked again, and when: a generator that says what to do next. It neither sends nor sleeps.

    Post(seconds) ──► an Answer or a CallerError comes back ──► a Reply: done
        ▲                                                   └─► an error that waiting may cure: Pause(seconds), again
        └───────────────────────────────────────────────────┘   any other, or no time left: raised

One deadline holds for everything: all tries, and the pauses between them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from foldline.core.asking import Reply
from foldline.errors import CallerError, InvalidSetting, Overloaded, RateLimited, StreamBroken, TimedOut
from foldline.overflow import retry_after

CURABLE = (RateLimited, Overloaded, TimedOut, StreamBroken)
"""What may be gone at the next try. An overflow, a wrong key and a refusal come back the same each time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came over the wire. The body is not shown: it may quote the request."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Post:
    """Send the request; the answer may take so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait."""

    seconds: float


Step: TypeAlias = Post | Pause
Outcome: TypeAlias = Answer | CallerError


async def _asleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance. `now` only ever rises; `wall` is the time of day."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[None]] = _asleep
    chance: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, and how long between. A turn waits for this, so it is short: three pauses of 0.5, 1 and 2 seconds."""

    tries: int = 4
    first: float = 0.5
    most: float = 8.0

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise InvalidSetting(f"tries is {self.tries}; a model is asked at least once")

    def pause(self, tried: int, wait: float | None, chance: float) -> float:
        """Twice as long each time, less a random half, so that callers do not come back all at once.
        Where the provider said how long, so long, and a little more for the same reason."""
        if wait is not None:
            return wait + self.first * chance
        return float(min(self.most, self.first * 2.0 ** min(tried - 1, 32)) * (1 - chance / 2))


def curable(error: CallerError, headers: Mapping[str, str]) -> bool:
    """Whether another try makes sense. A 413 that speaks of rates (Groq) is larger than a whole minute's allowance."""
    wish = headers.get("x-should-retry", "")
    return isinstance(error, CURABLE) and wish != "false" and (error.status != 413 or wish == "true")


def persist(
    retry: Retry, clock: Clock, deadline: float, hear: Callable[[Outcome], Reply | CallerError]
) -> Generator[Step, Outcome | None, Reply]:
    """Ask until there is a reply. Raises the last error when there is no point, no try or no time left."""
    end = clock.now() + deadline
    tried = 0
    while True:
        tried += 1
        outcome = yield Post(max(0.0, end - clock.now()))
        assert outcome is not None
        heard = hear(outcome)
        if isinstance(heard, Reply):
            return heard
        headers = outcome.headers if isinstance(outcome, Answer) else {}
        wait = heard.retry_after if isinstance(heard, RateLimited) else retry_after(headers, clock.wall())
        pause = retry.pause(tried, wait, clock.chance())
        if tried == retry.tries or not curable(heard, headers) or clock.now() + pause >= end:
            raise heard
        yield Pause(pause)
