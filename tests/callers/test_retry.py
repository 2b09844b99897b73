"""When a model is asked again: a script of what comes back, and what is done next. No time passes."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.callers import Clock, Retry, caller
from foldline.callers.retry import Answer, Pause, Post, curable, persist
from foldline.core.asking import Reply
from foldline.errors import (
    AuthRejected,
    Overflow,
    Overloaded,
    RateLimited,
    Refused,
    StreamBroken,
    TimedOut,
)

from .conftest import Time
from .providers import ASK, CASES, base_of
from .server import Say

CHAT = CASES[1]
DONE = Reply("done")
CURABLE = [RateLimited("x"), Overloaded("x"), TimedOut("x"), StreamBroken("x")]
LASTING = [Overflow("x"), AuthRejected("x"), Refused("x")]
WAITS = st.none() | st.floats(0, 100)


def play(outcomes, *, retry=None, deadline=60.0, time=None, takes=0.0):
    """Run the steps against a script of outcomes; each try takes a while. Returns the steps and how it ended."""
    time = time or Time()
    steps = persist(retry or Retry(), time.clock, deadline, lambda outcome: outcome)
    done, outcome, script = [], None, iter(outcomes)
    try:
        while True:
            step = steps.send(outcome)
            done.append(step)
            if isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                time.at += takes
                outcome = next(script)
    except StopIteration as ended:
        return done, ended.value
    except tuple(type(error) for error in (*CURABLE, *LASTING)) as error:
        return done, error


def test_a_reply_ends_it():
    assert play([DONE]) == ([Post(60.0)], DONE)


@pytest.mark.parametrize("error", CURABLE, ids=repr)
def test_what_waiting_may_cure_is_tried_again_and_the_time_left_shrinks(error):
    steps, end = play([error, error, DONE])
    assert steps == [Post(60.0), Pause(0.5), Post(59.5), Pause(1.0), Post(58.5)]
    assert end is DONE


@pytest.mark.parametrize("error", LASTING, ids=repr)
def test_what_comes_back_the_same_is_not_tried_again(error):
    assert play([error, DONE]) == ([Post(60.0)], error)


def test_tries_are_bounded():
    errors = [Overloaded(str(number)) for number in range(9)]
    steps, end = play(errors, retry=Retry(tries=3))
    assert len([step for step in steps if isinstance(step, Post)]) == 3
    assert end is errors[2]


def test_a_model_is_asked_at_least_once():
    with pytest.raises(ValueError, match="at least once"):
        Retry(tries=0)


def test_the_provider_says_how_long():
    steps, _ = play([RateLimited("x", retry_after=12.0), DONE], time=Time(chance=0.5))
    assert steps[1] == Pause(12.25)


def test_a_wait_beyond_the_deadline_is_not_begun():
    steps, end = play([RateLimited("x", retry_after=61.0), DONE])
    assert steps == [Post(60.0)]
    assert end.retry_after == 61.0


def test_chance_shortens_a_pause_by_at_most_half():
    pauses = [Retry().pause(1, None, chance) for chance in (0.0, 0.5, 1.0)]
    assert pauses == [0.5, 0.375, 0.25]


def test_pauses_double_up_to_the_longest():
    assert [Retry(tries=99).pause(tried, None, 0.0) for tried in (1, 2, 3, 4, 5, 6, 90)] == [
        0.5,
        1.0,
        2.0,
        4.0,
        8.0,
        8.0,
        8.0,
    ]


@given(st.lists(WAITS, max_size=8), st.floats(0.1, 100), st.floats(0, 30), st.floats(0, 1), st.integers(1, 6))
def test_one_deadline_holds_for_tries_and_pauses_together(waits, deadline, takes, chance, tries):
    time = Time(chance)
    start = time.at
    outcomes = itertools.chain((RateLimited("x", retry_after=wait) for wait in waits), itertools.repeat(DONE))
    steps, _ = play(outcomes, retry=Retry(tries=tries), deadline=deadline, time=time, takes=takes)
    posts = [step for step in steps if isinstance(step, Post)]
    assert 1 <= len(posts) <= tries
    assert all(0 <= post.seconds <= deadline + 1e-6 for post in posts)
    assert time.at - takes - start <= deadline + 1e-6


@pytest.mark.parametrize(
    ("error", "headers", "again"),
    [
        (Overloaded("x", status=500), {}, True),
        (Overloaded("x", status=500), {"x-should-retry": "false"}, False),
        (Overloaded("x", status=500), {"x-should-retry": "true"}, True),
        (RateLimited("x", status=413), {}, False),
        (RateLimited("x", status=413), {"x-should-retry": "true"}, True),
        (Overflow("x", status=413), {"x-should-retry": "true"}, False),
        (AuthRejected("x", status=401), {"x-should-retry": "true"}, False),
        (Refused("x", status=400), {"x-should-retry": "true"}, False),
    ],
)
def test_the_server_may_say_whether_to_try_again(error, headers, again):
    assert curable(error, headers) is again


def test_an_answer_does_not_show_its_body():
    assert repr(Answer(200, {"x": "secret"}, b"secret")) == "Answer(status=200)"


# --- over a real connection ---------------------------------------------------------------------------------------


def ask(server, way, time, *script, **options):
    server.says(*script)
    return way(caller(CHAT.name, base_url=base_of(CHAT, server.url), clock=time.clock, **options), ASK)


def test_a_real_429_is_waited_out(server, way, fake_time):
    reply = ask(server, way, fake_time, Say(429, b"", {"retry-after": "7"}), Say(200, CHAT.reply))
    assert reply.stop == "end"
    assert fake_time.slept == [7.0]
    assert len(server.heard) == 2
    assert server.heard[0].json == server.heard[1].json


def test_a_date_is_measured_against_the_answers_own_clock(server, way, fake_time):
    headers = {"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT", "date": "Fri, 31 Dec 2100 23:59:50 GMT"}
    ask(server, way, fake_time, Say(503, b"", headers), Say(200, CHAT.reply))
    assert fake_time.slept == [9.0]


def test_x_should_retry_is_obeyed(server, way, fake_time):
    with pytest.raises(Overloaded):
        ask(server, way, fake_time, Say(500, b"", {"x-should-retry": "false"}), Say(200, CHAT.reply))
    assert len(server.heard) == 1


def test_the_pauses_use_the_clock_they_are_given(server, way):
    time = Time(chance=1.0)
    with pytest.raises(Overloaded):
        ask(server, way, time, Say(529))
    assert time.slept == [0.25, 0.5, 1.0]


def test_the_real_clock_sleeps(server, way):
    server.says(Say(500), Say(200, CHAT.reply))
    quick = caller(CHAT.name, base_url=base_of(CHAT, server.url), retry=Retry(first=0.01), clock=Clock())
    assert way(quick, ASK).stop == "end"


def test_two_asks_at_once_do_not_disturb_each_other(server):
    server.says(Say(200, CHAT.reply))
    one = caller(CHAT.name, base_url=base_of(CHAT, server.url))

    async def both():
        return await asyncio.gather(*(one.aask(ASK) for _ in range(8)))

    assert {reply.stop for reply in asyncio.run(both())} == {"end"}
    assert len(server.heard) == 8
