"""What is done follows from the size alone and from what was done before; it never gets milder as the size grows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.counting.budget import Budget
from foldline.core.policy import EMERGENCY_SHARES, MAX_IN_ROW, CacheCost, Past, at_ease, cache_cost, decide, emergency
from foldline.errors import CannotFit

BUDGET = Budget(window=120_000, reserve=20_000)
SEVERITY = {"rest": 0, "prune": 1, "compact": 2}
budgets = st.builds(
    lambda window, share: Budget(window=window, reserve=int(window * share)), st.integers(100, 10**7), st.floats(0, 0.9)
)
pasts = st.builds(Past, st.integers(0, 60), st.none() | st.integers(0, 10**7))


@pytest.mark.parametrize(
    ("tokens", "action"),
    [(0, "rest"), (70_000, "rest"), (70_001, "prune"), (100_000, "prune"), (100_001, "compact"), (10**9, "compact")],
)
def test_thresholds_are_strict(tokens, action):
    decision = decide(tokens, BUDGET)
    assert decision.action == action
    assert f"{tokens:,}" in decision.reason


@given(budgets, pasts, st.integers(0, 10**8), st.integers(0, 10**8))
def test_more_tokens_never_mean_a_milder_action(budget, past, first, second):
    small, large = sorted((first, second))
    assert SEVERITY[decide(small, budget, past).action] <= SEVERITY[decide(large, budget, past).action]


@given(budgets, pasts, st.integers(0, 10**8))
def test_nothing_over_the_room_rests_and_nothing_within_is_compacted(budget, past, tokens):
    assert (decide(tokens, budget, past).action == "compact") is (tokens > budget.room)


@given(budgets, pasts, st.integers(0, 10**8))
def test_a_target_is_a_size_that_helps(budget, past, tokens):
    decision = decide(tokens, budget, past)
    if decision.action == "compact":
        assert 1 <= decision.target < max(tokens, 2)
    else:
        assert decision.target == budget.room


def test_a_compaction_soon_after_the_last_counts_as_one_in_a_row():
    after = Past(in_row=1, tokens_after=95_000)
    assert decide(100_001, BUDGET, after).in_row == 2
    assert decide(105_000, BUDGET, after).in_row == 1
    assert decide(104_999, BUDGET, after).in_row == 2
    assert decide(100_001, BUDGET, Past(in_row=5)).in_row == 1
    assert decide(100_001, BUDGET).in_row == 1


def test_each_in_a_row_gets_a_smaller_target_and_after_two_it_is_a_storm():
    tokens_after, past, seen = 99_000, Past(1, 99_000), []
    for _ in range(4):
        decision = decide(100_001, BUDGET, past)
        seen.append((decision.in_row, decision.target, decision.storm))
        past = Past(decision.in_row, tokens_after)
    assert seen == [(2, 25_000, False), (3, 12_500, True), (4, 6_250, True), (5, 3_125, True)]
    assert "compaction 5 in a row" in decision.reason
    assert MAX_IN_ROW == 2


@given(budgets, st.integers(0, 100))
def test_the_target_falls_with_every_compaction_in_a_row(budget, in_row):
    tokens = budget.room + 1
    first, second = (decide(tokens, budget, Past(row, tokens)) for row in (in_row, in_row + 1))
    assert second.target <= first.target
    assert (second.target, second.in_row) != (first.target, first.in_row)
    assert second.storm >= first.storm


def test_bytes_alone_call_for_a_compaction_and_strictly_so():
    heavy = Budget(window=120_000, reserve=20_000, max_bytes=1_000)
    assert decide(10, heavy, bytes_=1_000).action == "rest"
    decision = decide(10, heavy, bytes_=1_001)
    assert (decision.action, "1,000 bytes" in decision.reason) == ("compact", True)
    assert decide(10, BUDGET, bytes_=10**12).action == "rest"


@given(budgets.filter(lambda budget: budget.room >= 20), st.sampled_from([1.0, 0.9]))
def test_after_a_view_at_ease_the_next_compaction_is_not_the_second_in_a_row(budget, mark):
    budget = replace(budget, compact_at=mark)
    eased, limit = at_ease(budget), budget.at(mark)
    assert 1 <= eased < limit
    assert decide(limit + 2, budget, Past(1, eased)).in_row == 1
    assert decide(limit + 1, budget, Past(1, eased + 3)).in_row != 1  # a little larger, and it would be


def test_with_a_lower_mark_a_compaction_waits_for_enough_new_tokens_as_long_as_there_is_room():
    early = Budget(window=120_000, reserve=20_000, compact_at=0.8)
    after = Past(in_row=1, tokens_after=79_000)
    assert decide(80_001, early, after).action == "prune"
    assert decide(88_999, early, after).action == "prune"
    assert decide(89_000, early, after).action == "compact"
    kept = Past(in_row=1, tokens_after=95_000)
    assert decide(100_000, early, kept).action == "prune"
    assert decide(100_001, early, kept).action == "compact"


def test_a_lower_mark_for_compaction_is_obeyed_and_named():
    early = Budget(window=120_000, reserve=20_000, compact_at=0.8)
    assert decide(80_000, early).action == "prune"
    assert decide(80_001, early).reason == "80,001 tokens are over 80,000"


@given(st.integers(0, 10**7), st.integers(2, 10**7), st.integers(0, 9))
def test_an_emergency_goes_strictly_below_what_was_tried(limit, tried, attempt):
    target = emergency(limit, attempt, tried)
    assert 1 <= target < tried
    assert target <= max(limit, 1)


@given(st.integers(1, 10**7), st.integers(2, 10**7))
def test_every_try_is_smaller_until_nothing_is_left(limit, tried):
    attempts = 0
    while tried > 1:
        target = emergency(limit, attempts, tried)
        assert target < tried
        tried, attempts = target, attempts + 1
    assert attempts < 100
    with pytest.raises(CannotFit, match="none smaller") as refused:
        emergency(limit, attempts, tried)
    assert (refused.value.tokens, refused.value.allowed) == (1, limit)


@given(st.integers(2, 10**6), st.integers(2, 10**6))
def test_later_tries_go_further_down(limit, tried):
    targets = [emergency(limit, attempt, tried) for attempt in range(len(EMERGENCY_SHARES) + 2)]
    assert targets == sorted(targets, reverse=True)
    assert targets[-1] <= max(min(limit, tried) // 2, 1)


def test_the_tries_after_a_refusal_are_few_so_the_third_aims_at_half():
    assert [emergency(1_000, attempt, 10_000) for attempt in range(4)] == [900, 700, 500, 500]


@pytest.mark.parametrize(("rewritten", "pays"), [(20_000, True), (20_001, False)])
def test_a_broken_cache_has_to_be_paid_back_within_twenty_turns(rewritten, pays):
    assert CacheCost(rewritten, saved_per_turn=1_000).pays is pays


def test_the_cost_of_a_broken_cache():
    assert cache_cost(100_000, 40_000, 10_000) == CacheCost(rewritten=34_500, saved_per_turn=6_000)
    assert CacheCost(34_500, 6_000).turns_to_pay == 5.75
    assert cache_cost(10, 10, 10).turns_to_pay == float("inf")


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_costs_are_never_negative(before, after, shared):
    cost = cache_cost(before, after, shared)
    assert cost.rewritten >= 0
    assert cost.saved_per_turn >= 0
    assert cost.turns_to_pay >= 0
