"""What the proxy adds: beside a direct connection, and beside a bare pass-through of the same stack.

    python bench/proxy.py [requests]
    python bench/proxy.py --memory [requests]

Five processes on one machine: a provider, a pass-through of a few lines (uvicorn and aiohttp, as the proxy has them),
another, the proxy, and the client. A conversation grows by a step with every request, as an agent's does, so nothing is
answered from the request before. All ways take turns, request by request, with a pause between, so that a busy machine
slows all alike. `added` is what the proxy takes more than the pass-through. The second pass-through is the same as the
first: what it takes more, `unrest`, is the machine's, and no figure is surer than that.

Where the provider answers at once, nothing can be done beside its answer: all that the proxy does before the end of
the reply is in `added`. No model is like that. Where it takes 25 or 100 ms to its first byte, still less than any
model, `added` is what a user feels. An archive in a file waits for the disk: how long that takes by itself, for as many
bytes, is measured before and after.

A heart beats in the event loops of the proxy and of the pass-through. How late a beat comes is what the loop was held
up; `ours` is the part of it in which the process had the processor, so what another process took is not in it.

With `--memory`: 10,000 requests of conversations that come, grow long and go, some at once, at rest and folding.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

TOKENS = {"2 KB": 500, "200k tokens": 200_000}
STATES = (
    ("resting", 1_000_000, "", 0),
    ("folding", 150_000, "", 0),
    ("resting, archive in a file", 1_000_000, "at-once", 0),
    ("resting, archive in a file, 25 ms", 1_000_000, "file", 25),
    ("resting, archive in a file, 100 ms", 1_000_000, "other", 100),
    ("resting, 100 ms", 1_000_000, "", 100),
)
"""What the proxy does, its window, the folder of its archive, the milliseconds to the provider's first byte."""
SYNC_BYTES, SYNCS = 60_000, 50
"""What a turn's commit writes, and how often that is tried."""
PAUSE_BETWEEN = 0.02
"""Seconds: what a server does behind its answer must not slow the next one's."""
REST_P50, REST_P99, EVENT = 1.0, 10.0, 0.5
"""Milliseconds that the proxy may add at rest, at 200,000 tokens, and to an event of a stream."""
BEAT, LATE = 0.002, 10.0
"""Seconds between two beats of the heart, and the milliseconds that one may be late."""
REQUESTS = 10_000
TALKS, STEPS, STEP = 8, 50, 600
"""Conversations at once, requests of each before it makes place for a new one, words that each request adds."""
MEMORY_WINDOW = 20_000
"""Tokens: half of what such a conversation grows to, so that it is folded more than once."""
REST = 3.0
"""Seconds of quiet before memory is looked at, so that the proxy has given back what is free."""
STREAMS = 1_000
EVENTS, PAUSE = 200, 0.005
WORDS = ("the", "test", "in", "module", "fails", "because", "value", "is", "none", "at", "line", "while", "reading")


class Talk:
    """A conversation of about so many tokens; `next()` is its next request, a step longer."""

    def __init__(self, tokens: int, seed: int, stream: bool = False) -> None:
        self.chance, self.seed, self.count = random.Random(seed), seed, 0
        self.rows: list[str] = [json.dumps({"role": "user", "content": f"request {seed}"})]
        self.end = '],"stream":true}' if stream else "]}"
        size = 0
        while size < tokens * 4 - 1_500:
            size += self._grow(300)

    def _grow(self, words: int) -> int:
        self.count += 1
        call = {"type": "tool_use", "id": f"c{self.count}", "name": "read", "input": {"path": f"src/{self.count}.py"}}
        text = " ".join(self.chance.choices(WORDS, k=words))
        result = {"type": "tool_result", "tool_use_id": f"c{self.count}", "content": text}
        self.rows.append(json.dumps({"role": "assistant", "content": [call]}))
        self.rows.append(json.dumps({"role": "user", "content": [result]}))
        return len(self.rows[-1]) + len(self.rows[-2])

    def next(self, words: int = 20) -> bytes:
        self._grow(words)
        return (f'{{"model":"m{self.seed}","max_tokens":64,"messages":[' + ",".join(self.rows) + self.end).encode()


# --- the servers ----------------------------------------------------------------------------------------------------

REPLY = json.dumps(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "fine"}],
        "stop_reason": "end_turn",
        "usage": {"output_tokens": 1},
    }
).encode()
_PLAIN = [(b"content-type", b"application/json"), (b"content-length", str(len(REPLY)).encode())]
_EVENTS = [(b"content-type", b"text/event-stream")]
SESSIONS: list[aiohttp.ClientSession] = []


