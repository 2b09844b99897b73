"""Selection keeps whole original messages in their order, never half a cycle, and says why each is there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.history.cycles import pair
from foldline.core.select import Selected, Strategy, is_users, select
from foldline.errors import MalformedInput
from foldline.model import Grammar, Media, Message, Origin, Text, Thinking, ToolCall, ToolResult

RUNS, SINGLE = Grammar(step="run"), Grammar(step="message", results="apart", results_role="tool")
NOTHING = Strategy(keep_recent=0, keep_keywords=(), keep_tool_results=False)


def user(text="go on"):
    return Message("user", Origin.USER, (Text(text),))


def system(text="be kind"):
    return Message("system", Origin.SYSTEM, (Text(text),))


def step(*ids, text="so", thinking=""):
    thought = (Thinking(thinking),) if thinking else ()
    return Message("assistant", Origin.ASSISTANT, (*thought, Text(text), *(ToolCall(id_, "read", "{}") for id_ in ids)))


def results(*ids, text="fine", also=()):
    parts = tuple(ToolResult(id_, (Text(text),)) for id_ in ids)
    return Message("user", Origin.USER if also else Origin.TOOL, (*parts, *also))


def size(message):
    return 1 + len(message.text)


def kept(messages, strategy=NOTHING, grammar=RUNS):
    return select(messages, strategy, grammar, size).indices


few_ids = st.lists(st.sampled_from("abcd"), max_size=3, unique=True)
words = st.sampled_from(["plain", "an Error", "TypeError", "prefix"])
any_message = st.one_of(
    words.map(user),
    st.builds(system),
    st.builds(lambda ids, text: step(*ids, text=text), few_ids, words),
    st.builds(lambda ids, text: results(*ids, text=text), few_ids, words),
)
any_list = st.lists(any_message, max_size=16).map(tuple)
keywords = st.sampled_from([(), ("error",), ("错误", "c++")])
strategies = st.builds(Strategy, st.integers(0, 8), keywords, st.booleans(), st.booleans())
grammars = st.sampled_from([RUNS, SINGLE])


@given(any_list, strategies, grammars)
@settings(deadline=None, max_examples=300)
def test_a_selection_is_some_of_the_messages_in_their_order(messages, strategy, grammar):
    chosen = select(messages, strategy, grammar, size)
    assert list(chosen.indices) == sorted(set(chosen.indices))
    assert len(chosen.messages) == len(chosen.indices) == len(chosen.reasons) == chosen.count_after
    assert all(message is messages[index] for message, index in zip(chosen.messages, chosen.indices, strict=True))
    if chosen.count_after == len(messages):
        assert chosen.messages is messages


@given(any_list, strategies, grammars)
@settings(deadline=None, max_examples=300)
def test_a_cycle_is_kept_whole_or_not_at_all(messages, strategy, grammar):
    indices = set(select(messages, strategy, grammar, size).indices)
    for cycle in pair(messages, grammar).cycles:
        assert len({index in indices for index in range(cycle.start, cycle.stop)}) == 1


@given(any_list, strategies, grammars)
@settings(deadline=None, max_examples=300)
def test_everything_the_strategy_asks_for_is_there(messages, strategy, grammar):
    indices = set(select(messages, strategy, grammar, size).indices)
    asked = {index for index, message in enumerate(messages) if message.role == "system"}
    asked |= set(range(max(0, len(messages) - strategy.keep_recent), len(messages)))
    asked |= {index for index, message in enumerate(messages) if message.results and strategy.keep_tool_results}
    if "error" in strategy.keep_keywords:
        said = [message.text + "".join(result.text for result in message.results) for message in messages]
        asked |= {index for index, text in enumerate(said) if "Error" in text}
    own = [index for index, message in enumerate(messages) if is_users(message)]
    assert asked | set(own[-1:]) <= indices


@given(any_list, strategies, grammars)
@settings(deadline=None, max_examples=300)
def test_the_figures_are_measured(messages, strategy, grammar):
    chosen = select(messages, strategy, grammar, size, pair(messages, grammar))
    assert chosen.count_before == len(messages)
    assert chosen.tokens_before == sum(map(size, messages))
    assert chosen.tokens_after == sum(map(size, chosen.messages))
    assert chosen.tokens_saved == chosen.tokens_before - chosen.tokens_after >= 0


@given(any_list, strategies, grammars)
@settings(deadline=None, max_examples=300)
def test_where_a_user_opened_a_turn_no_two_steps_meet(messages, strategy, grammar):
    chosen = select(messages, strategy, grammar, size)
    for index, (before, after) in enumerate(zip(chosen.messages, chosen.messages[1:], strict=False)):
        if before.role == after.role == "assistant" and not before.results:
            between = messages[chosen.indices[index] + 1 : chosen.indices[index + 1]]
            assert not any(message.role == "user" and not message.results for message in between)


@given(any_list, strategies)
@settings(deadline=None)
def test_a_selection_can_be_saved_and_loaded(messages, strategy):
    chosen = select(messages, strategy, RUNS, size)
    assert Selected.from_json(chosen.to_json(), messages) == chosen


@given(st.builds(Strategy, st.integers(0, 10**6), st.lists(st.text()).map(tuple), st.booleans(), st.booleans()))
def test_a_strategy_can_be_saved_and_loaded(strategy):
    assert Strategy.from_json(strategy.to_json()) == strategy
    assert Strategy.from_toml(strategy.to_toml()) == strategy


@pytest.mark.parametrize("word", ["\U0001f525", "a\x7fb", 'say "no"', "back\\slash", "tab\there", "\x00", "错误"])
def test_odd_keywords_survive_both_formats(word):
    strategy = Strategy(keep_keywords=(word,))
    assert Strategy.from_toml(strategy.to_toml()) == Strategy.from_json(strategy.to_json()) == strategy


def test_what_a_saved_strategy_leaves_out_has_its_default():
    assert Strategy.from_json("{}") == Strategy.from_toml("") == Strategy()
    assert Strategy.from_toml("keep_recent = 3") == Strategy(keep_recent=3)
    assert Strategy.of({"keep_keywords": ["odd"]}).keep_keywords == ("odd",)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "7", "{", "null", "[" * 100_000),
        *('{"keep_last": 3}', '{"keep_recent": "3"}', '{"keep_recent": -1}', '{"keep_recent": true}'),
        *('{"keep_keywords": "error"}', '{"keep_keywords": [1]}', '{"keep_system": 1}', '{"keep_tool_results": null}'),
    ],
)
def test_a_strategy_that_is_none_is_refused(text):
    with pytest.raises(MalformedInput, match=r"strategy|keep_"):
        Strategy.from_json(text)


@pytest.mark.parametrize(
    "text", ["= 3", "keep_recent = ", "keep_recent = 1.5", "[keep_system]", "a = " + "[" * 100_000]
)
def test_a_toml_strategy_that_is_none_is_refused(text):
    with pytest.raises(MalformedInput, match=r"strategy|keep_"):
        Strategy.from_toml(text)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"indices": [99]}', "[" * 100_000])
def test_a_saved_selection_of_other_messages_is_refused(text):
    with pytest.raises(MalformedInput, match="not a saved selection of these 1 messages"):
        Selected.from_json(text, (user(),))


def test_reasons_say_why():
    messages = [system(), user("hello"), step(text="Fixed it"), user("more"), step("a"), results("a"), user("thanks")]
    chosen = select(messages, Strategy(keep_recent=1), RUNS, size)
    assert dict(zip(chosen.indices, chosen.reasons, strict=True)) == {
        0: "system",
        1: "opens the turn",
        2: "keyword Fixed",
        3: "opens the turn",
        4: "same tool cycle",
        5: "tool result",
        6: "recent",
    }
    assert json.loads(chosen.to_json())["tokens_saved"] == 0


def test_a_keyword_counts_in_a_result_too():
    messages = [user(), step("a"), results("a", text="a TypeError"), step("b"), results("b"), step(text="done"), user()]
    assert kept(messages, Strategy(0, ("error",), keep_tool_results=False)) == (0, 1, 2, 5, 6)


def test_system_messages_stay_whatever_the_strategy_says_and_that_is_said():
    chosen = select([system(), user(), system(), user()], Strategy(0, (), False, keep_system=False), RUNS, size)
    assert chosen.indices == (0, 2, 3)
    assert [notice.code for notice in chosen.notices] == ["keep-system", "keep-newest-user"]
    assert "2 system messages" in chosen.notices[0].text


def test_a_kept_system_message_needs_no_notice():
    assert select([system(), user()], Strategy(), RUNS, size).notices == ()


def test_the_newest_user_message_may_be_a_picture_or_stand_beside_results():
    picture = Message("user", Origin.USER, (Media("image", "image/png", "AAAA"),))
    assert kept([user(), picture, step()]) == (1, 2)
    beside = results("a", also=(Text("and this"),))
    assert kept([user(), step("a"), beside, step()]) == (0, 1, 2, 3)


def test_a_tool_or_a_summary_is_not_the_user():
    assert is_users(user())
    assert not is_users(results("a"))
    assert not is_users(step())
    assert not is_users(Message("user", Origin.SUMMARY, (Text("so far"),)))
    assert not is_users(Message("user", Origin.USER, (ToolResult("a", ()),)))


def test_a_turn_that_began_with_thinking_keeps_its_first_step():
    loop = [user(), step("a", thinking="hm"), results("a"), step("b"), results("b"), step("c"), results("c")]
    assert kept(loop, Strategy(2, (), False)) == (0, 1, 2, 5, 6)
    assert kept([*loop, step()], Strategy(1, (), False)) == (0, 7)


def test_a_system_message_inside_keeps_both_neighbours_where_places_are_strict():
    messages = [system(), user(), step(), user(), system(), step(), user(), step(), user(), system()]
    strict = Grammar(step="run", merges=True, user_first=True)
    assert kept(messages, grammar=strict) == (0, 3, 4, 5, 8, 9)
    assert kept(messages) == (0, 4, 8, 9)


def test_what_ends_the_list_stays_and_that_is_said():
    chosen = select([user(), step("a"), results("a")], NOTHING, RUNS, size)
    assert chosen.indices == (0, 1, 2)
    assert [notice.code for notice in chosen.notices] == ["keep-newest-user", "keep-last"]


def test_a_kept_result_keeps_the_step_that_ended_its_turn():
    turn = [user(), step("a"), results("a", text="an error"), step("b"), results("b"), step(), user(), step(), user()]
    chosen = select(turn, Strategy(0, ("error",), keep_tool_results=False), RUNS, size)
    assert chosen.indices == (0, 1, 2, 7, 8)
    assert chosen.reasons[3] == "closes the turn"


def test_a_late_result_binds_everything_between():
    messages = [user(), step("a"), user("meanwhile"), step(), results("a"), user()]
    assert kept(messages, Strategy(0, (), keep_tool_results=True)) == (0, 1, 2, 3, 4, 5)


def test_equal_messages_are_not_merged():
    messages = [user("note"), user("note"), user("x"), user("note")]
    assert kept(messages, Strategy(1, ("note",))) == (0, 1, 3)


@pytest.mark.parametrize("messages", [(), (system(),), (user(),)])
def test_what_has_nothing_to_lose_is_given_back(messages):
    assert select(messages, NOTHING, RUNS, size).messages is messages
