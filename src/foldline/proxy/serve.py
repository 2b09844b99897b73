"""Starting and stopping the proxy: `async with start(Config(...)) as running`. Graceful: streams that run are finished.

Config      everything that can be set
Running     where it listens, with the base URL to give to a client
at_home     `async with at_home(running)`: for a process that does nothing else, so that no answer waits for its tidying
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from foldline.archive.base import Backend
from foldline.archive.memory import MemoryArchive
from foldline.core.counting.budget import Budget
from foldline.errors import FoldlineError, InputError
from foldline.proxy.forward import FRAME_MOST
from foldline.proxy.guard import Guard, new_secret
from foldline.proxy.rooms import Rooms, Settings
from foldline.proxy.upstreams import Upstream, Upstreams, refuse_itself
from foldline.tokens import best_counter

GRACE = 60
"""Seconds that streams have to come to their end when the proxy is stopped."""
BACKLOG = 2_048
IDLE_SECONDS = 120
"""A connection stays open for so long without a request, while the agent runs its tools. Clients let go of theirs after
5 to 90 seconds: if we did so first, a request that is on its way by then would be lost."""
SWITCH = 0.0005
"""Seconds after which a thread that computes lets the event loop have its turn; Python's own are ten times as many."""
TIDY_EVERY = 2.0
"""Seconds after which it is asked again whether it is time to look for garbage."""
TIDY_QUIET, TIDY_BUSY = 100_000, 500_000
"""It is time when there are so many more objects than last time: the first while no request is open, the second in any
case. Requests that end well leave no garbage, and a connection that is closed leaves seven objects."""
TIDY_WRECKS = 64 << 20
"""It is time, too, after requests of so many bytes broke off: errors and what they were met in hold one another."""
GIVE_BACK = 200
"""Requests after which free memory is given back: bodies come and go between messages that stay, and leave holes. It
takes less than a millisecond, in a thread."""


@dataclass(frozen=True)
class Config(Settings):
    """How the proxy is to be. A token of one's own is needed for an address that others can reach."""

    upstreams: tuple[Upstream, ...]
    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = field(default=None, repr=False)
    names: tuple[str, ...] = ()
    """Further names that a Host header may have."""
    archive: Backend | None = None
    grace: float = GRACE

    def __post_init__(self) -> None:
        if self.window is not None:
            Budget(self.window, self.reserve)  # refused here, and not with every request


@dataclass(frozen=True)
class Running:
    """A proxy that serves. `origin` is where; `secret` is the first segment of every path."""

    host: str
    port: int
    secret: str = field(repr=False)
    door: Any = field(repr=False)
    health: Any = field(repr=False)
    server: Any = field(repr=False)

    @property
    def origin(self) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - shown, not bound to
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def url(self, upstream: str) -> str:
        """The base URL for clients of that upstream; what a provider's SDK adds to it is added."""
        return f"{self.origin}/{self.secret}/{upstream}"


@asynccontextmanager
async def start(config: Config) -> AsyncIterator[Running]:
    """Serves until the block ends; then finishes the streams that run, for `grace` seconds at most."""
    uvicorn = _needed()
    from foldline.proxy.door import Door
    from foldline.proxy.health import Health
    from foldline.proxy.turn import Turns

    secret = config.token or new_secret()
    with contextlib.closing(_bound(config, secret)) as listener:
        port = listener.getsockname()[1]
        refuse_itself(config.upstreams, config.host, port)
        guard = Guard(config.host, port, secret, chosen=config.token is not None, names=config.names)
        health = Health()
        turns = Turns(Rooms(config, config.archive or MemoryArchive(), health.notice), health)
        door = Door(guard, Upstreams(config.upstreams), turns, health)
        server = _server(uvicorn, door, config)
        best_counter()  # a fifth of a second that would else be the first request's, and everybody's
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await _started(server, serving)
            yield Running(config.host, port, secret, door, health, server)
        finally:
            server.should_exit = True
            await asyncio.wait((serving,))
            await door.close()


@asynccontextmanager
async def at_home(running: Running) -> AsyncIterator[None]:
    """Threads take shorter turns, and nobody waits for Python's search for garbage: 5 to 10 ms again and again, for
    nothing, since long conversations are long tuples and all of them are looked through.

    Both hold for the whole process, so a program that has the proxy for a part of it decides for itself.
    """
    switch, collects = sys.getswitchinterval(), gc.isenabled()
    sys.setswitchinterval(SWITCH)
    gc.disable()
    gc.freeze()
    tidying = asyncio.create_task(_tidied(running.health))
    try:
        yield
    finally:
        tidying.cancel()
        gc.unfreeze()
        if collects:
            gc.enable()
        sys.setswitchinterval(switch)


async def _tidied(health: Any) -> None:
    given = 0
    while True:
        await asyncio.sleep(TIDY_EVERY)
        _tidy(health, gc.get_count()[0])
        if health.answered - given >= GIVE_BACK:
            given = health.answered
            await asyncio.to_thread(_give_back)


def _tidy(health: Any, more: int) -> None:
    """Looks for garbage, if it is time. While somebody waits, only among what is new."""
    if more >= TIDY_QUIET and not health.open:
        gc.collect()
    elif more >= TIDY_BUSY or health.wrecked >= TIDY_WRECKS:
        gc.collect(1)
    else:
        return
    health.wrecked = 0


def _give_back() -> None:
    """Only where the C library can be asked for it: Linux, mostly."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _needed() -> Any:
    try:
        import aiohttp  # noqa: F401 - asked for here so that the error is a clear one
        import prometheus_client  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise FoldlineError(f"the proxy needs {error.name}; install it with: pip install 'foldline[proxy]'") from None
    return uvicorn


def _bound(config: Config, secret: str) -> socket.socket:
    """The address, taken before anything is served. Whether it may be used at all is asked first."""
    host, port = config.host, config.port
    Guard(host, port, secret, chosen=config.token is not None)
    if port:
        refuse_itself(config.upstreams, host, port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends small pieces at once; without it each would wait 40 ms for the last.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen at {host}:{port}: {error.strerror}; choose another --port, or --host"
        ) from None
    return listener


def _server(uvicorn: Any, door: Any, config: Config) -> Any:
    class Server(uvicorn.Server):  # type: ignore[misc]
        """Leaves signals to whoever started it."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    settings = uvicorn.Config(
        door,
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(config.grace),
        timeout_keep_alive=IDLE_SECONDS,
        ws_max_size=FRAME_MOST,
        backlog=BACKLOG,
    )
    return Server(settings)


async def _started(server: Any, serving: asyncio.Task[None]) -> None:
    while not server.started:
        if serving.done():
            await serving
            raise InputError("the server ended before it began; try another port")
        await asyncio.sleep(0.005)


__all__ = ["Config", "Running", "at_home", "start"]