async def _body(receive: Any) -> bytes:
    parts, more = [], True
    while more:
        event = await receive()
        parts.append(event.get("body", b""))
        more = event.get("more_body", False)
    return b"".join(parts)


async def provider(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once, or after a `wait`; a stream has the time in each event, and stays open on `hold`."""
    body = await _body(receive)
    streams = body.endswith(b'"stream":true}')
    if waits := re.search(rb"wait=(\d+)", scope["query_string"]):
        await asyncio.sleep(int(waits[1]) / 1_000)
    await send({"type": "http.response.start", "status": 200, "headers": _EVENTS if streams else _PLAIN})
    if not streams:
        await send({"type": "http.response.body", "body": REPLY})
        return
    held = b"hold" in scope["query_string"]
    for _ in range(3 if held else EVENTS):
        delta = {"type": "text_delta", "text": str(time.perf_counter())}
        event = {"type": "content_block_delta", "index": 0, "delta": delta}
        data = f"event: content_block_delta\ndata: {json.dumps(event)}\n\n".encode()
        await send({"type": "http.response.body", "body": data, "more_body": True})
        await asyncio.sleep(10 if held else PAUSE)
    await send({"type": "http.response.body", "body": b""})


async def _once(body: bytes) -> AsyncIterator[bytes]:
    """A body in one piece, as the proxy gives it to its client: a large one is sent sooner so than as bytes."""
    yield body


def bare(target: str) -> Callable[..., Awaitable[None]]:
    """A pass-through: what the stack costs by itself."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if not SESSIONS:
            SESSIONS.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False))
        query = scope["query_string"].decode()
        url = f"{target}{scope['path']}" + (f"?{query}" if query else "")
        body = await _body(receive)
        length = {"content-length": str(len(body))}
        async with SESSIONS[0].post(url, data=_once(body), headers=length) as answer:
            kept = [(key, value) for key, value in answer.raw_headers if key.lower() != b"transfer-encoding"]
            await send({"type": "http.response.start", "status": answer.status, "headers": kept})
            async for chunk in answer.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    return application


