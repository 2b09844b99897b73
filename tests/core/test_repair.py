"""Whatever is broken is mended so that a strict reader of the grammar accepts it; nothing goes unsaid or unpaired."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline import Budget, Compactor, validate
from foldline.core.history.cycles import pair
from foldline.core.history.mend import NO_RESULT, Repair
from foldline.core.history.repair import GO_ON, NO_MESSAGE, NOTHING_SAID, OPENING, PAUSE, repair
from foldline.model import Grammar, Media, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult

MERGING = Grammar(merges=True, unique_ids=True, user_first=True, empty_text=False, bare_end=True)
CHAT = Grammar(step="message", results="apart", results_role="tool", texts_beside_results=False)
ITEMS = Grammar(results="apart", results_role="tool", texts_beside_results=False, adjacent=False, unique_ids=True)
TURNS = Grammar(step="message", texts_beside_results=False, user_first=True, empty_text=False)
GRAMMARS = [MERGING, CHAT, ITEMS, TURNS]


def user(*texts):
    return Message("user", Origin.USER, tuple(map(Text, texts or ("go on",))))


def system(text="be kind"):
    return Message("system", Origin.SYSTEM, (Text(text),))


def step(*ids, text="so", thinking=""):
    thought = (Thinking(thinking),) if thinking else ()
    said = (Text(text),) if text else ()
    return Message("assistant", Origin.ASSISTANT, (*thought, *said, *(ToolCall(id_, "read", "{}") for id_ in ids)))


def results(*ids, also=()):
    parts = tuple(ToolResult(id_, (Text(f"said by {id_}"),)) for id_ in ids)
    return Message("user", Origin.USER if also else Origin.TOOL, (*parts, *map(Text, also)))


def tool(id_):
    return Message("tool", Origin.TOOL, (ToolResult(id_, (Text(f"said by {id_}"),)),))


def failure(id_):
    return Message("tool", Origin.TOOL, (ToolResult(id_, (Text("timed out"),), is_error=True),))


few_ids = st.lists(st.sampled_from("abc"), max_size=3)
steps = st.builds(
    lambda ids, text, thinking: step(*ids, text=text, thinking=thinking),
    few_ids,
    st.sampled_from(["so", "so \n", "", " "]),
    st.sampled_from(["", "hm"]),
)
thoughts = st.just(Message("assistant", Origin.ASSISTANT, (Text("so"), Thinking("and then"))))
told = few_ids.map(lambda ids: results(*ids))
failed = st.just(Message("user", Origin.TOOL, (ToolResult("a", (), is_error=True),)))
mixed = few_ids.map(lambda ids: Message("user", Origin.USER, (Text("before"), *results(*ids).parts, Text("after"))))
within = st.just(Message("assistant", Origin.ASSISTANT, (ToolCall("a", "read", "{}"), *results("a", "z").parts)))
nothing = st.sampled_from([Message(role, Origin.USER, ()) for role in ("user", "assistant")])
any_message = st.one_of(st.builds(user), st.builds(system), steps, thoughts, told, failed, mixed, within, nothing)
any_list = st.lists(any_message, max_size=12).map(tuple)
grammars = st.sampled_from(GRAMMARS)


def faults(messages, grammar, thinking=False):
    """A strict reader: everything that is wrong with a list, by name. Shares no code with the mending."""
    return [name for name, rule in READER.items() if not rule(messages, grammar)] + (
        ["thinking"] if thinking and not begins_rightly(messages) else []
    )


def every_call_is_answered_once(messages, _):
    waiting = set()
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                if part.id in waiting:
                    return False
                waiting.add(part.id)
            if isinstance(part, ToolResult):
                if part.call_id not in waiting or message.role == "assistant":
                    return False
                waiting.remove(part.call_id)
    return not waiting


def answers_follow_at_once(messages, grammar):
    if not grammar.adjacent:
        return True
    open_calls = set()
    for message in messages:
        same_step = message.role == "assistant" and grammar.step == "run" and not message.results
        if open_calls and not message.results and not same_step:
            return False
        open_calls |= {call.id for call in message.calls}
        kinds = [isinstance(part, ToolResult) for part in message.parts]
        if kinds != sorted(kinds, reverse=True) and message.role != "assistant":
            return False
        open_calls -= {result.call_id for result in message.results}
        if message.results and not all(kinds) and (open_calls or not grammar.texts_beside_results):
            return False
    return not open_calls


def results_are_carried_rightly(messages, grammar):
    together = [index for index, message in enumerate(messages) if message.results]
    if grammar.results == "joined" and not grammar.merges:
        return all(messages[index - 1].calls for index in together)
    return True


def ids_are_unique(messages, grammar):
    ids = [call.id for message in messages for call in message.calls]
    return not grammar.unique_ids or len(ids) == len(set(ids))


def nothing_is_empty(messages, grammar):
    texts = [part for message in messages for part in message.parts if isinstance(part, Text)]
    silent = [result for message in messages for result in message.results if result.is_error and not result.text]
    return all(message.parts for message in messages) and (
        grammar.empty_text or (all(part.text.strip() for part in texts) and not silent)
    )


def no_thinking_leads_nowhere(messages, grammar):
    for index, message in enumerate(messages):
        follows = messages[index + 1].role if index + 1 < len(messages) else "user"
        ends = grammar.step == "message" or follows != "assistant"
        if message.role == "assistant" and ends and message.parts and isinstance(message.parts[-1], Thinking):
            return False
    return True


def the_user_speaks_first(messages, grammar):
    spoken = [message for message in messages if message.role != "system"]
    return not grammar.user_first or not spoken or spoken[0].role == "user"


def the_system_speaks_between_user_and_model(messages, grammar):
    roles = [role for role, _ in groupby(messages, lambda message: message.role)]
    if not grammar.user_first or set(roles) <= {"system"}:
        return True
    inner = zip((None, *roles[:-1]), roles, (*roles[1:], "assistant"), strict=True)
    return all((before, after) == ("user", "assistant") for before, role, after in inner if role == "system")


def turns_alternate(messages, grammar):
    pairs = pairwise(messages)
    return (
        grammar.merges
        or not grammar.user_first
        or not any(before.role == after.role == "assistant" and after.calls for before, after in pairs)
    )


def nothing_ends_in_white_space(messages, grammar):
    last = messages[-1] if grammar.bare_end and messages else user()
    return last.role == "user" or not last.parts or last.text == last.text.rstrip()


READER = {
    rule.__name__: rule
    for rule in (
        every_call_is_answered_once,
        answers_follow_at_once,
        results_are_carried_rightly,
        ids_are_unique,
        nothing_is_empty,
        no_thinking_leads_nowhere,
        the_user_speaks_first,
        the_system_speaks_between_user_and_model,
        turns_alternate,
        nothing_ends_in_white_space,
    )
}


def begins_rightly(messages):
    """The user speaks last, and the first of the last steps that call begins with thinking."""
    runs = [list(run) for role, run in groupby(messages, lambda message: message.role) if role == "assistant"]
    calling = list(takewhile(lambda run: any(message.calls for message in run), reversed(runs)))
    ends_rightly = not messages or messages[-1].role != "assistant"
    return ends_rightly and (not calling or isinstance(calling[-1][0].parts[0], Thinking))


@given(any_list, grammars, st.booleans())
@settings(deadline=None, max_examples=600)
def test_a_strict_reader_accepts_whatever_was_mended(messages, grammar, thinking):
    mended = repair(messages, grammar, thinking=thinking and grammar is MERGING)
    assert faults(mended.messages, grammar, thinking and grammar is MERGING) == []


@given(any_list, grammars)
@settings(deadline=None, max_examples=600)
def test_what_needs_nothing_is_given_back_and_what_changed_is_said(messages, grammar):
    mended = repair(messages, grammar)
    if not faults(messages, grammar) and grammar is not ITEMS:
        assert mended.messages is messages
    assert (mended.messages is messages) == (not mended.repairs)
    assert sum(mended.counts().values()) == len(mended.repairs)


@given(any_list, grammars, st.booleans())
@settings(deadline=None, max_examples=300)
def test_mending_twice_mends_nothing_more(messages, grammar, thinking):
    once = repair(messages, grammar, thinking=thinking and grammar is MERGING).messages
    again = repair(once, grammar, thinking=thinking and grammar is MERGING)
    assert again.messages is once
    assert again.repairs == ()


@given(any_list, grammars)
@settings(deadline=None, max_examples=300)
def test_a_pairing_that_is_known_already_changes_nothing(messages, grammar):
    assert repair(messages, grammar, pair(messages, grammar)) == repair(list(messages), grammar)


@given(any_list, grammars)
@settings(deadline=None, max_examples=300)
def test_no_word_is_lost_but_repetitions(messages, grammar):
    mended = repair(messages, grammar)
    said = "\n".join(
        text for message in mended.messages for text in (message.text, *(result.text for result in message.results))
    )
    for message in messages:
        assert message.text.strip() in said or all(line in said for line in message.text.split("\n"))
        assert all(result.text in said for result in message.results)


@given(any_list, grammars)
@settings(deadline=None, max_examples=300)
def test_what_a_tool_said_stays_the_tools_word(messages, grammar):
    for message in repair(messages, grammar).messages:
        quoted = [part for part in message.parts if isinstance(part, Text) and "said by" in part.text]
        assert not quoted or message.origin is Origin.TOOL
        assert all(part.text.startswith("[a tool's ") for part in quoted)


@given(any_list, grammars)
@settings(deadline=None, max_examples=300)
def test_untouched_messages_are_the_same_objects(messages, grammar):
    kept = {id(message) for message in messages}
    for message in repair(messages, grammar).messages:
        assert id(message) in kept or message.raw is None


@pytest.mark.parametrize(
    ("grammar", "messages", "kinds"),
    [
        (MERGING, [user(), step("a"), results("a")], []),
        (MERGING, [user(), step("a"), results("a", also=["and"])], []),
        (MERGING, [user(), step("a"), results("z"), results("a")], ["orphan-result"]),
        (CHAT, [user(), step("a"), tool("z"), tool("a")], ["orphan-result"]),
        (CHAT, [user(), step("a"), step("b"), tool("a"), tool("b")], ["misplaced-result"]),
        (MERGING, [user(), step("a"), results("a", "a")], ["duplicate-result"]),
        (CHAT, [user(), step("a"), tool("a"), failure("a"), failure("a")], ["second-result", "duplicate-result"]),
        (MERGING, [user(), step("a"), user("wait"), results("a")], ["misplaced-result"]),
        (ITEMS, [user(), step("a"), user("wait"), tool("a")], []),
        (MERGING, [user(), step("a", "b"), results("b"), user()], ["missing-result", "misplaced-result"]),
        (MERGING, [user(), step("a")], ["pending-call"]),
        (MERGING, [user(), step("a", "a"), results("a", "a")], ["duplicate-id"]),
        (MERGING, [user(), step("a"), results("a"), step("a"), results("a")], ["duplicate-id"]),
        (CHAT, [user(), step("a"), tool("a"), step("a"), tool("a")], []),
        (MERGING, [step(), user()], ["no-user-first"]),
        (MERGING, [system(), step(), user()], ["no-user-first", "system-place"]),
        (MERGING, [system(), user()], ["system-place"]),
        (MERGING, [user(), system(), step()], []),
        (MERGING, [user(), step(), user(), system()], []),
        (MERGING, [user(), system(), user(), step()], ["system-place"]),
        (MERGING, [user(), step(), system()], ["system-place"]),
        (CHAT, [system(), user(), step()], []),
        (MERGING, [user("")], ["empty-message"]),
        (MERGING, [user("", "x")], ["empty-text"]),
        (CHAT, [user("")], []),
        (CHAT, [Message("user", Origin.USER, ())], ["empty-message"]),
        (MERGING, [user(), step(text="", thinking="hm"), user()], ["dangling-thinking"]),
        (MERGING, [user(), step(text="so far\n")], ["trailing-space"]),
        (MERGING, [user(), step(text="so far\n"), user()], []),
        (CHAT, [user(), step(text="so far\n")], []),
        (TURNS, [user(), step("a", "b"), results("a"), results("b")], ["misplaced-result"]),
        (TURNS, [user(), step("a"), results("a", also=["and"])], ["text-beside-result"]),
        (TURNS, [user(), step(), step("a"), results("a")], ["no-user-between"]),
        (MERGING, [], []),
        (MERGING, [system()], []),
    ],
)
def test_each_fault_has_its_name(grammar, messages, kinds):
    assert sorted(repair(messages, grammar).counts()) == sorted(kinds)


def test_where_only_the_ids_of_one_step_must_differ_those_of_later_steps_are_left_alone():
    later = [step("a"), tool("a")]
    mended = repair([user(), step("a", "a"), tool("a"), tool("a"), *later], CHAT)
    assert mended.repairs == (Repair("duplicate-id", 1, "a"),)
    assert mended.messages[-2:] == tuple(later)


def test_a_repair_says_where_and_for_which_call():
    assert repair([user(), step("a", "b"), results("a"), user()], MERGING).repairs == (
        Repair("misplaced-result", 2, "a"),
        Repair("missing-result", 1, "b"),
    )


def test_an_orphan_does_not_part_a_step_from_its_answers():
    mended = repair([user(), step("a"), tool("z"), tool("a"), user("next")], CHAT).messages
    assert [message.role for message in mended] == ["user", "assistant", "tool", "user", "user"]
    assert mended[3].text.startswith("[a tool's answer, whose call (z)")
    assert mended[4].text == "next"


def test_an_orphan_outside_any_cycle_is_quoted_where_it_stood():
    mended = repair([user("one"), results("z", also=["mine"]), step()], MERGING).messages
    assert [message.origin for message in mended] == [Origin.USER, Origin.TOOL, Origin.USER, Origin.ASSISTANT]
    assert mended[2].text == "mine"


def test_an_orphan_brings_its_pictures_and_names_the_rest():
    picture = Media("image", "image/png", "AAAA")
    lost = Message("user", Origin.TOOL, (ToolResult("z", (Text("see"), picture, Opaque("odd"))),))
    quote = repair([user(), lost], MERGING).messages[1]
    assert quote.parts[1] is picture
    assert "see\n[image]\n[odd]\n" in quote.text


def test_an_orphan_whose_text_looks_like_a_format_is_quoted_as_it_is():
    lost = Message("user", Origin.TOOL, (ToolResult("{id}", (Text("{text} {0} {"),)),))
    assert "({id})" in repair([user(), lost], MERGING).messages[1].text
    assert "\n{text} {0} {\n" in repair([user(), lost], MERGING).messages[1].text


def test_a_call_without_a_result_gets_one_that_says_so():
    mended = repair([user(), step("a")], CHAT).messages
    assert mended[2] == Message("tool", Origin.TOOL, (ToolResult("a", (Text(NO_RESULT),), is_error=True, name="read"),))


def test_results_apart_stand_each_in_its_own_message_and_joined_ones_together():
    apart = repair([user(), step("a", "b")], CHAT).messages
    joined = repair([user(), step("a", "b")], MERGING).messages
    assert [len(message.results) for message in apart[2:]] == [1, 1]
    assert [len(message.results) for message in joined[2:]] == [2]


def test_a_second_call_of_the_same_id_is_renamed_with_its_result():
    mended = repair([user(), step("a", "a"), results("a", "a")], MERGING).messages
    assert [call.id for call in mended[1].calls] == [result.call_id for result in mended[2].results] == ["a", "a_2"]


def test_a_result_is_written_with_the_id_that_its_call_was_given():
    calls = [{"functionCall": {"id": "x", "name": name, "args": {}}} for name in "ab"]
    results = [{"functionResponse": {"id": "x", "name": name, "response": {"output": name}}} for name in "ab"]
    rows = [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
    fitted = Compactor(Budget(window=9_000)).fit({"contents": [{"role": "user", "parts": [{"text": "go"}]}, *rows]})
    assert fitted.receipt.repairs == {"duplicate-id": 1}
    assert validate(fitted.request) == []


def test_a_new_id_is_one_that_nobody_has():
    mended = repair([user(), step("a", "a", "a_2"), results("a_2", "a_3")], MERGING)
    assert [call.id for call in mended.messages[1].calls] == ["a", "a_4", "a_2"]
    assert mended.counts()["orphan-result"] == 1


def test_a_renamed_call_gives_up_the_providers_id_of_it():
    twice = Message(
        "assistant", Origin.ASSISTANT, (ToolCall("a", "read", "{}", {"id": "fc_1", "status": "completed"}),)
    )
    mended = repair([twice, tool("a"), twice, tool("a")], ITEMS).messages
    assert mended[0] is twice
    assert mended[2].calls[0].extra == {"status": "completed"}


def test_many_calls_of_one_id_are_named_in_one_pass():
    mended = repair([user(), step(*["a"] * 5_000), results(*["a"] * 5_000)], MERGING)
    assert len({call.id for call in mended.messages[1].calls}) == 5_000


def test_an_empty_text_with_a_signature_stays_and_one_with_a_cache_mark_goes():
    signed = Message("assistant", Origin.ASSISTANT, (Text("", {"thoughtSignature": "c2ln"}),))
    marked = Message("user", Origin.USER, (Text("x"), Text("", {"cache_control": {"type": "ephemeral"}})))
    mended = repair([user(), signed, marked], TURNS)
    assert mended.messages[1] is signed
    assert mended.messages[2].parts == (Text("x"),)


def test_a_failure_without_a_word_gets_one():
    silent = Message("user", Origin.TOOL, (ToolResult("a", (Text(""),), is_error=True),))
    mended = repair([user(), step("a"), silent], MERGING).messages
    assert mended[2].results[0].text == NO_MESSAGE


def test_an_empty_user_message_stays_as_a_note_of_the_program():
    mended = repair([user(""), step()], MERGING).messages
    assert mended[0] == Message("user", Origin.PROGRAM, (Text(NOTHING_SAID),))


def test_where_mending_leaves_nothing_something_is_said():
    mended = repair([step(text="")], MERGING).messages
    assert [message.text for message in mended] == [OPENING]


def test_thinking_at_the_end_of_a_run_goes_and_the_rest_stays():
    run = (step(text="one", thinking="hm"), Message("assistant", Origin.ASSISTANT, (Text("two"), Thinking("x"))))
    lost = Message("assistant", Origin.ASSISTANT, (Thinking("y"),))
    mended = repair([user(), *run, lost, user()], MERGING)
    assert mended.messages[2].parts == (Text("two"),)
    assert len(mended.messages) == 4
    assert mended.counts() == {"dangling-thinking": 2}


def test_white_space_at_the_very_end_goes_and_marks_stay():
    end = Message("assistant", Origin.ASSISTANT, (Text("one\n"), Text("two \n\n", {"cache_control": {"type": "x"}})))
    assert repair([user(), end], MERGING).messages[1].parts == (
        Text("one\n"),
        Text("two", {"cache_control": {"type": "x"}}),
    )
    thinking = repair([user(), end], MERGING, thinking=True)  # there the user speaks last
    assert (thinking.messages[1], thinking.counts()) == (end, {"no-user-last": 1})


def test_a_turn_that_should_have_begun_with_thinking_is_ended():
    loop = [user(), step("a"), results("a"), step("b", thinking="hm"), results("b")]
    assert repair(loop, MERGING).repairs == ()
    mended = repair(loop, MERGING, thinking=True)
    assert [message.text for message in mended.messages[-2:]] == [PAUSE, GO_ON]
    assert {message.origin for message in mended.messages[-2:]} == {Origin.PROGRAM}
    assert mended.counts() == {"no-thinking-first": 1, "no-user-last": 1}


def test_a_turn_that_began_with_thinking_goes_on():
    loop = (user(), step("a", thinking="hm"), results("a"), step("b"), results("b"))
    assert repair(loop, MERGING, thinking=True).messages is loop


def test_a_result_inside_its_own_step_is_moved_behind_it():
    within_ = Message("assistant", Origin.ASSISTANT, (ToolCall("a", "read", "{}"), *results("a").parts))
    mended = repair([user(), within_], MERGING).messages
    assert [message.role for message in mended] == ["user", "assistant", "user"]
    assert mended[2].results[0].text == "said by a"


def test_a_tool_message_with_words_beside_its_result_is_parted():
    odd = replace(tool("a"), parts=(*tool("a").parts, Text("beside")), extra={"name": "read"})
    mended = repair([user(), step("a"), odd], CHAT).messages
    assert [message.role for message in mended] == ["user", "assistant", "tool", "user"]
    assert mended[3].extra == {}


VOIDS = [{"content": None}, {"content": []}, {}]


@pytest.mark.parametrize("said", VOIDS)
def test_an_answer_without_any_content_gets_an_empty_text_where_its_provider_wants_one(said):
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    talk = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}]
    given = {"model": "gpt-5", "messages": [*talk, {"role": "tool", "tool_call_id": "a", **said}]}
    fitted = Compactor(Budget(window=100_000, reserve=0)).fit(given)
    assert fitted.messages[2] == {"role": "tool", "tool_call_id": "a", "content": ""}
    assert dict(fitted.receipt.repairs) == {"void-result": 1}
    assert validate(fitted.request) == []


def test_the_same_of_an_output_among_items():
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    items = [{"role": "user", "content": "go"}, call, {"type": "function_call_output", "call_id": "a", "output": None}]
    fitted = Compactor(Budget(window=100_000, reserve=0)).fit({"model": "gpt-5", "input": items})
    assert fitted.messages[2] == {"type": "function_call_output", "call_id": "a", "output": ""}
    assert validate(fitted.request) == []


def test_a_system_message_that_only_sets_something_is_no_empty_one():
    sets = Message("system", Origin.SYSTEM, (), extra={"content": [], "output_config": {"effort": "low"}})
    empty = Message("system", Origin.SYSTEM, (), extra={"content": [], "name": "nobody"})
    assert repair([user(), sets, step()], MERGING).messages[1] == sets
    assert repair([user(), empty, step()], MERGING).counts() == {"empty-message": 1}


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_is_said_in_no_known_form_is_quoted_and_not_lost(role):
    odd = Message(role, Origin.USER, (), extra={"content": {"text": "keep the tests"}, "name": "Kim"})
    mended = repair([user(), odd, user()], CHAT)
    assert mended.messages[1].text == '{"text": "keep the tests"}'
    assert mended.messages[1].extra == {"name": "Kim"}
    assert mended.counts() == {"unread-content": 1}


def test_a_step_whose_server_s_answer_comes_later_is_in_order():
    search = Opaque("server_tool_use", {"type": "server_tool_use", "id": "s"})
    found = Opaque("web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "s"})
    asked = Message("assistant", Origin.ASSISTANT, (search, ToolCall("a", "read", "{}")))
    messages = (user(), asked, results("a"), Message("assistant", Origin.ASSISTANT, (found, Text("so"))), user())
    assert repair(messages, MERGING).messages is messages


def test_the_answer_to_a_call_that_the_provider_keeps_is_no_orphan():
    kept = Message("assistant", Origin.ASSISTANT, (Opaque("item_reference", {"type": "item_reference", "id": "fc_1"}),))
    messages = (user(), kept, Message("tool", Origin.TOOL, (ToolResult("a", (Text("ok"),)),)))
    assert repair(messages, ITEMS).messages is messages
