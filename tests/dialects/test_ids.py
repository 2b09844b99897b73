"""Ids for calls that have none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.dialects.ids import Numbers, assign, is_made, made_id, name_in
from foldline.model import Message, Origin, Text, ToolCall, ToolResult


def _step(*calls):
    return Message("assistant", Origin.ASSISTANT, tuple(ToolCall(id_ or made_id(n), n, "{}") for id_, n in calls))


def _answers(*results):
    return Message("user", Origin.TOOL, tuple(ToolResult(id_ or made_id(n), (), name=n) for id_, n in results))


def _ids(messages):
    return [[getattr(p, "id", "") or p.call_id for p in m.parts] for m in messages]


@given(st.text(), st.integers(0, 10**6), st.sampled_from(("call", "result")))
def test_a_made_id_tells_its_name(name, number, kind):
    assert is_made(made_id(name, number, kind))
    assert name_in(made_id(name, number, kind)) == name


@pytest.mark.parametrize("id_", ["", "call_1", "foldline-", "foldline-call-x-y", "xfoldline-call-1-y"])
def test_other_ids_are_not_made(id_):
    assert not is_made(id_)
    assert name_in(id_) == ""


def test_made_ids_have_only_letters_digits_and_dashes():
    assert re.fullmatch(r"[A-Za-z0-9_-]+", made_id("read_file", 12))


def test_parallel_calls_of_one_name_are_answered_in_order():
    messages = assign([_step(("", "a"), ("", "b"), ("", "a")), _answers(("", "a"), ("", "a"), ("", "b"))])
    calls, answers = _ids(messages)
    assert answers == [calls[0], calls[2], calls[1]]


def test_an_answer_goes_to_the_newest_step_first_then_to_older_ones():
    messages = assign(
        [_step(("", "a")), _step(("", "a")), _answers(("", "a")), _answers(("", "a")), _answers(("", "a"))]
    )
    first, second, newest, older, orphan = (ids[0] for ids in _ids(messages))
    assert (newest, older) == (second, first)
    assert orphan not in (first, second)


def test_own_ids_are_left_alone_unless_names_may_pair():
    history = [_step(("", "a")), _answers(("own", "a"))]
    assert _ids(assign(history))[1] == ["own"]
    named = _ids(assign(history, by_name=True))
    assert named[1] == named[0]


def test_an_answered_call_is_not_answered_again():
    history = [_step(("c1", "a"), ("c2", "a")), _answers(("c1", "a"), ("", "a"))]
    assert _ids(assign(history, by_name=True))[1] == ["c1", "c2"]


def test_a_list_in_which_everything_has_an_id_is_not_gone_through():
    history = (_step(("c1", "a"), ("c2", "a")), _answers(("c2", "a"), ("own", "a")))
    assert assign(history) is assign(history, by_name=True) is history


names = st.sampled_from(["a", "b"])
pairs = st.lists(st.tuples(st.sampled_from(["", "", "c1", "c2"]), names), min_size=1, max_size=3)
lists = st.lists(st.one_of(pairs.map(lambda of: _step(*of)), pairs.map(lambda of: _answers(*of))), max_size=8)


@given(st.lists(st.tuples(lists, st.integers(0, 20)), max_size=5), st.booleans())
def test_a_list_that_grows_or_forks_is_numbered_as_if_seen_for_the_first_time(turns, by_name):
    numbers, history = Numbers(by_name), ()
    for more, kept in turns:
        history = (*history[:kept], *more)
        assert numbers.assign(history) == assign(history, by_name=by_name)


def test_of_a_list_that_grows_only_what_is_new_is_entered():
    numbers, history = Numbers(), ()
    for count in range(1, 100):
        history = (*history, _step(("", "a")), _answers(("", "a")))
        assert len(numbers.assign(history)) == numbers.entered == 2 * count


def test_messages_without_calls_are_the_same_objects():
    message = Message("user", Origin.USER, (Text("hi"),))
    assert assign([message])[0] is message