class Heart:
    """Beats in an event loop, and notes by how much each beat was late: on the clock, and in the process's own time."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.ours: list[float] = []
        self.telling = False

    async def beat(self) -> None:
        while True:
            wall, own, self.telling = time.perf_counter(), time.process_time(), False
            await asyncio.sleep(BEAT)
            if self.telling:  # to tell of thousands of beats takes longer than one, and is no work of the server's
                continue
            late = time.perf_counter() - wall - BEAT
            self.late.append(late * 1_000)
            self.ours.append(min(late, time.process_time() - own) * 1_000)

    def taken(self) -> str:
        """All beats since the last time, as JSON."""
        told = json.dumps({"clock": self.late, "ours": self.ours})
        self.late, self.ours, self.telling = [], [], True
        return told


async def until_told() -> None:
    """Until the input ends. Whoever writes a line to it is told how the heart beat."""
    heart = Heart()
    beating = asyncio.create_task(heart.beat())
    while await asyncio.to_thread(sys.stdin.readline):
        print(heart.taken(), flush=True)
    beating.cancel()


async def serve(role: str, target: str, window: str, folder: str) -> None:
    if role == "foldline":
        from foldline.archive import Archive
        from foldline.proxy.serve import Config, at_home, start
        from foldline.proxy.upstreams import Upstream

        table = (Upstream("test", target, "anthropic"),)
        archive = Archive(Path(folder) / "archive.db") if folder else None
        async with start(Config(table, window=int(window), archive=archive)) as running, at_home(running):
            print(running.url("test"), flush=True)
            await until_told()
        return
    import socket

    import uvicorn

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(2_048)
    application = provider if role == "provider" else bare(target)
    settings = uvicorn.Config(
        application, lifespan="off", log_level="critical", access_log=False, timeout_keep_alive=600
    )
    server = uvicorn.Server(settings)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await until_told()
    server.should_exit = True
    await serving
    for session in SESSIONS:
        await session.close()


class Process:
    """One of the servers, in a process of its own."""

    def __init__(self, role: str, target: str = "", window: int = 0, folder: str = "") -> None:
        arguments = [sys.executable, __file__, "--serve", role, target, str(window), folder]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def beats(self) -> dict[str, list[float]]:
        """How late its heart beat, in milliseconds, since the last time this was asked."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        beats: dict[str, list[float]] = json.loads(self.process.stdout.readline())
        return beats

    def memory(self) -> float:
        """Megabytes it holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()


# --- the measures ---------------------------------------------------------------------------------------------------

Ways = dict[str, str]
_HEADERS = {"content-type": "application/json", "x-api-key": "none"}


async def one(session: aiohttp.ClientSession, base: str, body: bytes) -> float:
    """Milliseconds from the first byte out to the last byte in."""
    before = time.perf_counter()
    async with session.post(base, data=body, headers=_HEADERS) as answer:
        said = await answer.read()
        assert answer.status == 200, (base, said)
    return (time.perf_counter() - before) * 1_000


def at(numbers: list[float], share: float) -> float:
    return sorted(numbers)[min(len(numbers) - 1, int(len(numbers) * share))]


async def latency(ways: Ways, tokens: int, count: int) -> dict[str, list[float]]:
    talk, times = Talk(tokens, seed=tokens), {name: list[float]() for name in ways}
    async with aiohttp.ClientSession() as session:
        for number in range(count + 3):
            body = talk.next()
            for name, base in ways.items():
                took = await one(session, base, body)
                await asyncio.sleep(PAUSE_BETWEEN)
                if number >= 3:
                    times[name].append(took)
    return times


async def throughput(base: str, tokens: int, connections: int, count: int, seed: int) -> float:
    """Requests a second, each connection with a conversation of its own that the server knows by then."""
    talks = [Talk(tokens, seed + number) for number in range(connections)]

    async def worker(session: aiohttp.ClientSession, talk: Talk, times: int) -> None:
        for _ in range(times):
            await one(session, base, talk.next())

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(worker(session, talk, 1) for talk in talks))
        before = time.perf_counter()
        each = max(2, count // connections)
        await asyncio.gather(*(worker(session, talk, each) for talk in talks))
        return each * connections / (time.perf_counter() - before)


async def delays(base: str) -> list[float]:
    """Milliseconds from the provider's writing of an event to its arrival here."""
    body, found = Talk(500, seed=1, stream=True).next(), []
    async with (
        aiohttp.ClientSession() as session,
        session.post(base, data=body, headers=_HEADERS) as answer,
    ):
        async for line in answer.content:
            if line.startswith(b"data:"):
                said = float(json.loads(line[5:])["delta"]["text"])
                found.append((time.perf_counter() - said) * 1_000)
    return found[5:]


async def held(process: Process, base: str) -> str:
    """Opens many streams at once, and reads the first event of each while all are open."""
    body = Talk(500, seed=2, stream=True).next()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def opened() -> aiohttp.ClientResponse:
            answer = await session.post(f"{base}&hold=1", data=body, headers=_HEADERS)
            await answer.content.readline()
            return answer

        before, began = process.memory(), time.perf_counter()
        answers = await asyncio.gather(*(opened() for _ in range(STREAMS)))
        took, more = time.perf_counter() - began, process.memory() - before
        for answer in answers:
            answer.close()
    return f"{len(answers):,} open at once after {took:.1f} s, {more * 1_000 / STREAMS:.0f} KB each"


