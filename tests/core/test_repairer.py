"""A list repaired as it grows is the list repaired whole, and a sound one is looked at only where it is new."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.history.repair import repair
from foldline.core.history.repairer import Repairer, Untouched
from foldline.dialects import named
from foldline.model import Grammar, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult

GRAMMARS = [
    *(named(name).grammar for name in ("anthropic", "openai-chat", "openai-responses", "gemini")),
    Grammar(step="message", unique_ids=True, user_first=True, empty_text=False),
]
ids = st.sampled_from([*"abcdefghijklm", "a_2", "b_2", "c_2"])
kinds = st.sampled_from(["item_reference", "server_tool_use", "web_search_tool_result"])
few = st.lists(st.sampled_from("abcdef"), max_size=2)


def step(ids, text, thinking):
    thought = (Thinking("hm", "seal"),) if thinking else ()
    said = (Text(text),) if text is not None else ()
    return Message("assistant", Origin.ASSISTANT, (*thought, *said, *(ToolCall(id_, "read", "{}") for id_ in ids)))


def answer(ids, text):
    said = (Text(text),) if text is not None else ()
    return Message("user", Origin.TOOL, (*(ToolResult(id_, (Text("so"),), is_error=text == "") for id_ in ids), *said))


def said(role, text):
    return Message(role, Origin(role), (Text(text),))


texts = st.sampled_from([None, "", "yes", "yes\n"])
messages = st.lists(
    st.one_of(
        st.builds(step, few, texts, st.booleans()),
        st.builds(answer, few, texts),
        st.just(Message("user", Origin.USER, (Text("go on"),))),
        st.just(Message("tool", Origin.TOOL, (ToolResult("a", (Text("x"),)),))),
    ),
    max_size=10,
).map(tuple)


@settings(max_examples=400)
@given(messages, st.sampled_from(GRAMMARS), st.lists(st.integers(0, 10), max_size=6), st.booleans())
def test_growing_makes_no_difference(history, grammar, stops, thinking):
    repairer = Repairer(grammar)
    for stop in (*stops, len(history)):
        found = repairer.repair(history[:stop], thinking=thinking)
        assert found == repair(history[:stop], grammar, thinking=thinking)


def test_what_comes_before_the_first_call_is_looked_at_too():
    asked = (Message("user", Origin.USER, (Text("go on"),)),)
    for grammar in GRAMMARS:
        repairer = Repairer(grammar)
        assert not repairer.repair(asked).repairs
        later = (*asked, answer([], None), step(["a"], "yes", False), answer(["a"], None))
        assert repairer.repair(later) == repair(later, grammar)


odd = st.one_of(
    st.builds(step, few, texts, st.booleans()),
    st.builds(answer, few, texts),
    st.builds(said, st.sampled_from(["user", "system"]), st.sampled_from(["", "yes"])),
    st.builds(lambda kind, id_: Message("assistant", Origin.ASSISTANT, (Opaque(kind, {"id": id_}),)), kinds, ids),
    st.builds(lambda id_: Message("user", Origin.TOOL, (ToolResult(id_, (Text("x"),)),)), ids),
).map(lambda message: [message])
even = st.builds(lambda id_, thinking: [step([id_], None, thinking), answer([id_], None)], ids, st.booleans())


@settings(max_examples=400)
@given(
    st.lists(odd, max_size=6),
    st.lists(st.one_of(even, even, even, odd), max_size=8),
    st.sampled_from(GRAMMARS),
    st.booleans(),
)
def test_what_was_amiss_long_ago_is_mended_as_in_the_whole(amiss, turns, grammar, thinking):
    repairer, history = Repairer(grammar), ()
    for more in (*amiss, *turns):
        history = (*history, *more)
        assert repairer.repair(history, thinking=thinking) == repair(history, grammar, thinking=thinking)


edits = st.tuples(messages, st.integers(0, 10), messages)


@settings(max_examples=200)
@given(st.lists(edits, max_size=4), st.sampled_from(GRAMMARS), st.booleans())
def test_a_list_that_forks_is_edited_or_goes_back_is_repaired_as_if_seen_for_the_first_time(turns, grammar, thinking):
    repairer, history = Repairer(grammar), ()
    for more, kept, edited in turns:
        for now in (history + more, (history + more)[:kept] + edited):
            assert repairer.repair(now, thinking=thinking) == repair(now, grammar, thinking=thinking)
            history = now


def sound(count):
    for number in range(count):
        yield Message("user", Origin.USER, (Text(f"question {number}"),))
        yield Message("assistant", Origin.ASSISTANT, (ToolCall(f"c{number}", "read", "{}"),))
        yield Message("user", Origin.TOOL, (ToolResult(f"c{number}", (Text("so"),)),))
        yield Message("assistant", Origin.ASSISTANT, (Text("done"),))


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_a_list_that_was_sound_is_mended_wherever_a_message_is_missing_now(grammar):
    whole, repairer = tuple(sound(4)), Repairer(grammar)
    for at in range(len(whole)):
        repairer.repair(whole)
        now = whole[:at] + whole[at + 1 :]
        assert repairer.repair(now) == repair(now, grammar)


@pytest.mark.parametrize("grammar", [Grammar(), Grammar(unique_ids=True)])
def test_a_sound_list_is_looked_at_only_where_it_is_new(grammar):
    history = tuple(sound(500))
    repairer = Repairer(grammar)
    repairer.repair(history[:1_979])
    before = repairer.looked
    for stop in (1_981, 1_983, 1_985, 1_987, 1_989, 1_991):  # after results, after the user
        assert repairer.repair(history[:stop]).messages is not None
    assert repairer.looked - before <= 40


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("grammar", [Grammar(), Grammar(unique_ids=True)])
def test_a_list_that_was_mended_is_looked_at_only_where_it_is_new(grammar, thinking):
    twice = [step(["a"], None, False), answer(["a"], None)] * 2
    amiss = (said("user", "go on"), answer(["gone"], None), *twice, said("assistant", ""), step(["never"], None, False))
    history = (*amiss, *sound(500))
    repairer = Repairer(grammar)
    assert repairer.repair(history[:1_979], thinking=thinking).repairs
    before = repairer.looked
    for stop in (1_981, 1_983, 1_985, 1_987, 1_989, 1_991):
        assert repairer.repair(history[:stop], thinking=thinking) == repair(history[:stop], grammar, thinking=thinking)
    assert repairer.looked - before <= 40


def test_a_call_that_is_answered_late_is_seen():
    grammar = Grammar()
    repairer, history = Repairer(grammar), tuple(sound(20))
    asked = Message("assistant", Origin.ASSISTANT, (ToolCall("late", "read", "{}"),))
    repairer.repair(history)
    now = (*history, asked, *sound(5), Message("user", Origin.TOOL, (ToolResult("late", (Text("so"),)),)))
    for stop in range(len(history), len(now) + 1):
        assert repairer.repair(now[:stop]) == repair(now[:stop], grammar)


def test_an_id_that_was_used_long_ago_is_seen():
    grammar = Grammar(unique_ids=True)
    repairer = Repairer(grammar)
    history = tuple(sound(50))
    assert not repairer.repair(history).repairs
    again = (*history, *tuple(sound(1)))
    assert repairer.repair(again).repairs == repair(again, grammar).repairs != ()


@given(messages, st.sampled_from(GRAMMARS), st.booleans())
def test_of_a_history_that_lies_elsewhere_nothing_is_mended(history, grammar, thinking):
    found = Untouched(grammar).repair(history, thinking=thinking)
    assert found.messages is history
    assert not found.repairs
