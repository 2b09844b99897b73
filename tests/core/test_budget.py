"""Budgets: what a prompt may use, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.counting.budget import RESERVE_MOST, Budget, ModelInfo
from foldline.model import Notice

WINDOWS = st.integers(1, 3_000_000)


@given(WINDOWS, st.data())
def test_the_room_is_the_window_less_the_reserve(window, data):
    reserve = data.draw(st.integers(0, window - 1))
    budget = Budget(window, reserve)
    assert (budget.room, budget.reserve) == (window - reserve, reserve)


@given(WINDOWS)
def test_unless_told_a_little_is_kept_for_the_reply(window):
    budget = Budget(window)
    assert budget.room + budget.reserve == window
    assert budget.reserve == min(window // 8, RESERVE_MOST)


@given(WINDOWS, st.none() | st.integers(0, 5_000_000))
def test_a_request_may_ask_for_more_reserve_but_not_for_less_and_not_for_most_of_the_window(window, asked):
    budget = Budget(window)
    other = budget.reserving(asked)
    assert budget.reserve <= other.reserve <= max(budget.reserve, window // 2)
    assert other.room > 0
    if asked and budget.reserve <= asked <= window // 2:
        assert other.reserve == asked


def test_marks_are_shares_of_the_room():
    budget = Budget(window=200_000, reserve=20_000)
    assert (budget.at(budget.target), budget.at(budget.prune_at), budget.at(1)) == (90_000, 126_000, 180_000)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"window": 0}, "window is 0"),
        ({"window": -5}, "window is -5"),
        ({"window": 100, "reserve": -1}, "reserve is -1"),
        ({"window": 100, "reserve": 100}, "no room"),
        ({"window": 100, "max_bytes": 0}, "max_bytes is 0"),
        ({"window": 100, "prune_at": 0.9, "compact_at": 0.8}, "marks must rise"),
        ({"window": 100, "target": 0.0}, "marks must rise"),
        ({"window": 100, "compact_at": 1.1}, "marks must rise"),
        ({"window": 100, "compact_at": float("nan")}, "marks must rise"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused_with_the_reason(wrong, says):
    with pytest.raises(ValueError, match=says):
        Budget(**wrong)


def test_a_model_that_writes_little_needs_little_reserve():
    assert Budget.of(ModelInfo("small", 32_000, max_output=1_000)).reserve == 1_000
    assert Budget.of(ModelInfo("large", 200_000, max_output=64_000)).reserve == RESERVE_MOST
    assert Budget.of(ModelInfo("silent", 8_000)).reserve == 1_000
    assert Budget.of(ModelInfo("large", 200_000), reserve=5, max_bytes=9) == Budget(200_000, 5, 9)


def test_what_is_to_know_of_a_model_goes_with_its_budget():
    notice = Notice("model-unknown", "a guess")
    assert Budget.of(ModelInfo("x", 8_000, notices=(notice,))).notices == (notice,)


def test_a_changed_copy_has_its_own_room():
    assert replace(Budget(1_000, 100), reserve=300).room == 700