async def memory(process: Process, base: str, count: int) -> list[float]:
    """What it holds after each fifth of so many requests."""
    held_then, seeds = [], iter(range(10_000, 10_000 + count))

    async def worker(session: aiohttp.ClientSession, times: int) -> None:
        talk = Talk(0, next(seeds))
        for number in range(1, times + 1):
            body = talk.next(STEP).replace(f'"m{talk.seed}'.encode(), b'"m', 1)
            await one(session, base, body)
            if number % STEPS == 0:
                talk = Talk(0, next(seeds))

    async with aiohttp.ClientSession() as session:
        for _ in range(5):
            await asyncio.gather(*(worker(session, count // 5 // TALKS) for _ in range(TALKS)))
            await asyncio.sleep(REST)
            held_then.append(process.memory())
    return held_then


def late(who: str, process: Process) -> None:
    beats = process.beats()
    over = sum(beat > LATE for beat in beats["ours"])
    shown = "   ".join(f"{name} {at(found, 0.99):6.1f} {max(found):6.1f}" for name, found in beats.items())
    print(f"    {who:9} beats late, ms p99 max   {shown}   ours over {LATE:.0f} ms: {over} of {len(beats['ours']):,}")


def synced(folder: str) -> str:
    """What the disk takes for a commit's bytes by itself."""
    took = []
    with open(Path(folder) / "synced", "ab", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(SYNC_BYTES))
            before = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - before) * 1_000)
            time.sleep(PAUSE_BETWEEN)
    return f"the disk by itself, ms p50 p99: {at(took, 0.5):.2f} {at(took, 0.99):.2f}"


def table(name: str, times: dict[str, list[float]]) -> str:
    shown = "   ".join(f"{way} {at(took, 0.5):8.2f} {at(took, 0.99):8.2f}" for way, took in times.items())
    for way, title in (("foldline", "added"), ("again", "unrest")):
        more = [mine - theirs for mine, theirs in zip(times[way], times["bare"], strict=True)]
        shown += f"   {title} {at(more, 0.5):7.2f} {at(more, 0.99):8.2f}"
    ratio = at(times["foldline"], 0.5) / at(times["bare"], 0.5)
    return f"{name:20} {shown}   ratio {ratio:.1f}"


async def measure(count: int, folder: str) -> None:
    upstream = Process("provider")
    relay, again = Process("bare", upstream.url), Process("bare", upstream.url)
    try:
        for state, window, kept, wait in STATES:
            proxy = Process("foldline", upstream.url, window, kept and f"{folder}/{kept}")
            bases = {"direct": upstream.url, "bare": relay.url, "foldline": proxy.url, "again": again.url}
            ways = {name: f"{base}/v1/messages{f'?wait={wait}' if wait else ''}" for name, base in bases.items()}
            try:
                if kept:
                    print(synced(folder))
                await compare(state, ways, {"bare": relay, "foldline": proxy}, count)
                if kept:
                    print(synced(folder))
                if kept == "file":
                    await endure(proxy, ways)
            finally:
                proxy.stop()
    finally:
        relay.stop()
        again.stop()
        upstream.stop()


async def compare(state: str, ways: Ways, hearts: dict[str, Process], count: int) -> None:
    for name, tokens in TOKENS.items():
        if state == "folding" and tokens < 10_000:
            continue
        repeat = max(20, count if tokens < 10_000 else count // 2)
        print(f"{state}, {name}")
        print("  " + table("ms p50 p99", await latency(ways, tokens, repeat)), flush=True)
        for connections in (1, 16):
            for heart in hearts.values():
                heart.beats()
            told = {way: base for way, base in ways.items() if way != "again"}
            rates = {way: await throughput(base, tokens, connections, repeat, 77) for way, base in told.items()}
            shown = "   ".join(f"{way} {rate:8.1f}         " for way, rate in rates.items())
            ratio = rates["bare"] / rates["foldline"]
            print(f"  {f'{connections} at once, a second':20} {shown} ratio {ratio:.1f}", flush=True)
            for who, heart in hearts.items():
                late(who, heart)


async def endure(proxy: Process, ways: Ways) -> None:
    found = {way: await delays(base) for way, base in ways.items()}
    print(table("events, ms p50 p99", found), flush=True)
    print(f"streams: {await held(proxy, ways['foldline'])}", flush=True)


async def remember(count: int, folder: str) -> None:
    upstream = Process("provider")
    try:
        for state, window in (("resting", 1_000_000), ("folding", MEMORY_WINDOW)):
            place = Path(folder) / state
            proxy = Process("foldline", upstream.url, window, str(place))
            try:
                steps = await memory(proxy, f"{proxy.url}/v1/messages", count)
            finally:
                proxy.stop()
            shown = ", ".join(f"{step:.0f}" for step in steps)
            more = steps[-1] - steps[-2]
            print(f"{state}: memory over {count:,} requests: {shown} MB; the last fifth added {more:.1f}", flush=True)
    finally:
        upstream.stop()


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        asyncio.run(serve(*sys.argv[2:6]))
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    endures = sys.argv[1:2] == ["--memory"]
    said = sys.argv[2:] if endures else sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="foldline-proxy-") as folder:
        if endures:
            asyncio.run(remember(int(said[0]) if said else REQUESTS, folder))
            return
        load = os.getloadavg()[0]
        print(f"targets: at rest {REST_P50} ms p50, {REST_P99} ms p99 added; an event {EVENT} ms. Load now: {load:.1f}")
        asyncio.run(measure(int(said[0]) if said else 200, folder))


if __name__ == "__main__":
    main()
