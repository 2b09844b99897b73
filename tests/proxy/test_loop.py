"""The event loop is free for others: what is large is read beside it, and a process of our own is tidied when idle."""

import asyncio
import gc
import json
import os
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proxy.client import proxy, request, talk
from tests.proxy.provider import DIALECTS, Provider, events, reply, says, streams

from foldline import Archive
from foldline.proxy import serve, signals
from foldline.proxy.health import Health
from foldline.proxy.serve import Running, at_home
from foldline.proxy.signals import LARGE, Events, loaded

REQUESTS = int(os.environ.get("FOLDLINE_REQUESTS", "0"))
"""Takes minutes, so it is asked for: 2,000 are enough to see a leak."""
each = pytest.mark.parametrize("dialect", DIALECTS)
scalars = st.none() | st.booleans() | st.integers() | st.text()


def objects(inner):
    return st.dictionaries(st.text(max_size=9), inner, max_size=4)


values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | objects(inner))


@settings(max_examples=25)  # a large text each
@given(objects(values))
def test_what_is_large_is_read_as_the_small_is(value):
    data = json.dumps(value).encode()
    large = data[:-1] + (b", " if value else b"") + b'"padding": "' + b"x" * LARGE + b'"}'
    assert loaded(data) == value
    assert loaded(large) == {**value, "padding": "x" * LARGE}
    assert loaded(large[:-1]) is None


def test_an_event_of_many_pieces_is_found_and_each_piece_is_looked_at_once():
    feed = Events()
    found = [data for _ in range(200) for data in feed.feed(b"data: x\r\n"[:7] + b"y" * 100)]
    assert found == []
    assert list(feed.feed(b"\r\n\r")) == []
    assert [len(data) for data in feed.feed(b"\ndata: end\n\n")] == [200 * 107 - 6, 3]


@each
@pytest.mark.anyio
async def test_a_large_answer_is_heard_in_a_thread(provider, dialect, monkeypatch):
    where = []
    real = signals.loaded
    monkeypatch.setattr(
        signals, "loaded", lambda data: where.append((len(data), threading.current_thread())) or real(data)
    )
    text = "word" * (LARGE // 3)
    async with proxy(provider) as client:
        body = request(talk(dialect, 2))
        provider.scripts = [says(reply(dialect, text, 600)), streams(*events(dialect, text, 600))]
        for stream in (False, True):
            status, said, _ = await client.ask(dialect, body, stream=stream)
            assert status == 200
            assert len(said) > LARGE
    large = {thread for size, thread in where if size > LARGE}
    assert large
    assert threading.main_thread() not in large


@pytest.mark.anyio
async def test_a_process_of_its_own_is_tidied_when_nobody_waits(monkeypatch):
    monkeypatch.setattr(serve, "TIDY_EVERY", 0.005)
    monkeypatch.setattr(serve, "TIDY_QUIET", 3)
    before, health, tidied = (sys.getswitchinterval(), gc.get_threshold()), Health(), threading.Event()

    def noted(phase, info):
        if phase == "start" and info["generation"] == 2:
            tidied.set()

    async with at_home(Running("127.0.0.1", 1, "s", None, health, None)):
        assert sys.getswitchinterval() < before[0]
        gc.callbacks.append(noted)
        try:
            health.begin()
            for _ in range(5):
                health.tell({"status": 200})
            await asyncio.sleep(0.05)
            assert not tidied.is_set(), "a request is open"
            health.end()
            await asyncio.sleep(0.3)
            assert tidied.is_set()
        finally:
            gc.callbacks.remove(noted)
    assert (sys.getswitchinterval(), gc.get_threshold()) == before


@pytest.mark.skipif(not REQUESTS, reason="set FOLDLINE_REQUESTS, to 2000 or more")
@pytest.mark.anyio
@pytest.mark.parametrize("window", [1_000_000, 4_000], ids=["resting", "folding"])
async def test_memory_stays_flat(tmp_path, window):
    """Conversations come, grow and go. Once as many were there as are kept at hand, nothing is added any more."""

    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    held, archive = [], Archive(tmp_path / "archive.db")
    async with Provider() as provider, proxy(provider, window=window, archive=archive) as client:
        for number in range(REQUESTS // 10):
            session = talk("anthropic", 10, words=100, secret=f"conversation {number}")
            for turn in range(10):
                session.tools(("read", "{}", f"more {number} {turn} " * 50))
                assert (await client.ask("anthropic", request(session)))[0] == 200
            provider.got.clear()
            held.append(resident())
    half, end = held[len(held) // 2], held[-1]
    assert end - half < 0.05 * half, f"{half:.0f} MB became {end:.0f} MB"
