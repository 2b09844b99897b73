"""A no of the user's holds until the user takes it back, and it is a no to one deed, not to others with its verb."""

from __future__ import annotations

import pytest

from foldline.core.auditing.consent import Consents
from foldline.core.auditing.echoes import Heard
from foldline.core.facts import Fact, Facts
from foldline.core.history.cycles import pair
from foldline.core.lifting import facts_of
from foldline.core.work.deeds import deeds
from foldline.model import Grammar, Message, Origin, Text

ASKED = "Shall I push the release branch to main?"
DEED = "Push the release branch to main"


def known(*turns: str) -> tuple[Facts, Heard]:
    """What is known of turns of the user and the assistant, who speak one after the other."""
    messages = [
        Message("assistant", Origin.ASSISTANT, (Text(text),))
        if number % 2
        else Message("user", Origin.USER, (Text(text),))
        for number, text in enumerate(turns)
    ]
    return facts_of(messages, tuple(deeds(messages, pair(messages, Grammar())))), Heard.in_text(*turns)


def overruled(line: str, *later: str, first: str = "Sort the parser.") -> bool:
    """The line has done what the user refused after this first request; `later` is what came after the refusal."""
    facts, heard = known(first, ASKED, "No.", *later)
    return Consents(facts).refusals.overrules(line, heard)


@pytest.mark.parametrize(
    "later",
    [
        "Do not push yet.",
        "Never push to main.",
        "Go on with the tests.",
        "Why push the release branch to main?",
        "Did you push the release branch to main?",
        "should we push it later",
    ],
)
def test_a_no_stands_whatever_is_said_later_that_gives_no_leave(later):
    assert overruled(DEED, "Understood.", later)


@pytest.mark.parametrize("later", ["Push it now.", "You can push the release branch now.", "Can you push it now?"])
def test_a_later_word_of_the_user_s_takes_it_back(later):
    assert not overruled(DEED, "Understood.", later)


@pytest.mark.parametrize("first", ["Never push the release branch to main yourself.", "Don't push the release branch."])
def test_that_the_user_forbade_it_before_is_no_leave(first):
    assert overruled("Push the release branch", first=first)


@pytest.mark.parametrize("line", ["Push docs", "Push the docs site", "Push the notes of the meeting"])
def test_another_deed_with_its_verb_was_not_refused(line):
    assert not overruled(line)


def test_that_it_was_done_in_more_words_than_anybody_said_does_not_make_it_done():
    line = "Pushed the release branch to main with tag walrus"
    assert overruled(line)
    assert not overruled(line, "I pushed the release branch to main with tag walrus, as you then said.", "Good.")


@pytest.mark.parametrize(("did", "stands"), [("push", False), ("tag", True)])
def test_only_the_same_deed_once_it_was_done_takes_it_back(did, stands):
    facts, heard = known("Sort the parser.", ASKED, "No.", "Understood.")
    done = Fact("reached", "release branch -> main", "m4", 4, key=f"`git {did} the release branch to main`")
    assert Consents(Facts((*facts.facts, done))).refusals.overrules(DEED, heard) == stands


def test_that_it_was_refused_may_be_told_and_nothing_beside_it():
    refusals = Consents(known("Sort the parser.", ASKED, "No.")[0]).refusals
    assert refusals.tells("The user refused the push of the release branch")
    assert not refusals.tells("The user refused the push and the migration")
    assert not refusals.tells("Push the release branch to main")


KEPT = "Keep the public API as it is. Run the tests before you push."


@pytest.mark.parametrize(
    ("line", "turned"),
    [
        ("Change the public API", True),
        ("Rename parts of the public API", True),
        ("Do not run the tests before you push", True),
        ("Stop running the tests before a push", True),
        ("Keep the public API", False),
        ("Change the log format", False),
        ("Do not test the migration", False),
        ("Don't run the linter before you deploy", False),
    ],
)
def test_a_line_is_turned_around_only_where_it_is_about_what_the_user_said(line, turned):
    consents = Consents(known(KEPT)[0])
    assert consents.turns(line) == turned
    assert consents.loosens(line) == turned
