"""Calls and results find each other, one cycle is one range, and a list that grows is paired as if it came whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.fold import with_cycles
from foldline.core.history.cuts import outside_cycles
from foldline.core.history.cycles import (
    Pairer,
    Pairing,
    Place,
    ToolCycle,
    begins_with_thinking,
    inside,
    moved,
    open_loop,
    pair,
)
from foldline.model import Grammar, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult

RUNS, SINGLE = Grammar(step="run"), Grammar(step="message")


def user(text="go on"):
    return Message("user", Origin.USER, (Text(text),))


def step(*ids, text="", thinking=""):
    thought = (Thinking(thinking),) if thinking else ()
    said = (Text(text),) if text else ()
    return Message("assistant", Origin.ASSISTANT, (*thought, *said, *(ToolCall(id_, "read", "{}") for id_ in ids)))


def results(*ids, text=""):
    said = (Text(text),) if text else ()
    return Message("user", Origin.TOOL, (*(ToolResult(id_, (Text(f"of {id_}"),)) for id_ in ids), *said))


few_ids = st.lists(st.sampled_from("abc"), max_size=3)
any_message = st.one_of(
    st.builds(user),
    few_ids.map(lambda ids: step(*ids, text="so")),
    few_ids.map(lambda ids: results(*ids, text="and")),
    st.just(Message("system", Origin.SYSTEM, (Text("be kind"),))),
    st.just(Message("assistant", Origin.ASSISTANT, (ToolCall("a", "read", "{}"), ToolResult("a", (Text("x"),))))),
)
any_list = st.lists(any_message, max_size=14).map(tuple)
grammars = st.sampled_from([RUNS, SINGLE])


def slowly_paired(messages, grammar):
    """The definition, spelled out without any cleverness: which call each result answers."""
    steps = []
    for index, message in enumerate(messages):
        if message.role == "assistant":
            if grammar.step == "run" and index and messages[index - 1].role == "assistant":
                steps[-1].append(index)
            else:
                steps.append([index])
    calls = [[Place(i, n) for i in run for n in range(len(messages[i].calls))] for run in steps]
    answers, orphans, duplicates = {}, [], []
    for index, message in enumerate(messages):
        for nth, result in enumerate(message.results):
            same = [
                [place for place in of_step if messages[place.message].calls[place.nth].id == result.call_id]
                for of_step in calls
            ]
            earlier = [[place for place in of_step if place.message <= index] for of_step in same]
            waiting = [[place for place in of_step if place not in answers] for of_step in earlier]
            nearest = next((of_step for of_step in reversed(waiting) if of_step), None)
            if nearest:
                answers[nearest[0]] = Place(index, nth)
            else:
                (duplicates if any(earlier) else orphans).append(Place(index, nth))
    cycles = []
    for run, of_step in zip(steps, calls, strict=True):
        given_answers = tuple(answers.get(place) for place in of_step)
        stop = max([run[-1] + 1, *(place.message + 1 for place in given_answers if place)])
        cycles.append(ToolCycle(run[0], run[-1] + 1, stop, tuple(of_step), given_answers))
    return Pairing(tuple(cycles), tuple(orphans), tuple(duplicates))


@given(any_list, grammars, st.integers(0, 3))
@settings(deadline=None)
def test_a_pairing_that_is_moved_is_that_of_the_list_with_as_many_messages_before_it(messages, grammar, by):
    assert moved(pair(messages, grammar), by) == pair((user(),) * by + messages, grammar)


@given(any_list, grammars)
@settings(deadline=None)
def test_pairing_is_what_its_definition_says(messages, grammar):
    assert pair(messages, grammar) == slowly_paired(messages, grammar)


@given(any_list, grammars)
@settings(deadline=None)
def test_every_result_is_an_answer_an_orphan_or_a_duplicate_and_only_one_of_them(messages, grammar):
    found = pair(messages, grammar)
    answers = [answer for cycle in found.cycles for answer in cycle.answers if answer]
    every = [Place(i, n) for i, message in enumerate(messages) for n in range(len(message.results))]
    assert sorted([*answers, *found.orphans, *found.duplicates]) == every


@given(any_list, any_list, grammars)
@settings(deadline=None)
def test_a_list_that_grows_is_paired_as_if_it_came_whole(first, more, grammar):
    pairer = Pairer(grammar)
    for length in range(len(first) + 1):
        assert pairer.pair(first[:length]) == pair(first[:length], grammar)
    assert pairer.pair(first + more) == pair(first + more, grammar)
    assert pairer.pair(more) == pair(more, grammar)
    assert pairer.pair(first) == pair(first, grammar)


def test_only_what_is_new_is_looked_at():
    class Watched(Message):
        looks = 0

        @property
        def results(self):
            Watched.looks += 1
            return ()

    old = tuple(Watched("user", Origin.USER, (Text(str(n)),)) for n in range(500))
    pairer = Pairer(RUNS)
    pairer.pair(old)
    Watched.looks = 0
    pairer.pair((*old, Watched("user", Origin.USER, (Text("new"),))))
    assert Watched.looks == 1


def test_a_parallel_step_is_one_cycle_with_all_its_results():
    found = pair([user(), step("a", "b"), results("b"), results("a"), step(text="done")], RUNS)
    assert found.cycles[0] == ToolCycle(1, 2, 4, (Place(1, 0), Place(1, 1)), (Place(3, 0), Place(2, 0)))
    assert found.cycles[1] == ToolCycle(4, 5, 5, (), ())
    assert found.orphans == found.duplicates == ()


def test_a_run_of_assistant_messages_is_one_step_only_where_the_grammar_says_so():
    messages = [step(thinking="hm"), step("a"), results("a")]
    assert [cycle.start for cycle in pair(messages, RUNS).cycles] == [0]
    assert [cycle.start for cycle in pair(messages, SINGLE).cycles] == [0, 1]


def test_late_results_stretch_their_cycle():
    found = pair([step("a"), user(), step(text="meanwhile"), results("a")], RUNS)
    assert (found.cycles[0].start, found.cycles[0].stop) == (0, 4)


def test_an_id_used_in_each_step_pairs_within_its_step():
    found = pair([step("x"), results("x"), step("x"), results("x")], SINGLE)
    assert [cycle.answers for cycle in found.cycles] == [(Place(1, 0),), (Place(3, 0),)]


def test_equal_ids_in_one_step_pair_in_their_order():
    found = pair([step("x", "x"), results("x", "x")], RUNS)
    assert found.cycles[0].answers == (Place(1, 0), Place(1, 1))


def test_calls_without_results_are_pending():
    cycle = pair([step("a", "b"), results("b")], RUNS).cycles[0]
    assert cycle.pending == (Place(0, 0),)


def test_a_result_before_its_call_is_an_orphan_and_a_second_one_a_duplicate():
    found = pair([results("a"), step("a"), results("a"), results("a")], RUNS)
    assert found.orphans == (Place(0, 0),)
    assert found.duplicates == (Place(3, 0),)


def test_nothing_pairs_to_nothing():
    assert pair([], RUNS) == Pairing(())


def test_the_open_loop_is_the_last_steps_that_all_call():
    messages = [step("a"), results("a"), step(text="done"), user(), step("b"), results("b"), step("c"), results("c")]
    assert [cycle.start for cycle in open_loop(pair(messages, RUNS))] == [4, 6]
    assert open_loop(pair([*messages, step(text="done")], RUNS)) == ()
    assert open_loop(Pairing(())) == ()


@pytest.mark.parametrize(
    ("message", "thinks"),
    [(step("a", thinking="hm"), True), (step("a"), False), (Message("assistant", Origin.ASSISTANT, ()), False)],
)
def test_a_step_begins_with_thinking_or_not(message, thinks):
    assert begins_with_thinking([message], ToolCycle(0, 1, 1, (), ())) is thinks


spans = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted).map(tuple), max_size=6).map(sorted)


@given(spans)
def test_inside_is_every_position_strictly_within_a_span(ordered):
    assert inside(ordered) == {at for start, stop in ordered for at in range(start + 1, stop)}


def test_overlapping_cycles_cost_no_more_than_their_union():
    many = [(start, 20_000) for start in range(10_000)]
    assert inside(many) == set(range(1, 20_000))


def own(kind, **fields):
    """A part that only its provider understands."""
    return Opaque(kind, {"type": kind, **fields})


def says(*parts):
    return Message("assistant", Origin.ASSISTANT, parts)


def asks(*parts):
    return Message("user", Origin.USER, parts)


def by_program(id_, caller):
    return ToolCall(id_, "read", "{}", {"caller": caller})


SEARCH, FOUND = own("server_tool_use", id="s"), own("web_search_tool_result", tool_use_id="s")
PROGRAM, ENDED = own("program", id="p", call_id="c"), own("program_output", id="o", call_id="c")
BOUND = [
    [says(SEARCH, ToolCall("a", "read", "{}")), results("a"), says(FOUND)],
    [says(SEARCH), says(by_program("a", {"tool_id": "s"})), results("a"), says(by_program("b", {"tool_id": "s"}))],
    [says(SEARCH), user(), step("a"), results("a"), user(), says(FOUND)],
    [says(PROGRAM), user(), says(by_program("a", {"caller_id": "c"})), results("a"), says(ENDED)],
    [
        says(own("mcp_approval_request", id="r")),
        asks(own("mcp_approval_response", approval_request_id="r")),
        says(own("mcp_call", id="m", approval_request_id="r")),
    ],
]


@pytest.mark.parametrize("bound", BOUND)
@pytest.mark.parametrize("grammar", [RUNS, SINGLE])
def test_what_a_provider_s_own_part_names_stays_with_it(bound, grammar):
    messages = [user(), step("x"), results("x"), *bound, user(), step("y"), results("y"), step(text="done")]
    found = pair(messages, grammar)
    inner = range(4, 3 + len(bound))
    assert outside_cycles(messages, found).isdisjoint(inner)
    assert {3, 3 + len(bound)} <= outside_cycles(messages, found)
    for pinned in range(3, 3 + len(bound)):
        assert with_cycles([pinned], found) == set(range(3, 3 + len(bound)))


def test_a_name_that_each_step_uses_again_binds_none_of_them():
    messages = [message for _ in range(3) for message in (user(), says(SEARCH, FOUND))]
    assert [cycle.stop for cycle in pair(messages, RUNS).cycles] == [2, 4, 6]


def test_a_result_answers_what_the_step_before_it_only_refers_to():
    kept = own("item_reference", id="fc_1")
    messages = [user(), says(kept), says(kept), results("a"), results("b"), says(kept), results("c"), user()]
    found = pair(messages, RUNS)
    assert found.orphans == found.duplicates == ()
    assert [(cycle.start, cycle.stop) for cycle in found.cycles] == [(1, 5), (5, 7)]
    assert pair([says(kept), step("a"), results("b")], SINGLE).orphans == (Place(2, 0),)


names = st.sampled_from("ab")
bound_parts = st.one_of(
    st.builds(lambda name: own("server_tool_use", id=name), names),
    st.builds(lambda name: own("web_search_tool_result", tool_use_id=name), names),
    st.builds(lambda name: own("program_output", call_id=name), names),
    st.builds(lambda name: own("item_reference", id=name), names),
    st.builds(lambda name: by_program(name, {"tool_id": name}), names),
    st.builds(lambda name: own("odd", id=name, tool_use_id=7), names),
)
bound_lists = st.lists(
    st.one_of(any_message, bound_parts.map(says), st.builds(says, bound_parts, bound_parts), bound_parts.map(asks)),
    max_size=12,
).map(tuple)


@given(bound_lists, grammars)
@settings(deadline=None)
def test_steps_that_are_bound_are_the_same_as_the_list_grows(messages, grammar):
    pairer = Pairer(grammar)
    for length in range(len(messages) + 1):
        assert pairer.pair(messages[:length]) == pair(messages[:length], grammar)
    cycles = pair(messages, grammar).cycles
    assert all(cycle.start < cycle.step_stop <= cycle.stop <= len(messages) for cycle in cycles)


@given(bound_lists, grammars)
@settings(deadline=None)
def test_no_cut_parts_a_provider_s_own_answer_from_what_it_names(messages, grammar):
    cuts = outside_cycles(messages, pair(messages, grammar))
    assert {0, len(messages)} <= cuts
    named = {}
    for index, message in enumerate(messages):
        for part in message.parts:
            needed = part.extra.get("tool_use_id") if type(part) is Opaque else None
            if needed in named:
                assert cuts.isdisjoint(range(named[needed] + 1, index + 1))
            stands = any(one.role == "assistant" for one in messages[: index + 1])
            if stands and type(part) is Opaque and part.kind in ("server_tool_use", "item_reference", "odd"):
                named[part.extra["id"]] = index
