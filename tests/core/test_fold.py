"""What is proved of every view before anyone sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline import Budget, Compactor
from foldline.core import compaction, views
from foldline.core.fold import BrokenPromise, Extent, as_carried, prove
from foldline.errors import CannotFit
from foldline.model import Message, Origin, Text
from foldline.testing import Session

TALK = (
    Session("openai-chat", system="Be brief.")
    .user("Sort the handlers.")
    .tools(("Bash", '{"command": "ls"}', "a.py b.py"))
    .user("And now the tests.")
    .conversation()
)
SYSTEM, FIRST, CALL, RESULT, NEWEST = range(5)


def proved(*shown, clamped=False):
    prove([TALK.messages[at] for at in shown], TALK.messages, TALK.grammar, clamped=clamped)


def test_the_whole_history_is_a_view_of_itself():
    proved(SYSTEM, FIRST, CALL, RESULT, NEWEST)


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ((SYSTEM, RESULT, NEWEST), "without its call"),
        ((SYSTEM, CALL, NEWEST), "without its result"),
        ((FIRST, NEWEST), "a system message"),
        ((SYSTEM, FIRST), "the newest user message"),
    ],
)
def test_what_is_missing_is_named(shown, why):
    with pytest.raises(BrokenPromise, match=why):
        proved(*shown)


@pytest.mark.parametrize("shown", [(SYSTEM, RESULT), (SYSTEM, CALL), (FIRST,)])
def test_where_the_newest_user_message_is_shown_in_part_all_else_is_proved_nevertheless(shown):
    proved(SYSTEM, clamped=True)
    with pytest.raises(BrokenPromise):
        proved(*shown, clamped=True)


def long_talk():
    session = Session().user("Sort the handlers, and do not touch vendor/.")
    for number in range(40):
        session.tools(("Bash", f'{{"command": "cat part{number}.py"}}', f"line {number}\n" * 200))
    return session.user("And now the tests.").request()


def test_a_view_that_the_proof_refuses_is_not_sent_and_the_receipt_says_so(monkeypatch):
    refused = iter([True])

    def refuse_once(*given, **more):
        if next(refused, False):
            raise BrokenPromise("a system message is not in the view")
        prove(*given, **more)

    monkeypatch.setattr(views, "prove", refuse_once)
    fitted = Compactor(Budget(window=1_000_000, reserve=0)).compact(long_talk(), to=4_000)
    told = [notice.text for notice in fitted.receipt.notices if notice.code == "view-refused"]
    assert told == [compaction.BROKEN.format("keep the tail: a system message is not in the view")]


def test_where_every_view_is_refused_the_error_says_why_and_not_only_that_the_window_is_small(monkeypatch):
    def refuse(*given, **more):
        raise BrokenPromise("a system message is not in the view")

    monkeypatch.setattr(views, "prove", refuse)
    with pytest.raises(CannotFit, match=r"fold all: a system message is not in the view\); this is a fault"):
        Compactor(Budget(window=5_000, reserve=0)).fit(long_talk())


@given(st.integers(60, 900))
def test_of_a_message_that_is_shown_by_its_ends_no_more_is_shown_than_there_is_room_for(length):
    text = " ".join(f"word{number}" for number in range(300))
    shown = as_carried(Message("user", Origin.USER, (Text(text),)), Extent(length)).text
    first, mark, last = shown.split("\n")
    assert text.startswith(first)
    assert text.endswith(last)
    assert length * 0.7 < len(first) + len(last) <= length
    assert f"{len(text) - len(first) - len(last):,} characters" in mark
