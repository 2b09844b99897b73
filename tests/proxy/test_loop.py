"""The event loop is free for others: what is large is read beside it, and a process of our own is tidied when idle."""

import asyncio
import gc
import json
import os
import platform
import sys
import threading
import weakref
from contextlib import contextmanager

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proxy.client import grow, proxy, request, talk
from tests.proxy.provider import DIALECTS, Provider, events, reply, says, streams

from foldline import Archive
from foldline.proxy import serve, signals
from foldline.proxy.door import LONG
from foldline.proxy.health import Health
from foldline.proxy.serve import Running, at_home
from foldline.proxy.signals import LARGE, Events, loaded
from foldline.proxy.turn import Turns

REQUESTS = int(os.environ.get("FOLDLINE_REQUESTS", "0"))
"""Takes minutes, so it is asked for: 2,000 are enough to see a leak."""
each = pytest.mark.parametrize("dialect", DIALECTS)
scalars = st.none() | st.booleans() | st.integers() | st.text()


def resident():
    """Megabytes."""
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def saved_garbage():
    """What only the search for garbage would have found."""
    found = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def ring():
    """Garbage, known by a weak reference."""

    class Ring:
        pass

    one = Ring()
    one.itself = one
    return weakref.ref(one)


def where(thing):
    """The file whose code made it: a frame's own, or its class's."""
    code = getattr(thing, "f_code", None)
    return code.co_filename if code else type(thing).__module__.replace(".", "/")


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
    monkeypatch.setattr(serve, "TIDY_QUIET", 2_000)
    before, health, tidied = (sys.getswitchinterval(), gc.isenabled()), Health(), threading.Event()

    def noted(phase, info):
        if phase == "start" and info["generation"] == 2:
            tidied.set()

    async with at_home(Running("127.0.0.1", 1, "s", None, health, None)):
        assert sys.getswitchinterval() < before[0]
        assert not gc.isenabled(), "nobody waits for a search that finds nothing"
        gc.callbacks.append(noted)
        try:
            health.begin()
            new = [[] for _ in range(3_000)]
            await asyncio.sleep(0.05)
            assert not tidied.is_set(), "a request is open"
            health.end()
            await asyncio.sleep(0.3)
            assert tidied.is_set(), f"there are {len(new):,} more"
            tidied.clear()
            await asyncio.sleep(0.05)
            assert not tidied.is_set(), "there are no more"
        finally:
            gc.callbacks.remove(noted)
    assert (sys.getswitchinterval(), gc.isenabled()) == before


@pytest.mark.anyio
async def test_long_requests_are_read_one_by_one_and_short_ones_beside_them(provider, monkeypatch):
    """Threads that compute for long take turns at the interpreter, and the event loop waits for a turn of each."""
    at_work, most, short_done, real = [], [], threading.Event(), Turns.read

    def watched(self, route, upstream, sent, coding):
        at_work.append(len(sent))
        most.append(sum(size > LONG for size in at_work))
        if len(sent) > LONG:
            assert short_done.wait(10), "a short one has to get past"
        try:
            return real(self, route, upstream, sent, coding)
        finally:
            at_work.remove(len(sent))

    monkeypatch.setattr(Turns, "read", watched)
    async with proxy(provider) as client:
        talks = [talk("anthropic", 4, words=words, secret=f"{words}") for words in (8_000, 8_500, 9_000)]
        long = [asyncio.create_task(client.ask("anthropic", request(one))) for one in talks]
        while not at_work:
            await asyncio.sleep(0.005)
        assert (await client.ask("anthropic", request(talk("anthropic", 2))))[0] == 200
        short_done.set()
        assert [(await one)[0] for one in long] == [200] * 3
    assert max(most) == 1


@each
@pytest.mark.anyio
async def test_a_request_that_ends_well_leaves_no_garbage(provider, dialect):
    """So none has to be looked for while somebody waits: long conversations are long to look through."""
    async with proxy(provider, window=3_000) as client:
        session = talk(dialect, 4)
        await client.ask(dialect, request(session))
        with saved_garbage() as found:
            for stream in (False, True) * 4:
                grow(session, len(session.messages), 200)
                assert (await client.ask(dialect, request(session), stream=stream))[0] == 200
            provider.scripts = [says({"error": {"message": "slow down"}}, 429)]
            assert (await client.ask(dialect, request(session)))[0] == 429
            await client.running.door.close_behind()
        assert not [one for one in found if "foldline/proxy" in where(one)]


@pytest.mark.anyio
async def test_what_a_broken_request_leaves_is_looked_for_though_others_wait(provider, monkeypatch):
    monkeypatch.setattr(serve, "TIDY_EVERY", 0.005)
    body = request(talk("anthropic", 20))
    async with proxy(provider) as client, at_home(client.running):
        health, collections = client.running.health, sum(state["collections"] for state in gc.get_stats())
        provider.scripts = [streams(*events("anthropic", "never ends", 100)[:4], cut=True)]
        with pytest.raises(aiohttp.ClientPayloadError):
            await client.ask("anthropic", body, stream=True)
        assert health.wrecked > len(json.dumps(body)) / 2
        health.begin()
        await asyncio.sleep(0.05)
        assert sum(state["collections"] for state in gc.get_stats()) == collections, "so little can wait"
        monkeypatch.setattr(serve, "TIDY_WRECKS", health.wrecked)
        await asyncio.sleep(0.1)
        health.end()
        assert not health.wrecked
        assert sum(state["collections"] for state in gc.get_stats()) > collections


@pytest.mark.anyio
async def test_many_new_objects_are_looked_through_though_somebody_waits(monkeypatch):
    monkeypatch.setattr(serve, "TIDY_EVERY", 0.005)
    monkeypatch.setattr(serve, "TIDY_BUSY", 2_000)
    health = Health()
    health.begin()
    async with at_home(Running("127.0.0.1", 1, "s", None, health, None)):
        gone = ring()
        assert gone() is not None
        new = [[] for _ in range(3_000)]
        await asyncio.sleep(0.1)
        assert gone() is None, f"there are {len(new):,} more"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only this library can be asked for it")
@pytest.mark.anyio
async def test_memory_that_is_free_is_given_back(monkeypatch):
    monkeypatch.setattr(serve, "TIDY_EVERY", 0.005)
    health = Health()
    bodies = [bytes(40_000) for _ in range(2_000)]
    stay = bodies[::10]
    del bodies
    before = resident()
    async with at_home(Running("127.0.0.1", 1, "s", None, health, None)):
        for _ in range(serve.GIVE_BACK):
            health.tell({"status": 200})
        await asyncio.sleep(0.3)
    assert before - resident() > 30, "of 72 MB"
    assert len(stay) == 200


@pytest.mark.skipif(not REQUESTS, reason="set FOLDLINE_REQUESTS, to 2000 or more")
@pytest.mark.anyio
@pytest.mark.parametrize("window", [1_000_000, 4_000], ids=["resting", "folding"])
async def test_memory_stays_flat(tmp_path, window):
    """Conversations come, grow and go. Once as many were there as are kept at hand, nothing is added any more."""
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
