"""What a summariser is asked: all that its window has room for, and no more than it can write."""

from __future__ import annotations

import pytest

from foldline.core.asking import Reply
from foldline.core.counting.budget import Budget
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.effects import Asking, Save
from foldline.core.engine import turn
from foldline.core.options import Options, Writer
from foldline.core.summaries.prompts import prompt, repair_request, summary_request
from foldline.core.summaries.render import fence
from foldline.core.summarise import AROUND, LEAST_ROOM, MARGIN
from foldline.testing import SUMMARY, Session
from foldline.tokens import best_counter

ROOM = Budget(window=4_000, reserve=500)
REQUESTS = ("checkpoint", "update", "full", "from", "up-to", "report", "brief")
COUNTED = ("system", "frame", "analysis", "reminder", "focus", "project")
FAULT = "the reply says nothing under its headings, or only repeats the form it was given"
"""The longest of all that are said of a reply."""
BEFORE = "[previous checkpoint]\n\n\n[since then]\n"


def asks_of(writer, *replies, style="checkpoint", focus=""):
    """All that the writer is asked, to fold a long history; its replies come in their order, the last for ever."""
    session = Session(system="You are careful.").user("Sort the handlers.")
    for number in range(300):
        session.assistant(f"Handler {number} is sorted.").user("Go on.")
    options = Options(ROOM, secret=b"s", model=writer, style=style, focus=focus)
    steps, asked, given = turn(session.conversation(), options, Meter(Estimator())), [], iter(replies)
    effect = next(steps)
    while not isinstance(effect, Save):
        answers = [Reply(next(given, SUMMARY)) for _ in effect.asks] if isinstance(effect, Asking) else None
        asked += effect.asks if isinstance(effect, Asking) else ()
        effect = steps.send(answers)
    return asked


@pytest.mark.parametrize("counter", [Estimator(), best_counter()], ids=["estimated", "counted"])
def test_what_stands_around_a_record_takes_nearly_what_is_set_aside_for_it(counter):
    size, most = Meter(counter).text, 0
    for name in REQUESTS:
        wanted = summary_request(name, fence(BEFORE, b"s"), focus="f", instructions="i")
        ask = repair_request(wanted, f"{FAULT}; be briefer")
        prompts = sum(size(prompt(part).text) for part in (*COUNTED, name))
        most = max(most, size(ask.system) + size(ask.prompt) - prompts)
    assert AROUND * 0.8 < most <= AROUND


@pytest.mark.parametrize("window", [2_600, 3_000, 4_000, 8_000])
def test_no_request_is_larger_than_a_window_takes_and_the_largest_fills_most_of_it(window):
    size = Meter(Estimator()).text
    asked = asks_of(Writer("small", window=window), "no summary", focus="the order of the handlers")
    sizes = [size(ask.system) + size(ask.prompt) + ask.max_tokens for ask in asked]
    assert 0.8 * window * MARGIN < max(sizes) <= window * MARGIN


def test_a_model_is_not_asked_to_write_more_than_it_can():
    assert {ask.max_tokens for ask in asks_of(Writer("terse", max_tokens=100))} == {100}


def test_a_window_without_room_for_a_record_is_not_asked():
    size = Meter(Estimator()).text
    fixed = sum(size(prompt(name).text) for name in (*COUNTED, "checkpoint")) + 100 + AROUND
    least = -(-(fixed + LEAST_ROOM) // MARGIN)
    assert asks_of(Writer("small", window=int(least), max_tokens=100))
    assert asks_of(Writer("small", window=int(least) - 2, max_tokens=100)) == []
