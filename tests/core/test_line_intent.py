"""Orders are told from reports of them, and words put into the user's mouth from others."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foldline.core.auditing.line_intent import (
    as_order,
    attribution,
    commands,
    orders_in,
    quotes,
    reads_as_words,
    unquoted,
)


@pytest.mark.parametrize(
    ("line", "order"),
    [
        ("- Delete the log", "Delete the log"),
        ("- [ ] the log is old", "- [ ] the log is old"),
        ("Log: delete the log now", "delete the log now"),
        ("- It is time to delete the log", "delete the log"),
        ('- "delete the log"', 'delete the log"'),
        ("Finished it; delete the log", "delete the log"),
        ("The log has to be deleted", "The log has to be deleted"),
        ("Plan: upload it all, then delete the log", "delete the log"),
        ("You keep the log", "You keep the log"),
        ("Log: delete", "Log: delete"),
        ("The user wanted the log gone", "The user wanted the log gone"),
    ],
)
def test_orders_are_found(line, order):
    assert order in list(orders_in(line))


@pytest.mark.parametrize(
    "line",
    [
        "- [x] Deleted the log",
        "Ran the tests and deleted the log",
        "The page says: delete the log",
        "It printed an instruction to delete the log",
        "- I wrote the log and sent it",
        "The audit log is old",
        "A commit and a call",
        "store.delete(x) is fast",
        "Now it is retry(open, 3)",
        "",
    ],
)
def test_reports_are_none(line):
    assert list(orders_in(line)) == []


@pytest.mark.parametrize(
    "line",
    [
        "User: delete it",
        "Human: delete it",
        "[7] Delete it",
        "[7 user] delete it",
        "As per the user, delete it",
        "According to the human, delete it",
        "“delete it” — the user, message 3",
        "<user>delete it</user>",
        "delete it; user",
        "delete it (from the user)",
        "The user explicitly asked to delete it",
        "At the user's behest delete it",
        "Der Nutzer möchte delete it",
        "用户要求 delete it",
        "delete it (requested by the user)",
        "delete it: the user's choice",
        "the user picked delete it",
    ],
)
def test_words_of_the_user_are_known(line):
    assert quotes(line)
    assert "delete it" in unquoted(line).casefold()


@pytest.mark.parametrize(
    "line",
    [
        "The user model has a name",
        "Added by user id",
        "Users log in",
        "(user message)",
        "Show the user the rule",
        "The user was asked about it",
    ],
)
def test_other_lines_put_nothing_into_the_users_mouth(line):
    assert not quotes(line)


@pytest.mark.parametrize(
    ("line", "order"),
    [
        ("- staging_rows to be truncated", "truncated staging_rows"),
        ("log deletion pending", "deletion log pending"),
        ("The key still to be uploaded to the mirror", "uploaded The key to the mirror"),
        ("Look at the log", ""),
        ("3 tests passed", ""),
        ("The station", ""),
    ],
)
def test_a_deed_named_behind_what_it_is_done_to_is_turned_into_an_order(line, order):
    assert as_order(line) == order


@pytest.mark.parametrize(
    ("line", "commanded"),
    [
        ("- [ ] log", True),
        ("TODO: log", True),
        ("- You must go", True),
        ("- [x] log", False),
        ("The TODO", False),
    ],
)
def test_some_lines_say_themselves_that_they_are_to_be_done(line, commanded):
    assert commands(line) is commanded


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("clear the whole archive now", True),
        ("rm -rf the old archive now", False),
        ("x = one two three four", False),
        ("from a import b as c", False),
        ("git push origin", False),
    ],
)
def test_words_in_a_fence_are_told_from_code(line, words):
    assert reads_as_words(line) is words


def test_a_line_is_parted_at_the_words_that_name_the_user():
    assert attribution("**Store**: the user chose sqlite") == ("**Store**: the ", " sqlite")
    assert attribution("no one said it") == ("", "no one said it")


PIECES = [
    *("delete the log", "run the tests", "Delete ", "Log: ", "- ", "- [ ] ", "3. ", "; ", ". ", ", then ", " and "),
    *("to ", "must be deleted", "has to be uploaded", "You must ", "the user wanted ", "The page says: ", "Ran it"),
    *("。", "retry(x)"),
]
lines = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), min_size=4, max_size=9).map("".join)


@given(lines)
def test_orders_are_pieces_of_the_line(line):
    orders = list(orders_in(line))
    assume(orders)
    assert all(order and order in line for order in orders)


def test_what_must_be_done_to_something_is_told_with_it_whatever_follows():
    assert list(orders_in("Note: the audit log must be deleted: it is old")) == [
        "the audit log must be deleted: it is old"
    ]


def test_a_line_made_of_such_pieces_has_several_orders():
    line = "The page says: delete the log; run the tests and delete the log. The key must be deleted"
    assert all(piece in line for piece in PIECES[:2])
    assert list(orders_in(line)) == ["run the tests and ", "delete the log.", "The key must be deleted"]


@pytest.mark.parametrize("piece", ["and run ", "to ", "has to be ", ": ", "user ", "[ ]", "- ", "before a ", "; "])
def test_hostile_lines_are_read_in_linear_time(piece):
    line = piece * (20_000 // len(piece))
    start = time.perf_counter()
    list(orders_in(line))
    quotes(line)
    assert time.perf_counter() - start < 3


@pytest.mark.parametrize("line", ["Decision (user): drop it", "The user opted to drop it", "Rule (the user): no tabs"])
def test_who_decided_may_stand_in_brackets(line):
    assert quotes(line)
    assert not quotes("The viewer role (user) gets 403")


@pytest.mark.parametrize("piece", ["delete, ", "run; ", "to delete ", "delete → ", "push, then ", "(copy) "])
def test_the_orders_of_a_line_are_hardly_longer_than_the_line(piece):
    line = f"- step 1: {piece * 600}"
    assert sum(map(len, orders_in(line))) <= 2 * len(line)


@pytest.mark.parametrize(
    "line", ["From here on act alone", "Tests may be ignored from now on", "Henceforth push at once"]
)
def test_what_holds_from_now_on_is_an_order(line):
    assert commands(line)


def test_a_line_of_dashes_is_turned_into_no_order_at_once():
    start = time.process_time()
    assert as_order("- " * 40_000) == ""
    assert time.process_time() - start < 0.5
