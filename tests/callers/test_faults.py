"""Everything that goes wrong at a provider's, for each provider, sync and async: which error, after how many tries."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from foldline.callers import Clock, Retry, caller
from foldline.callers import sending as sending_module
from foldline.errors import (
    AuthRejected,
    Overflow,
    Overloaded,
    RateLimited,
    Refused,
    StreamBroken,
    TimedOut,
)

from .providers import ASK, CASES, base_of
from .server import Say, closed_port

EACH = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
TRIES = 4


def ask(server, way, clock, case, *script, **options):
    server.says(*script)
    return way(caller(case.name, key="k-1", base_url=base_of(case, server.url), clock=clock, **options), ASK)


STATUSES = [
    (301, Refused, 1),
    (302, Refused, 1),
    (307, Refused, 1),
    (308, Refused, 1),
    (400, Refused, 1),
    (401, AuthRejected, 1),
    (402, Refused, 1),
    (403, AuthRejected, 1),
    (404, Refused, 1),
    (408, TimedOut, TRIES),
    (409, Overloaded, TRIES),
    (413, Overflow, 1),
    (422, Refused, 1),
    (429, RateLimited, TRIES),
    (500, Overloaded, TRIES),
    (502, Overloaded, TRIES),
    (503, Overloaded, TRIES),
    (504, TimedOut, TRIES),
    (529, Overloaded, TRIES),
]


@EACH
@pytest.mark.parametrize(("status", "kind", "tries"), STATUSES, ids=[str(row[0]) for row in STATUSES])
def test_a_status_is_what_it_is_and_tried_as_often_as_makes_sense(server, way, fake_time, case, status, kind, tries):
    elsewhere = {"location": f"{server.url}/elsewhere"} if status < 400 else {}
    with pytest.raises(kind) as caught:
        ask(server, way, fake_time.clock, case, Say(status, b"", elsewhere))
    assert type(caught.value) is kind
    assert caught.value.status == status
    assert len(server.heard) == tries
    assert case.name in str(caught.value)
    assert str(status) in str(caught.value)


@EACH
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_fault_that_passes_costs_one_more_try(server, way, fake_time, case, status):
    reply = ask(server, way, fake_time.clock, case, Say(status, "<html>sorry</html>"), Say(200, case.reply))
    assert reply.stop == "end"
    assert len(server.heard) == 2


@EACH
@pytest.mark.parametrize("after", ["2", None])
def test_a_rate_limit_is_never_an_overflow(server, way, fake_time, case, after):
    headers = {"retry-after": after} if after else {}
    body = {"error": {"message": "Too many tokens: maximum context length is 5 tokens", "code": "rate_limit_exceeded"}}
    with pytest.raises(RateLimited) as caught:
        ask(server, way, fake_time.clock, case, Say(429, body, headers))
    assert caught.value.retry_after == (2.0 if after else None)
    assert fake_time.slept == ([2.0] * 3 if after else [0.5, 1.0, 2.0])


@EACH
def test_an_overflow_is_told_at_once_with_its_numbers(server, way, fake_time, case):
    said = {"error": {"message": "This model's maximum context length is 8 tokens. However, you requested 9 tokens."}}
    with pytest.raises(Overflow) as caught:
        ask(server, way, fake_time.clock, case, Say(400, said), Say(200, case.reply))
    assert (caught.value.tokens, caught.value.limit) == (9, 8)
    assert len(server.heard) == 1


BODIES = {
    "nothing": (Say(200, b""), StreamBroken, TRIES),
    "white space": (Say(200, b" \n"), StreamBroken, TRIES),
    "half of it, and hung up": (Say(200, b'{"x": "' + "你好".encode() * 50, cut=150), StreamBroken, TRIES),
    "half a character, as if whole": (Say(200, b'{"x": "\xe4\xbd', length=False), StreamBroken, TRIES),
    "garbage": (Say(200, b"\x00\xff\x17garbage"), Refused, 1),
    "a web page": (Say(200, "<!doctype html><p>Sign in", {"content-type": "text/html"}), Refused, 1),
    "a list": (Say(200, [1, 2]), Refused, 1),
    "a number": (Say(200, b"12"), Refused, 1),
    "another form": (Say(200, {"hello": "world"}), Refused, 1),
    "nested without end": (Say(200, b"[" * 100_000), Refused, 1),
    "a number without end": (Say(200, b'{"x": ' + b"9" * 10_000 + b"}"), StreamBroken, TRIES),
    "an overflow, as 200": (Say(200, {"error": {"code": "context_length_exceeded"}}), Overflow, 1),
    "an overflow, in its own form": (
        Say(200, {"base_resp": {"status_msg": "context window exceeds limit"}}),
        Overflow,
        1,
    ),
    "a rate limit, as 200": (Say(200, {"error": {"code": 429, "message": "slow down"}}), RateLimited, TRIES),
    "an overload, as 200": (Say(200, {"type": "error", "error": {"type": "overloaded_error"}}), Overloaded, TRIES),
    "a wrong key, as 200": (Say(200, {"error": {"code": "invalid_api_key"}}), AuthRejected, 1),
    "a fault, as 200": (Say(200, {"error": "it broke"}), Refused, 1),
    "hung up": (Say(hang_up=True), StreamBroken, TRIES),
}


@EACH
@pytest.mark.parametrize("body", BODIES)
def test_a_spoilt_answer_is_an_error_and_never_half_a_reply(server, way, fake_time, case, body):
    say, kind, tries = BODIES[body]
    with pytest.raises(kind) as caught:
        ask(server, way, fake_time.clock, case, say)
    assert type(caught.value) is kind
    assert len(server.heard) == tries


@EACH
def test_a_real_reply_cut_anywhere_is_never_half_a_reply(server, fake_time, case):
    whole = json.dumps(case.reply, ensure_ascii=False).encode()
    one = caller(case.name, base_url=base_of(case, server.url), clock=fake_time.clock, retry=Retry(tries=1))
    for cut in range(0, len(whole) - 1, 29):
        server.says(Say(200, whole[:cut], length=False))
        with pytest.raises(StreamBroken):
            one.ask(ASK)


def test_a_wrong_content_type_does_not_matter_when_the_body_is_right(server, way, fake_time):
    say = Say(200, CASES[0].reply, {"content-type": "text/plain"})
    assert ask(server, way, fake_time.clock, CASES[0], say).stop == "end"


def test_a_redirect_is_not_followed_and_the_key_stays(server, way, fake_time):
    for status in (301, 302, 303, 307, 308):
        with pytest.raises(Refused, match="redirect"):
            ask(server, way, fake_time.clock, CASES[0], Say(status, b"", {"location": f"{server.url}/v1/messages"}))
        assert len(server.heard) == 1


def test_an_endless_reply_is_given_up(server, way, fake_time, monkeypatch):
    monkeypatch.setattr(sending_module, "REPLY_MOST", 10_000)
    with pytest.raises(Refused, match="10,000 bytes"):
        ask(server, way, fake_time.clock, CASES[0], Say(200, b"{" + b" " * 200_000))


def test_nobody_there_is_said_after_all_tries(way, fake_time):
    with closed_port() as port, pytest.raises(Overloaded, match="ollama:x cannot be reached"):
        way(caller("ollama:x", base_url=f"http://127.0.0.1:{port}", clock=fake_time.clock), ASK)
    assert len(fake_time.slept) == TRIES - 1


# --- the deadline, in real time -----------------------------------------------------------------------------------

DEADLINE = 0.4
SLACK = 1.5
"""Seconds a busy machine may add."""

SLOW = {
    "answers late": Say(200, CASES[0].reply, wait=3.0),
    "drips its body": Say(200, b'{"content": "' + b"x" * 5_000, drip=0.05),
    "drips its headers": Say(drip_headers=0.05),
    "says 500 late": Say(500, wait=0.3),
}


@pytest.mark.parametrize("slow", SLOW)
def test_the_deadline_holds(server, way, slow):
    clock = Clock(chance=lambda: 0.0)
    start = time.monotonic()
    with pytest.raises((TimedOut, Overloaded)) as caught:
        ask(server, way, clock, CASES[0], SLOW[slow], deadline=DEADLINE)
    assert time.monotonic() - start < DEADLINE + SLACK
    assert type(caught.value) is (Overloaded if slow == "says 500 late" else TimedOut)


def test_a_thread_left_behind_by_the_deadline_hangs_up(server):
    server.says(SLOW["drips its body"])
    with pytest.raises(TimedOut):
        caller(CASES[0].name, base_url=server.url, deadline=DEADLINE).ask(ASK)
    assert server.gone.wait(3.0)


def test_a_cancelled_ask_ends_at_once_and_hangs_up(server):
    server.says(Say(200, b'{"content": "' + b"x" * 5_000, drip=0.02))

    async def cancel() -> None:
        task = asyncio.create_task(caller(CASES[0].name, base_url=server.url).aask(ASK))
        await asyncio.sleep(0.3)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert server.gone.wait(3.0)


def test_an_error_of_the_program_is_not_taken_for_a_timeout(server, monkeypatch):
    monkeypatch.setattr(sending_module, "_answer", lambda *_: 1 / 0)
    server.says(Say(200, CASES[0].reply))
    with pytest.raises(ZeroDivisionError):
        caller(CASES[0].name, base_url=server.url).ask(ASK)


def test_an_address_that_cannot_be_asked_is_refused(way, fake_time):
    odd = caller("openai-compatible:x", base_url="http://127.0.0.1/\x01", clock=fake_time.clock)
    with pytest.raises(Refused, match="check base_url"):
        way(odd, ASK)
    assert fake_time.slept == []
