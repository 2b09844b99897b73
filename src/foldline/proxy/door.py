"""The door itself, as a plain ASGI application: guard, read, fit, forward, relay, learn. It decides nothing else.

    scope ── Guard ──┬─ Refusal                                 403, 401, 400 …
                     ├─ healthz · metrics · status              health.py
                     ├─ another path, bypass                    both bodies streamed through as they are
                     └─ ours ── Turns.prepare ── send ── judge ──┬─ too large ── Turns.smaller ── send …
                                                                 └─ pass on ── Turns.after

What takes time runs in threads; here is only waiting.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from foldline.errors import ProxyError, TooLarge
from foldline.model import Notice
from foldline.proxy import headers as heads
from foldline.proxy import routes
from foldline.proxy.beside import Kept
from foldline.proxy.bodies import Gone, Pool, Receive, take
from foldline.proxy.forward import Forwarder
from foldline.proxy.guard import Guard, Refusal
from foldline.proxy.health import PAGES, Health, pages
from foldline.proxy.relay import Cut, Relay, Send
from foldline.proxy.rooms import Rooms
from foldline.proxy.routes import Route
from foldline.proxy.shapes import shaped
from foldline.proxy.turn import Turn, Turns, Unwelcome
from foldline.proxy.upstreams import Upstream, Upstreams
from foldline.proxy.waiting import Sender, pieces, while_there

T = TypeVar("T")
THREADS = 2
"""Requests that are fitted at the same time: one waits for the disk while another computes. Whatever more compute only
take turns, and the event loop has to wait for a turn of each."""
_KINDS = (b"application/json",)


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


class Door:
    """The application. One for a process; it may be mounted by others."""

    def __init__(self, guard: Guard, upstreams: Upstreams, turns: Turns, health: Health) -> None:
        self._guard, self._upstreams, self._turns, self._health = guard, upstreams, turns, health
        self._pages, self._pool = pages(health), Pool()
        self._threads = ThreadPoolExecutor(THREADS, "foldline-fit")
        self._behind: set[asyncio.Task[None]] = set()
        self._forward: Forwarder | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        entry = self._guard.admit(scope)
        if scope["type"] == "websocket":
            await self._socket(entry, scope, receive, send)
        elif isinstance(entry, Refusal):
            self._health.refused(entry.status)
            await _say(send, entry.status, _refusal(entry.why))
        elif entry.name in PAGES and not entry.path:
            await self._pages({**scope, "path": f"/{entry.name}", "raw_path": None, "root_path": ""}, receive, send)
        else:
            await self._admitted(entry.name, entry.path, scope, receive, send)

    async def _admitted(self, name: str, path: bytes, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        upstream = self._upstreams.get(name)
        if upstream is None:
            return await _say(send, 404, _refusal("there is no such upstream here"))
        query, headers = bytes(scope["query_string"]), list(scope["headers"])
        try:
            url = self._upstreams.url(upstream, path or b"/", query)
        except ProxyError as error:
            self._health.refused(403)
            return await _say(send, 403, shaped(upstream.dialect, 403, str(error)))
        route = routes.find(scope["method"], path, query, headers, upstream.dialect)
        call = Call(upstream, url, route, scope, receive, Sender(send))
        self._health.begin()
        try:
            await self._served(call)
        finally:
            self._health.end()

    async def _served(self, call: Call) -> None:
        """A failure becomes an answer in the provider's own shape, or, once an answer has begun, breaks it off."""
        try:
            await (self._through(call) if call.route.operation == "pass" else self._ours(call))
        except Unwelcome as error:
            await self._fail(call, error.status, error.why)
        except TooLarge as error:
            await self._fail(call, 413, error.what)
        except Gone:
            return
        except TimeoutError:
            await self._fail(call, 504, "the provider did not answer in time; try again")
        except _connection_errors() as error:
            await self._fail(call, 502, f"the provider cannot be reached ({type(error).__name__}); try again")

    async def _fail(self, call: Call, status: int, why: str) -> None:
        if call.send.began:
            raise Cut("the answer breaks off here, as the provider's did")
        self._tell(call, status)
        await _say(call.send, status, shaped(call.route.dialect, status, why))

    # --- what is not ours ---------------------------------------------------------------------------------------

    async def _through(self, call: Call) -> None:
        """Both bodies as they are, piece by piece."""
        sent = asyncio.Event()
        lengths = heads.values(call.headers, b"content-length")
        has_body = bool(lengths or heads.values(call.headers, b"transfer-encoding"))
        body = pieces(call.receive, sent) if has_body else None
        if not has_body:
            sent.set()
        headers = heads.onward(call.headers) + [("content-length", length.decode()) for length in lengths]

        async def work() -> None:
            answer = await self._sent(call, headers, body)
            relay = Relay(answer, call.route.dialect, 0)
            try:
                await relay.pass_on(call.send, [], _nothing)
                self._tell(call, answer.status)
            finally:
                answer.close()

        await while_there(call.receive, work(), sent)

    # --- what is ours -------------------------------------------------------------------------------------------

    async def _ours(self, call: Call) -> None:
        kind = heads.value(call.headers, b"content-type").partition(b";")[0].strip().lower()
        if kind not in _KINDS:
            raise Unwelcome(415, "the body must be application/json")
        with self._pool.share() as count:
            sent = await take(call.receive, count)
            coding = heads.value(call.headers, b"content-encoding").decode("latin-1")
            done = asyncio.Event()
            done.set()
            await while_there(call.receive, self._answered(call, sent, coding), done)

    async def _answered(self, call: Call, sent: bytes, coding: str) -> None:
        began = time.perf_counter()
        turn = await self._in_thread(self._turns.prepare, call.route, call.upstream, sent, coding)
        took = time.perf_counter() - began
        if turn.ready.fitted is not None:
            self._health.fitted(took)
        turn, relay = await self._delivered(call, turn, sent)
        try:
            await relay.pass_on(call.send, _added(turn), lambda: self._settled(turn.ready.kept))
        finally:
            relay.close()
            self._tell(call, relay.status, turn, took)
        self._afterwards(turn, relay)

    async def _delivered(self, call: Call, turn: Turn, sent: bytes) -> tuple[Turn, Relay]:
        """The answer that is passed on: the first that is no overflow, or the last there is."""
        while True:
            changed = turn.body is not sent
            headers = heads.onward(call.headers, without=_changed(changed))
            headers += [("accept-encoding", "identity"), ("content-length", str(len(turn.body)))]
            answer = await self._sent(call, headers, turn.body)
            heard = 0 if turn.loud else turn.tokens
            relay = Relay(answer, call.route.dialect, heard, framed=call.route.framed, tight=turn.tight)
            try:
                outcome = await relay.judge()
                smaller = await self._in_thread(self._turns.smaller, turn, outcome) if outcome.refusal else None
            except BaseException:
                relay.close()
                raise
            if smaller is None:
                return turn, relay
            relay.close()
            turn = smaller

    async def _sent(self, call: Call, headers: list[tuple[str, str]], body: bytes | AsyncIterator[bytes] | None) -> Any:
        self._forward = self._forward or Forwarder()
        answer = await self._forward.send(call.upstream, call.url, call.scope["method"], headers, body)
        if 300 <= answer.status < 400 and answer.status != 304:
            answer.close()
            raise Unwelcome(502, "the provider answers with a redirect, which is not followed; check its address")
        return answer

    async def _settled(self, kept: Kept | None) -> None:
        """What a turn keeps is on the disk before the reply ends."""
        if kept is None:
            return
        waiting = [asyncio.wrap_future(future) for future in kept.pending if not future.done()]
        await asyncio.gather(*waiting, return_exceptions=True)
        if (failed := kept.settle()) is not None:
            self._health.notice(Notice("archive-failed", str(failed)))

    def _afterwards(self, turn: Turn, relay: Relay) -> None:
        task = asyncio.create_task(self._after(turn, relay))
        self._behind.add(task)
        task.add_done_callback(self._behind_done)

    async def _after(self, turn: Turn, relay: Relay) -> None:
        await self._settled(await self._in_thread(self._turns.after, turn, relay))

    def _behind_done(self, task: asyncio.Task[None]) -> None:
        self._behind.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._health.notice(Notice("after-failed", type(error).__name__))

    async def _in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def _tell(self, call: Call, status: int, turn: Turn | None = None, took: float = 0.0) -> None:
        told: dict[str, Any] = {
            "upstream": call.upstream.name,
            "dialect": call.route.dialect,
            "operation": call.route.operation,
            "status": status,
        }
        if turn is not None:
            told |= {"action": turn.ready.action, "tries": turn.tries, "ms": round(took * 1000, 2)}
            for notice in turn.ready.notices:
                self._health.notice(notice)
            if turn.ready.notices:
                told["notices"] = [notice.code for notice in turn.ready.notices]
            if turn.ready.fitted is not None:
                receipt = turn.ready.fitted.receipt
                told |= {"before": receipt.tokens_before, "after": receipt.tokens_after}
        self._health.tell(told)

    async def _socket(self, entry: Any, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        from foldline.proxy import tunnel

        upstream = None if isinstance(entry, Refusal) else self._upstreams.get(entry.name)
        if upstream is None:
            self._health.refused(403)
            await send({"type": "websocket.close", "code": 1008})
            return
        self._forward = self._forward or Forwarder()
        url = self._upstreams.url(upstream, entry.path or b"/", bytes(scope["query_string"]))
        await tunnel.run(self._forward.session, url, scope, receive, send)

    @property
    def rooms(self) -> Rooms:
        return self._turns.rooms

    async def close_behind(self) -> None:
        """Waits for what is done behind the answers."""
        while self._behind:
            await asyncio.wait(set(self._behind))

    async def close(self) -> None:
        """Waits for what is still to be done, and lets go of everything."""
        await self.close_behind()
        if self._forward is not None:
            await self._forward.close()
        await asyncio.to_thread(self._turns.close)
        self._threads.shutdown(wait=True)


async def _nothing() -> None:
    """Nothing has to be waited for."""


def _changed(changed: bool) -> tuple[bytes, ...]:
    """What our own body has not: a coding and signatures over the client's."""
    return (b"accept-encoding", b"content-encoding", b"digest", b"content-digest") if changed else (b"accept-encoding",)


def _added(turn: Turn) -> heads.Pairs:
    codes = ", ".join(dict.fromkeys(notice.code for notice in turn.ready.notices))
    added = [(heads.NOTICE, codes.encode())] if codes else []
    return added + ([(heads.ACTION, turn.ready.action.encode())] if turn.ready.action not in ("", "rest") else [])


def _refusal(why: str) -> bytes:
    return json.dumps({"error": {"type": "foldline_refused", "message": f"foldline: {why}"}}).encode()


async def _say(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _connection_errors() -> tuple[type[Exception], ...]:
    import aiohttp

    return (aiohttp.ClientError, ConnectionError, Cut)


Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
__all__ = ["Door"]
