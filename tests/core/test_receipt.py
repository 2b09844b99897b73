"""The receipt says to people and to programs what was done, and what it cost."""

from dataclasses import replace

import pytest

from foldline.core.policy import CACHE_READ, CACHE_WRITE, cache_cost
from foldline.core.receipt import WRITTEN, Attempt, Receipt, together

HAIKU = "anthropic:claude-haiku-4-5"


def receipt(*attempts):
    return Receipt("compact", "too long", 90_000, 20_000, 60_000, messages=40, kept=4, folded=36, attempts=attempts)


def test_what_a_summary_cost_is_printed_and_given_to_programs():
    written = receipt(Attempt(HAIKU, WRITTEN, 12_400, 800))
    assert str(written).splitlines()[-2:] == [
        f"asked    {HAIKU}: written",
        f"spent    {HAIKU}: 12,400 tokens in, 800 out",
    ]
    [attempt] = written.to_dict()["attempts"]
    assert attempt == {"who": HAIKU, "outcome": "written", "input_tokens": 12_400, "output_tokens": 800}


def test_what_a_broken_cache_costs_is_told_as_a_price_and_not_as_so_many_tokens():
    """Every token written anew costs more than one: said as tokens, it would be more of them than the view has."""
    cost = cache_cost(90_000, 20_000, 0)
    assert cost.rewritten == 20_000 * (CACHE_WRITE - CACHE_READ) > 20_000
    rebased = replace(receipt(), rebased=True, rewritten=cost.rewritten, saved_per_turn=cost.saved_per_turn)
    assert str(rebased).endswith("\ncache    costs the price of 23,000 tokens once, saves that of 7,000 a turn")


def test_one_line_that_found_no_room_is_one_line():
    short = replace(receipt(), left_out=(("errors", 1), ("tasks", 2)))
    assert str(short).splitlines()[-2:] == ["no room  1 line of errors", "no room  2 lines of tasks"]


def test_nothing_is_said_of_a_cost_that_was_not_told():
    assert "spent" not in str(receipt(Attempt(HAIKU, WRITTEN)))
    [attempt] = receipt(Attempt(HAIKU, WRITTEN)).to_dict()["attempts"]
    assert (attempt["input_tokens"], attempt["output_tokens"]) == (None, None)


@pytest.mark.parametrize(
    ("attempt", "cost"),
    [
        (Attempt("m", WRITTEN, None, 800), "? tokens in, 800 out"),
        (Attempt("m", WRITTEN, 0, None), "0 tokens in, ? out"),
    ],
)
def test_of_a_cost_that_is_half_known_the_known_half_is_said(attempt, cost):
    assert str(receipt(attempt)).endswith(f"\nspent    m: {cost}")


def test_what_is_not_taken_has_cost_as_much():
    assert Attempt(HAIKU, WRITTEN, 12_400, 800).not_taken("too long") == Attempt(
        HAIKU, "not taken: too long", 12_400, 800
    )
    assert Attempt(HAIKU, "RateLimited: later").not_taken("too long") == Attempt(HAIKU, "RateLimited: later")


@pytest.mark.parametrize(("counts", "sum_"), [([], None), ([None], None), ([0], 0), ([5, None, 7], 12), ([None, 0], 0)])
def test_a_sum_is_of_what_is_known(counts, sum_):
    assert together(counts) == sum_
