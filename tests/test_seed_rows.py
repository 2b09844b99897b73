"""The rows of the behaviours we took over: strategy, selection and its measure, the split point, pruning.

Each row is an assertion about a function, and is first shown to fail for one that does nothing: identity in its place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from foldline.core.history.cuts import choose, legal
from foldline.core.history.cycles import pair
from foldline.core.prune import Pruned, PruneSettings, prune
from foldline.core.select import Selected, Strategy, select
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult

RUNS = Grammar(step="run", merges=True, unique_ids=True, user_first=True, empty_text=False)
EAGER = PruneSettings(worthwhile=0)


def user(text="go on"):
    return Message("user", Origin.USER, (Text(text),))


def system(text="be kind"):
    return Message("system", Origin.SYSTEM, (Text(text),))


def step(*ids, text="so"):
    return Message("assistant", Origin.ASSISTANT, (Text(text), *(ToolCall(id_, "read", "{}") for id_ in ids)))


def results(*ids, text="fine"):
    return Message("user", Origin.TOOL, tuple(ToolResult(id_, (Text(text),)) for id_ in ids))


def talk(count):
    return tuple(user(f"word {number}") for number in range(count))


def tokens(message):
    return len(message.text.split()) + sum(len(result.text.split()) for result in message.results)


# --- what stands in for ours when it does nothing ---------------------------------------------------------------------


@dataclass(frozen=True)
class SaveNothing:
    """A strategy whose forms are all itself, and which no loading changes."""

    def to_json(self):
        return "{}"

    to_toml = to_json

    def from_json(self, _):
        return Strategy()

    from_toml = from_json


def select_everything(messages, _strategy, _grammar, _size):
    every = tuple(range(len(messages)))
    return Selected(tuple(messages), every, ("",) * len(every), len(every), 0, 0)


def never_cut(_messages, **_):
    return 0


def prune_nothing(messages, _settings=None, plan=frozenset()):
    return Pruned(tuple(messages), plan)


def split(messages, **wanted):
    """Ours: pair, find the legal places, choose one."""
    return choose(legal(messages, pair(messages, RUNS)), [1] * len(messages), **wanted)


# --- S2.1 -------------------------------------------------------------------------------------------------------------


def s2_1_a_strategy_is_saved_and_loaded_and_missing_fields_get_defaults(strategy):
    assert strategy.from_json(strategy.to_json()) == strategy
    assert strategy.from_toml(strategy.to_toml()) == strategy
    assert json.loads(strategy.to_json())["keep_recent"] == 3
    assert strategy.from_json('{"keep_recent": 3}').keep_keywords[:3] == ("error", "fix", "bug")


def s2_1_defaults(make):
    strategy = make()
    assert strategy.keep_recent == 10
    words = "error, fix, bug, issue, problem, solution, important, note, warning"
    assert ", ".join(strategy.keep_keywords) == words
    assert (strategy.keep_tool_results, strategy.keep_system) == (True, True)


# --- S2.2 and S2.3 ----------------------------------------------------------------------------------------------------


def kept(select_, messages, strategy):
    return select_(messages, strategy, RUNS, tokens).indices


def s2_2_system_keywords_tool_results_and_the_last_stay_in_their_order(select_):
    messages = [
        system(),
        user("hi"),
        step(),
        user("an ERROR here"),
        step(),
        *talk(3),
        step("a"),
        results("a"),
        *talk(4),
    ]
    assert kept(select_, messages, Strategy(keep_recent=2)) == (0, 3, 8, 9, 12, 13)


def s2_2_equal_messages_are_neither_merged_nor_moved(select_):
    messages = [user("note"), user("old"), user("note"), user("old"), user("note")]
    assert kept(select_, messages, Strategy(keep_recent=1, keep_keywords=("note",))) == (0, 2, 4)


def s2_2_an_ordinary_tool_result_is_kept_with_its_call(select_):
    messages = [*talk(3), step("a"), results("a"), *talk(5)]
    assert kept(select_, messages, Strategy(keep_recent=1, keep_keywords=())) == (2, 3, 4, 9)


def s2_2_no_rule_orphans_a_call_or_a_result(select_):
    by_keyword = [*talk(3), step("a", text="an error"), results("a"), *talk(5)]
    by_recency = [*talk(3), step("a"), results("a"), user()]
    bare = Strategy(keep_recent=2, keep_tool_results=False)
    assert {3, 4} <= set(kept(select_, by_keyword, bare)) < set(range(10))
    assert {3, 4} <= set(kept(select_, by_recency, bare)) < set(range(6))


def s2_2_a_keyword_in_a_result_counts(select_):
    messages = [*talk(3), step("a"), results("a", text="a TypeError"), step("b"), results("b"), step(), *talk(5)]
    assert kept(select_, messages, Strategy(1, ("error",), keep_tool_results=False)) == (2, 3, 4, 7, 12)


def s2_2_whole_words_with_their_inflections_and_parts_of_identifiers(select_):
    found = ["errors", "It was Fixed", "TypeError", "parse_error", "a BUG"]
    missed = ["terror", "prefix", "debugger", "notebook"]
    messages = [user(text) for text in (*found, *missed, "end")]
    assert kept(select_, messages, Strategy(keep_recent=1)) == (0, 1, 2, 3, 4, 9)


def s2_2_system_stays_though_the_strategy_says_otherwise_and_that_is_said(select_):
    chosen = select_([system(), *talk(5)], Strategy(1, (), False, keep_system=False), RUNS, tokens)
    assert chosen.indices == (0, 5)
    assert [notice.code for notice in chosen.notices] == ["keep-system"]


def s2_3_the_result_has_messages_counts_and_measured_tokens(select_):
    messages = [user("one two three four five"), user("six"), user("seven eight")]
    chosen = select_(messages, Strategy(keep_recent=1), RUNS, tokens)
    assert chosen.messages == (messages[2],)
    assert (chosen.count_before, chosen.count_after) == (3, 1)
    assert (chosen.tokens_before, chosen.tokens_after, chosen.tokens_saved) == (8, 2, 6)  # words, not four a message
    assert Selected.from_json(chosen.to_json(), messages) == chosen


# --- S3.2 -------------------------------------------------------------------------------------------------------------


def s3_2_at_least_four_messages_stay_and_the_number_is_a_parameter(split_):
    assert split_(talk(10)) == 6
    assert split_(talk(10), keep=7) == 3
    assert split_(talk(4)) == split_(talk(3)) == split_(()) == 0


def s3_2_never_between_a_call_and_its_results(split_):
    parallel = (*talk(2), step("a", "b"), results("a"), results("b"), *talk(2))
    assert split_(parallel) == 2
    assert split_((*talk(2), step("a"), results("a"), *talk(4))) == 4


def s3_2_a_true_orphan_does_not_move_the_split(split_):
    assert split_((*talk(3), results("nobody"), *talk(3))) == 3


# --- S3.7 -------------------------------------------------------------------------------------------------------------


def s3_7_a_bulky_result_becomes_head_marker_and_tail(prune_):
    bulk = "h" * 500 + "m" * 3_000 + "t" * 200
    pruned = prune_((results("a", text=bulk), *talk(4)), EAGER)
    shown = pruned.messages[0].results[0].text
    assert shown.startswith("h" * 500 + "\n")
    assert shown.endswith("\n" + "t" * 200)
    assert "3,000 characters" in shown
    assert "m" * 9 not in shown


def s3_7_only_what_is_over_the_limit_and_before_the_last_four(prune_):
    bulk = "x" * 2_001
    messages = (results("a", text="x" * 2_000), results("b", text=bulk), *talk(3), results("c", text=bulk))
    pruned = prune_(messages, EAGER)
    assert [stub.call_id for stub in pruned.stubs] == ["b"]
    assert pruned.messages[0] is messages[0]
    assert pruned.messages[2:] == messages[2:]


def s3_7_what_was_removed_is_counted(prune_):
    messages = (results("a", text="x" * 5_000), results("b", text="y" * 9_000), *talk(4))
    pruned = prune_(messages, EAGER)
    shown = sum(len(message.results[0].text) for message in pruned.messages[:2])
    assert len(pruned.stubs) == 2
    assert pruned.freed == 14_000 - shown > 12_000


def s3_7_no_character_is_cut(prune_):
    shown = prune_((results("a", text="\U0001f44b\U0001f3fd" * 2_000), *talk(4)), PruneSettings(head=501, worthwhile=0))
    lines = shown.messages[0].results[0].text.splitlines()
    assert len(lines) == 3
    assert {len(lines[0]) % 2, len(lines[2]) % 2} == {0}


def s3_7_no_setting_makes_a_stub_longer(prune_):
    stubs = 0
    for limit in (0, 50, 300, 690, 710):
        for count in (limit + 1, limit + 60, 700, 1_500):
            messages = (results("a", text="x" * count), *talk(4))
            pruned = prune_(messages, PruneSettings(limit=limit, worthwhile=0))
            assert len(pruned.messages[0].results[0].text) <= count
            stubs += len(pruned.stubs)
    assert stubs >= 5


# --- all of them ------------------------------------------------------------------------------------------------------

ROWS = [
    (s2_1_a_strategy_is_saved_and_loaded_and_missing_fields_get_defaults, Strategy(3, ("odd",), False), SaveNothing()),
    (s2_1_defaults, Strategy, lambda: Strategy(0, (), False)),
    (s2_2_system_keywords_tool_results_and_the_last_stay_in_their_order, select, select_everything),
    (s2_2_equal_messages_are_neither_merged_nor_moved, select, select_everything),
    (s2_2_an_ordinary_tool_result_is_kept_with_its_call, select, select_everything),
    (s2_2_no_rule_orphans_a_call_or_a_result, select, select_everything),
    (s2_2_a_keyword_in_a_result_counts, select, select_everything),
    (s2_2_whole_words_with_their_inflections_and_parts_of_identifiers, select, select_everything),
    (s2_2_system_stays_though_the_strategy_says_otherwise_and_that_is_said, select, select_everything),
    (s2_3_the_result_has_messages_counts_and_measured_tokens, select, select_everything),
    (s3_2_at_least_four_messages_stay_and_the_number_is_a_parameter, split, never_cut),
    (s3_2_never_between_a_call_and_its_results, split, never_cut),
    (s3_2_a_true_orphan_does_not_move_the_split, split, never_cut),
    (s3_7_a_bulky_result_becomes_head_marker_and_tail, prune, prune_nothing),
    (s3_7_only_what_is_over_the_limit_and_before_the_last_four, prune, prune_nothing),
    (s3_7_what_was_removed_is_counted, prune, prune_nothing),
    (s3_7_no_character_is_cut, prune, prune_nothing),
    (s3_7_no_setting_makes_a_stub_longer, prune, prune_nothing),
]
names = [row.__name__ for row, _, _ in ROWS]


@pytest.mark.parametrize(("row", "ours", "_"), ROWS, ids=names)
def test_row(row, ours, _):
    row(ours)


@pytest.mark.parametrize(("row", "_", "idle"), ROWS, ids=names)
def test_row_fails_where_nothing_is_done(row, _, idle):
    with pytest.raises(AssertionError):
        row(idle)
