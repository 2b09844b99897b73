"""Arguments: what there can be passes, and everything else is refused with what to give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core import arguments
from foldline.errors import InvalidSetting

NO_NUMBERS = [True, False, 1.0, "1", None, [1], float("nan")]
COUNTS = st.integers(1, 50)


@given(st.integers())
def test_whole_numbers_are_whole(number):
    assert arguments.is_whole(number)


@pytest.mark.parametrize("given_", NO_NUMBERS)
def test_nothing_else_is_not_even_true(given_):
    assert not arguments.is_whole(given_)


def test_a_name_is_one_of_those_there_are_or_they_are_told():
    arguments.check_known("kind", "manual", ("manual", "regular"))
    with pytest.raises(InvalidSetting, match="there is no kind 'zzz'; give one of manual, regular"):
        arguments.check_known("kind", "zzz", ("manual", "regular"))


@pytest.mark.parametrize("seconds", [0, 0.5, 180, float("inf")])
def test_any_seconds_from_0_are_a_patience(seconds):
    arguments.check_seconds("patience", seconds, "for all questions of one turn")


@pytest.mark.parametrize("seconds", [-1, -0.1, "5", None, True, float("nan")])
def test_what_is_no_patience_is_refused(seconds):
    with pytest.raises(InvalidSetting, match=r"patience is .*; give the seconds"):
        arguments.check_seconds("patience", seconds, "for all questions of one turn")


@pytest.mark.parametrize("to", [None, 1, 10_000])
def test_a_size_is_told_in_tokens_or_not_at_all(to):
    arguments.check_to(to, "the view")


@pytest.mark.parametrize("to", [0, -5, *(wrong for wrong in NO_NUMBERS if wrong is not None)])
def test_what_is_no_size_is_refused(to):
    with pytest.raises(InvalidSetting, match=r"to is .*; give the tokens the text may have"):
        arguments.check_to(to, "the text")


def test_a_focus_is_words():
    arguments.check_focus("")
    arguments.check_focus("the tests")
    for wrong in (None, 5, b"the tests"):
        with pytest.raises(InvalidSetting, match="give what to attend to as text"):
            arguments.check_focus(wrong)


@given(COUNTS, st.data())
def test_a_pivot_counts_from_either_end_and_may_stand_behind_the_last_message(count, data):
    at = data.draw(st.integers(0, count))
    assert arguments.pivot_of(at, count) == at
    if at < count:
        assert arguments.pivot_of(at - count, count) == at


@pytest.mark.parametrize("pivot", [11, -11, *NO_NUMBERS])
def test_what_is_no_pivot_is_refused(pivot):
    with pytest.raises(InvalidSetting, match=r"pivot .* names no message: there are 10, counted from 0"):
        arguments.pivot_of(pivot, 10)


@given(COUNTS, st.data())
def test_pins_count_from_either_end_in_any_iterable(count, data):
    places = data.draw(st.lists(st.integers(0, count - 1)))
    turned = [place - count if number % 2 else place for number, place in enumerate(places)]
    assert arguments.pins_of(turned, count) == arguments.pins_of(iter(turned), count) == tuple(places)


@pytest.mark.parametrize("pins", ["0", 5, None, True, [1.0], ["0"], [True], [[1]]])
def test_what_are_no_pins_is_refused(pins):
    with pytest.raises(InvalidSetting, match=r"pin is .*; give a list of the messages' indices"):
        arguments.pins_of(pins, 10)


@pytest.mark.parametrize("pin", [10, -11])
def test_a_pin_beside_the_list_is_refused(pin):
    with pytest.raises(InvalidSetting, match=f"pin {pin} names no message: there are 10"):
        arguments.pins_of([0, pin], 10)


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        (128_000, "budget is 128000; give Budget(window=128_000), or Budget.for_model('claude-sonnet-4-5')"),
        (0, "budget is 0; give Budget(window=200_000), or Budget.for_model('claude-sonnet-4-5')"),
        (-1, "budget is -1; give Budget(window=200_000), or Budget.for_model('claude-sonnet-4-5')"),
        ("gpt-5", "budget is 'gpt-5'; give Budget(window=200_000), or Budget.for_model('gpt-5')"),
        ("", "budget is ''; give Budget(window=200_000), or Budget.for_model('claude-sonnet-4-5')"),
        (True, "budget is True; give Budget(window=200_000), or Budget.for_model('claude-sonnet-4-5')"),
    ],
)
def test_what_is_no_budget_is_made_one_in_the_advice(wrong, advice):
    assert str(arguments.no_budget(wrong)) == advice
