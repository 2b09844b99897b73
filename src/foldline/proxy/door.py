"""The door itself, as a plain ASGI application: guard, read, fit, forward, relay, learn. It decides nothing else.

    scope ── Guard ──┬─ Refusal                                 403, 401, 400 …
                     ├─ healthz · metrics · status              health.py
                     ├─ another path, bypass                    both bodies streamed through as they are
                     └─ ours ── Turns.glance │ read, fitted ── send ── judge ──┬─ too large ── Turns.smaller ── send …
                                                                               └─ pass on ── Turns.after

What takes time runs in threads; here is only waiting, and the glance, which takes half a millisecond.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from foldline.errors import TooLarge, UpstreamNotAllowed
from foldline.model import Conversation, Notice
from foldline.proxy import headers as heads
from foldline.proxy import routes
from foldline.proxy.beside import Kept
from foldline.proxy.bodies import Crowded, Gone, Pool, Receive, take
from foldline.proxy.calls import Call, added, nothing, onward, refusal, say
from foldline.proxy.forward import REDIRECT, Forwarder
from foldline.proxy.guard import Guard, Refusal
from foldline.proxy.health import PAGES, Health, log_failure, what_failed
from foldline.proxy.relay import Cut, Outcome, Relay, Send
from foldline.proxy.rooms import Rooms
from foldline.proxy.shapes import shaped
from foldline.proxy.turn import Read, Turn, Turns, Unwelcome
from foldline.proxy.upstreams import Upstreams
from foldline.proxy.waiting import Sender, pieces, while_there

T = TypeVar("T")
THREADS = 2
"""Requests that are fitted at the same time."""
LONG = 256 << 10
"""Bytes above which a request is long. Of long ones only one is fitted at a time, since the event loop has to wait for
a turn of each thread that computes; the other thread is there for the short ones. What is done behind the answers to
short ones is done one at a time, too, so that the event loop has its turn between two of them."""
_KINDS = (b"application/json",)


class Door:
    """The application. One for a process; it may be mounted by others."""

    def __init__(self, guard: Guard, upstreams: Upstreams, turns: Turns, health: Health) -> None:
        self._guard, self._upstreams, self._turns, self._health = guard, upstreams, turns, health
        self._pool = Pool()
        self._threads = ThreadPoolExecutor(THREADS, "foldline-fit")
        self._tasks: set[asyncio.Task[Any]] = set()
        """What is done behind the answers."""
        self._gate, self._long, self._short = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self._turn_of: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._forward: Forwarder | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        entry = self._guard.admit(scope)
        if scope["type"] == "websocket":
            await self._socket(entry, scope, receive, send)
        elif isinstance(entry, Refusal):
            self._health.refused(entry.status)
            await say(send, entry.status, refusal(entry.why))
        elif entry.name in PAGES and not entry.path:
            await self._page(entry.name, scope["method"], send)
        else:
            await self._admitted(entry.name, entry.path, scope, receive, send)

    async def _page(self, name: str, method: str, send: Send) -> None:
        if method not in ("GET", "HEAD"):
            return await say(send, 405, refusal("this page can only be read"))
        kind, body = self._health.page(name)
        return await say(send, 200, body, kind)

    async def _admitted(self, name: str, path: bytes, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        upstream = self._upstreams.get(name)
        if upstream is None:
            return await say(send, 404, refusal("there is no such upstream here: use a base URL printed at the start"))
        query, headers = bytes(scope["query_string"]), list(scope["headers"])
        try:
            url = self._upstreams.url(upstream, path or b"/", query)
        except UpstreamNotAllowed as error:
            self._health.refused(403)
            return await say(send, 403, shaped(upstream.dialect, 403, str(error)))
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
        except Crowded as error:
            await self._fail(call, 503, str(error))
        except Gone:
            return
        except TimeoutError:
            await self._fail(call, 504, f"the provider {call.upstream.shown} did not answer in time; try again")
        except Cut as cut:
            await self._fail(call, 502, f"the answer of {call.upstream.shown} broke off ({cut}); try again")
        except _connection_errors() as error:
            where = f"{call.upstream.shown} cannot be reached ({type(error).__name__})"
            await self._fail(call, 502, f"the provider {where}; check the upstream's URL, or try again")
        except Exception as error:
            log_failure("failed", error, logging.ERROR)
            await self._fail(call, 500, what_failed(error))

    async def _fail(self, call: Call, status: int, why: str) -> None:
        if call.send.began:
            raise Cut("the answer breaks off here, as the provider's did")
        self._tell(call, status)
        await say(call.send, status, shaped(call.route.dialect, status, why))

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
            relay = Relay(answer, call.route.dialect, ours=False)
            try:
                await relay.pass_on(call.send, [], nothing)
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
            sent = await take(call.receive, count, self._in_round)
            coding = heads.value(call.headers, b"content-encoding").decode("latin-1")
            done = asyncio.Event()
            done.set()
            try:
                await while_there(call.receive, self._answered(call, sent, coding), done)
            except BaseException:
                self._health.wrecked += len(sent)
                raise

    async def _answered(self, call: Call, sent: bytes, coding: str) -> None:
        began = time.perf_counter()
        turn = await self._made(call, sent, coding)
        took = time.perf_counter() - began
        if turn.read or turn.ready.fitted is not None:
            self._health.fitted(took)
        turn, answer = await self._at_once(call, turn) if turn.read else (turn, None)
        turn, relay = await self._delivered(call, turn, sent, answer)
        try:
            await relay.pass_on(call.send, added(turn), lambda: self._settled(turn.ready.kept))
        except BaseException:
            self._tell(call, relay.status, turn, took)
            raise
        finally:
            relay.close()
        self._behind(self._after(call, turn, relay, took))

    async def _made(self, call: Call, sent: bytes, coding: str) -> Turn:
        """What is to be sent. Whatever of ours fails, the request goes on as it came."""
        try:
            read = await self._glanced(call, sent, coding)
            seen = await self._at_rest(read) if read else None
            return seen or await self._prepared(call, sent, coding, read)
        except Unwelcome:
            raise
        except Exception as error:
            return self._turns.in_spite(call.route, sent, error)

    async def _glanced(self, call: Call, sent: bytes, coding: str) -> Read | None:
        await self._in_round()
        return self._turns.glance(call.route, call.upstream, sent, coding)

    async def _at_rest(self, read: Read) -> Turn | None:
        """Asked when the work behind the last answer of the same conversation has ended: it is what makes this sure."""
        lock, seen = self._lock_of(read.conversation), self._turns.at_rest(read)
        if seen is not None or not lock.locked():
            return seen
        async with lock:  # only waited for: nothing is done while it is held
            pass
        await self._in_round()
        return self._turns.at_rest(read)

    async def _in_round(self) -> None:
        """One request at a time between two rounds of the event loop, so that none of these is a long one."""
        await self._gate.acquire()
        asyncio.get_running_loop().call_soon(self._gate.release)

    async def _prepared(self, call: Call, sent: bytes, coding: str, seen: Read | None) -> Turn:
        size = len(sent)
        read: Read | Turn | None = seen
        if read is None:
            read = await self._in_thread(size, self._turns.read, call.route, call.upstream, sent, coding)
        if isinstance(read, Turn):
            return read
        if read.route.operation == "count":
            return await self._in_thread(size, self._turns.fitted, read)
        return await self._in_turn(read.conversation, size, self._turns.fitted, read)

    async def _at_once(self, call: Call, turn: Turn) -> tuple[Turn, Any]:
        """The client's own bytes go on, and are archived and weighed beside the call."""
        kept: list[Turn] = []
        weighed: list[Turn] = []

        def keep() -> None:
            if not kept:
                kept.append(self._turns.keep(turn))

        async def body() -> AsyncIterator[bytes]:
            keep()  # the disk has begun by the time the provider has it all
            yield turn.body
            weighed.append(self._turns.weigh(kept[0]))

        try:
            answer = await self._sent(call, onward(call, turn.body, turn.body), body())
        finally:
            keep()
        return weighed[0] if weighed else self._turns.weigh(kept[0]), answer

    async def _delivered(self, call: Call, turn: Turn, sent: bytes, answer: Any = None) -> tuple[Turn, Relay]:
        """The answer that is passed on: the first that is no overflow, or the last there is."""
        while True:
            answer = answer or await self._sent(call, onward(call, turn.body, sent), turn.body)
            relay = Relay(answer, call.route.dialect, turn.expected, framed=call.route.framed, tight=turn.tight)
            try:
                outcome = await relay.judge()
                smaller = await self._smaller(turn, outcome) if outcome.refusal else None
            except BaseException:
                relay.close()
                raise
            if smaller is None:
                return turn, relay
            relay.close()
            turn, answer = smaller, None

    async def _smaller(self, turn: Turn, outcome: Outcome) -> Turn | None:
        return await self._in_turn(turn.ready.conversation, len(turn.ready.body), self._turns.smaller, turn, outcome)

    async def _sent(self, call: Call, headers: list[tuple[str, str]], body: bytes | AsyncIterator[bytes] | None) -> Any:
        self._forward = self._forward or Forwarder()
        answer = await self._forward.send(call.upstream, call.url, call.scope["method"], headers, body)
        status = answer.status
        if 200 <= status < 300 or status == 304 or 400 <= status < 600:
            return answer
        answer.close()
        why = REDIRECT if 300 <= status < 400 else f"answers with the status {status}, which is none; check its URL"
        raise Unwelcome(502, f"the provider {call.upstream.shown} {why}")

    async def _settled(self, kept: Kept | None) -> None:
        """What a turn keeps is on the disk before the reply ends."""
        if kept is None:
            return
        if waiting := [asyncio.wrap_future(future) for future in kept.pending if not future.done()]:
            await asyncio.gather(*waiting, return_exceptions=True)
        if (failed := kept.settle()) is not None:
            self._health.notice(Notice("archive-failed", str(failed)))

    def _written(self, kept: Future[None]) -> None:
        """In the archive's thread. It knows of nothing but what is done, else the two would hold one another."""
        if (failed := kept.exception()) is not None:
            self._health.notice(Notice("archive-failed", type(failed).__name__))

    async def _after(self, call: Call, turn: Turn, relay: Relay, took: float) -> None:
        """Of the reply only a failure is heard of: it is kept with what comes next."""
        if turn.read is None:
            self._tell(call, relay.status, turn, took)
        size = max(len(turn.ready.body), sum(map(len, relay.kept)))
        async with self._lock_of(turn.ready.conversation), self._short if size <= LONG else nullcontext():
            fitted, kept = await self._in_thread(size, self._turns.after, turn, relay)
        if turn.read is not None:
            self._tell(call, relay.status, fitted, took)
        if kept is not None:
            kept.pending[0].add_done_callback(self._written)

    def _behind(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Something that is done to its end, whoever leaves meanwhile."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log_failure("after-failed", error)
            self._health.notice(Notice("after-failed", type(error).__name__))

    async def _in_thread(self, size: int, function: Callable[..., T], *arguments: Any) -> T:
        async with self._long if size > LONG else nullcontext():
            return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    async def _in_turn(self, conversation: Conversation, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """In a thread, after whatever is done for the same conversation: none waits for another in a thread, of which
        there are few. Who leaves meanwhile leaves it to be done to its end."""
        lock = self._lock_of(conversation)
        await lock.acquire()
        task = self._behind(self._in_thread(size, function, *arguments))
        task.add_done_callback(lambda _: lock.release())
        return await asyncio.shield(task)

    def _lock_of(self, conversation: Conversation) -> asyncio.Lock:
        """For one turn of a conversation at a time, as it begins."""
        first = conversation.messages[0].identity if conversation.messages else ""
        return self._turn_of.setdefault(first, asyncio.Lock())

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
                told |= {"before": turn.ready.before or receipt.tokens_before, "after": receipt.tokens_after}
            if turn.ready.checkpoint:
                told["checkpoint"] = turn.ready.checkpoint
        self._health.tell(told)

    async def _socket(self, entry: Any, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        from foldline.proxy import tunnel

        upstream, url = None if isinstance(entry, Refusal) else self._upstreams.get(entry.name), ""
        with suppress(UpstreamNotAllowed):
            url = self._upstreams.url(upstream, entry.path or b"/", bytes(scope["query_string"])) if upstream else ""
        if upstream is None or not url:
            self._health.refused(403)
            await send({"type": "websocket.close", "code": 1008})
            return
        self._forward = self._forward or Forwarder()
        await tunnel.run(self._forward, upstream, url, scope, receive, send)

    @property
    def rooms(self) -> Rooms:
        return self._turns.rooms

    async def close_behind(self) -> None:
        """Waits for what is done behind the answers, and until it is kept."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await asyncio.to_thread(self._turns.rooms.flush)

    async def close(self) -> None:
        """Waits for what is still to be done, and lets go of everything."""
        await self.close_behind()
        if self._forward is not None:
            await self._forward.close()
        await asyncio.to_thread(self._threads.shutdown)  # before the archive: who left in mid-turn is kept all the same
        await asyncio.to_thread(self._turns.close)


def _connection_errors() -> tuple[type[Exception], ...]:
    import aiohttp

    return (aiohttp.ClientError, ConnectionError)


__all__ = ["Door"]
