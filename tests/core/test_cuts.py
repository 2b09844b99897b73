"""A cut divides a history where both sides stand by themselves, and the chosen one keeps what it was asked to keep."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.history.cuts import (
    MIN_KEEP,
    RULES,
    before_thinking,
    behind_answers,
    choose,
    legal,
    outside_cycles,
    rules_of,
    with_its_system,
)
from foldline.core.history.cycles import pair
from foldline.dialects import anthropic, gemini, openai_chat, openai_responses
from foldline.model import Grammar, Message, Origin, Text, Thinking, ToolCall, ToolResult

RUNS = Grammar(step="run")


def user(text="go on"):
    return Message("user", Origin.USER, (Text(text),))


def system(text="be kind"):
    return Message("system", Origin.SYSTEM, (Text(text),))


def step(*ids, thinking=""):
    thought = (Thinking(thinking),) if thinking else ()
    return Message("assistant", Origin.ASSISTANT, (*thought, Text("so"), *(ToolCall(id_, "read", "{}") for id_ in ids)))


def results(*ids):
    return Message("user", Origin.TOOL, tuple(ToolResult(id_, (Text("fine"),)) for id_ in ids))


few_ids = st.lists(st.sampled_from("abcd"), max_size=3, unique=True)
any_message = st.one_of(
    st.builds(user),
    st.builds(system),
    st.builds(lambda ids, thinking: step(*ids, thinking=thinking), few_ids, st.sampled_from(["", "hm"])),
    few_ids.map(lambda ids: results(*ids)),
)
any_list = st.lists(any_message, max_size=16).map(tuple)


def cuts(*messages):
    return legal(messages, pair(messages, RUNS))


@given(any_list)
@settings(deadline=None)
def test_no_legal_cut_parts_a_call_from_its_result(messages):
    pairing = pair(messages, RUNS)
    for cut in legal(messages, pairing):
        for cycle in pairing.cycles:
            places = [*cycle.calls, *(answer for answer in cycle.answers if answer)]
            assert len({place.message < cut for place in places}) < 2


@given(any_list)
@settings(deadline=None)
def test_a_step_stays_whole_and_both_ends_are_always_legal(messages):
    pairing = pair(messages, RUNS)
    found = legal(messages, pairing)
    assert {0, len(messages)} <= found <= set(range(len(messages) + 1))
    assert not any(cycle.start < cut < cycle.step_stop for cut in found for cycle in pairing.cycles)


@given(any_list)
@settings(deadline=None)
def test_a_list_without_calls_and_system_messages_may_be_cut_anywhere_but_inside_a_step(messages):
    talk = [message for message in messages if message.role != "system" and not message.calls and not message.results]
    behind = [index for index in range(1, len(talk)) if talk[index - 1].role == "assistant"]
    inside_a_step = {index for index in behind if talk[index].role == "assistant" or talk[index].origin is Origin.TOOL}
    assert cuts(*talk) == set(range(len(talk) + 1)) - inside_a_step


def test_leading_system_messages_stay_together():
    assert cuts(system(), system(), user(), step()) == {0, 2, 3, 4}
    assert cuts(system(), system()) == {0, 2}


def test_a_result_that_comes_late_forbids_everything_between():
    assert cuts(user(), step("a"), user(), step("b"), results("b"), results("a"), user()) == {0, 1, 6, 7}


def test_a_true_orphan_forbids_nothing():
    assert cuts(user(), step(), results("nobody"), user()) == {0, 1, 2, 3, 4}


def test_a_turn_that_goes_on_is_cut_only_before_thinking():
    loop = (
        user(),
        step("a", thinking="hm"),
        results("a"),
        step("b"),
        results("b"),
        step("c", thinking="ah"),
        results("c"),
    )
    assert cuts(*loop) == {0, 1, 5, 7}
    assert cuts(*loop, step()) == {0, 1, 3, 5, 7, 8}  # the turn is over: nobody asks for its thinking


def test_a_system_message_inside_such_a_turn_is_no_way_around_it():
    assert cuts(user(), step("a", thinking="hm"), results("a"), system(), step("b"), results("b")) == {0, 1, 6}


def test_a_turn_without_thinking_may_be_cut_between_all_its_steps():
    assert cuts(user(), step("a"), results("a"), step("b"), results("b")) == {0, 1, 3, 5}


def test_rules_are_combined_by_intersection_and_another_is_one_more_function():
    messages = [user(), step("a"), results("a"), user()]
    pairing = pair(messages, RUNS)
    assert legal(messages, pairing, ()) == {0, 1, 2, 3, 4}
    assert legal(messages, pairing, (outside_cycles,)) == {0, 1, 3, 4}
    assert legal(messages, pairing, (*RULES, lambda *_: {4})) == {0, 4}
    assert set(RULES) == {outside_cycles, with_its_system, behind_answers, before_thinking}


@given(any_list, st.integers(0, 20), st.data())
@settings(deadline=None)
def test_a_choice_is_legal_and_keeps_enough_messages(messages, keep, data):
    found = legal(messages, pair(messages, RUNS))
    sizes = data.draw(st.lists(st.integers(0, 50), min_size=len(messages), max_size=len(messages)))
    tokens = data.draw(st.none() | st.integers(-5, 500))
    at = data.draw(st.none() | st.integers(-2, 20))
    cut = choose(found, sizes, keep=keep, tokens=tokens, at=at)
    assert cut in found
    assert cut == 0 or len(messages) - cut >= keep


@given(any_list, st.data())
@settings(deadline=None)
def test_with_tokens_the_tail_is_the_longest_that_fits(messages, data):
    found = legal(messages, pair(messages, RUNS))
    sizes = data.draw(st.lists(st.integers(0, 50), min_size=len(messages), max_size=len(messages)))
    tokens = data.draw(st.integers(0, 300))
    fitting = [cut for cut in found if sum(sizes[cut:]) <= tokens]
    assert choose(found, sizes, keep=0, tokens=tokens) == min(fitting)


@given(any_list, st.integers(0, 20))
@settings(deadline=None)
def test_at_is_the_last_legal_place_not_behind_it(messages, at):
    found = legal(messages, pair(messages, RUNS))
    assert choose(found, [1] * len(messages), keep=0, at=at) == max(cut for cut in found if cut <= at)


@pytest.mark.parametrize(
    ("settings_", "cut"),
    [
        ({}, 4),  # at least four messages stay
        ({"keep": 0}, 8),
        ({"keep": 3}, 5),
        ({"keep": 9}, 0),
        ({"tokens": 35}, 4),  # only three messages fit, but four must stay
        ({"tokens": 55}, 3),
        ({"tokens": 55, "keep": 6}, 2),
        ({"tokens": 10_000}, 0),
        ({"tokens": 0, "keep": 0}, 8),
        ({"at": 2}, 2),
        ({"at": 7}, 4),
        ({"at": -1}, 0),
    ],
)
def test_examples_of_choices(settings_, cut):
    assert choose(set(range(9)), [10] * 8, **settings_) == cut


@pytest.mark.parametrize("length", range(MIN_KEEP + 1))
def test_a_short_history_is_not_cut(length):
    assert choose(set(range(length + 1)), [10] * length) == 0


def test_only_a_provider_that_wants_thinking_first_forbids_cuts_for_it():
    assert rules_of(Grammar(thinking_opens=True)) == RULES
    assert {*RULES} - {*rules_of(Grammar())} == {before_thinking}
    assert anthropic.GRAMMAR.thinking_opens
    assert not any(dialect.GRAMMAR.thinking_opens for dialect in (gemini, openai_chat, openai_responses))


def test_a_step_stays_with_what_a_shell_answers_it_in_a_text():
    """By itself the answer would look like the user's word, and nobody would know what was run."""
    answered = Message("user", Origin.TOOL, (Text("<returncode>0</returncode>"),))
    says = Message("assistant", Origin.ASSISTANT, (Text("```bash\nls\n```"),))
    messages = [user(), says, answered, says, user(), says, answered]
    assert legal(messages, pair(messages, Grammar()), rules_of(Grammar())) == {0, 1, 3, 4, 5, 7}
