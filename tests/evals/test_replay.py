"""What a session costs, computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.evals.sessions import coding, says

from foldline.core.policy import CACHE_READ, CACHE_WRITE
from foldline.evals.replay import cost, replay
from foldline.evals.splits import Session, size
from foldline.evals.strategies import strategies
from foldline.model import Message, Origin, ToolCall

ALL = strategies()


def test_without_management_everything_is_written_once_and_read_ever_after():
    messages = [*says("one two three", role="user"), *says("four"), *says("five six", role="user"), *says("seven")]
    first, second = size(messages[:1]), size(messages[1:3])
    assert cost(messages, tuple) == pytest.approx(CACHE_WRITE * first + (CACHE_READ * first + CACHE_WRITE * second))


def test_a_view_that_changes_at_its_start_is_written_anew_every_turn():
    messages = [*says("one two three", role="user"), *says("four"), *says("five six", role="user"), *says("seven")]

    def only_last(given):
        return given[-1:]

    assert cost(messages, only_last) == pytest.approx(
        CACHE_WRITE * size(messages[:1]) + CACHE_WRITE * size(messages[2:3])
    )


def test_a_session_that_is_never_folded_costs_what_it_costs():
    idle = replace(ALL["sliding window"], start=lambda: lambda given, *_: given)
    assert replay(Session("one", coding(0, 30).conversation()), idle) == 1.0


@pytest.mark.parametrize("name", ["foldline", "sliding window", "old results masked"])
def test_folding_at_a_threshold_is_cheaper_than_no_management(name):
    assert 0.1 < replay(Session("one", coding(0, 60).conversation()), ALL[name]) < 1.0


def test_what_a_provider_would_refuse_has_no_cost():
    hanging = Message("assistant", Origin.ASSISTANT, (ToolCall("c1", "Read", "{}"),))
    cheap = replace(ALL["sliding window"], start=lambda: lambda given, *_: given.with_messages([hanging]))
    assert replay(Session("one", coding(0, 60).conversation()), cheap) is None
