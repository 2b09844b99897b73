"""An answer that names an option is understood by what was offered."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foldline.core.said.offers import LONGEST, MOST, names_several, put, taken

LETTERS = "Two ways:\n- A) wait for the review\n- **B)** push now\n- C) Something else?\n\nWhich one?"
NUMBERS = "I could\n1. rename the table\n2. add a view: it is cheaper\n3. leave it\nWhat do you prefer?"


@pytest.mark.parametrize(
    ("answer", "offered", "option"),
    [
        ("B", LETTERS, "B) push now"),
        ("a) please", LETTERS, "A) wait for the review"),
        ("I think A) is fine, and then go on", LETTERS, "A) wait for the review"),
        ("C) update the branch first", LETTERS, "C) Something else?"),
        ("let's do 2", NUMBERS, "2. add a view: it is cheaper"),
        ("#1 and #3 please", NUMBERS, "1. rename the table; 3. leave it"),
        ("A.", "### Option A — on commit\n### Option B — at the end\nWhich timing?", "Option A — on commit"),
        ("A", "| A | in one file |\n| B | in two |\nWhich?", "A | in one file |"),
        ("B please", LETTERS, "B) push now"),
        ("skip 1, 3 and do the rest", NUMBERS, "1. rename the table; 3. leave it"),
        ("1, 2 and 3", NUMBERS, "1. rename the table; 2. add a view: it is cheaper; 3. leave it"),
        ("fix 2 & 3 now", NUMBERS, "2. add a view: it is cheaper; 3. leave it"),
        ("A and then go on", LETTERS, "A) wait for the review"),
        ("Option 2.", NUMBERS, "2. add a view: it is cheaper"),
    ],
)
def test_the_option_is_quoted(answer, offered, option):
    assert taken(answer, offered) == option


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        "a new one",
        "A few remarks first",
        "1 more thing",
        "not with B",
        "don't do B.",
        "I want both",
        "12 tests fail",
        "Ok! It fails on lines 1, 2 of the log.",
        "Yes. It broke 1, 2 days ago.",
        "In Chapter 2, 3 is misspelt.",
        "D",
        "keep the b option",
        "",
    ],
)
def test_other_answers_name_none(answer):
    assert taken(answer, f"{LETTERS}\n{NUMBERS}") == ""


MARKS = ("A) ", "- **B)** ", "**b.** ", "1. ", "2) ", "(3) ", "### Option A — ", "| B | ", "* #2: ", "  4. ", "5: ")
said = st.text(min_size=1, max_size=20) | st.text(min_size=3, max_size=9).map(lambda text: text * 40)
lines = st.builds(str.__add__, st.sampled_from(MARKS), said)
offers = st.lists(lines, min_size=3, max_size=9).map("\n".join).map("Two ways:\n\n{}\nWhich one?".format)
answers = st.sampled_from(["A", "do 1", "a) and 2", "B, then", "1, 2, 3, 4 and 5", "#2 and 3 please"])


@given(answers, offers)
def test_only_what_was_offered_is_quoted(answer, offered):
    found = taken(answer, offered)
    assume(found)
    plain = offered.replace("**", "").replace("__", "")
    quoted = [piece for half in found.split(" … ") for piece in half.split("; ")]
    assert all(piece in plain for piece in quoted)
    assert sum(map(len, quoted)) <= LONGEST
    assert found.count("; ") < MOST + offered.count("; ")


def test_of_such_options_those_are_quoted_that_the_answer_names():
    offered = "\n".join(("Two ways:", *(f"{mark}way {number}" for number, mark in enumerate(MARKS)), "Which one?"))
    assert taken("a) and 2", offered) == "Option A — way 6; 2: way 8"
    assert taken("1, 2, 3, 4 and 5", offered).count("way") == 5


def test_of_a_long_option_both_ends_are_shown_and_the_cut_is_marked():
    offered = f"1. Delete {'the generated reports, ' * 20}but only those from before 2019\n2. Nothing"
    found = taken("1, please", offered)
    assert found.startswith("1. Delete the generated reports")
    assert found.endswith("but only those from before 2019")
    assert " … " in found


DETOUR = "It is a detour.\n\nWant to:\n1. **Do it now** - as part of this\n2. **Quick fix** - and an issue\n3. Park it"


@pytest.mark.parametrize(
    ("text", "answer", "option"),
    [
        (DETOUR, "let's do 2 for now, and an issue", "2. Quick fix - and an issue"),
        (DETOUR, "3", "3. Park it"),
        ("There are two options:\n\nA) wait\nB) push now\n", "ok, go with B", "B) push now"),
        ("Done:\n1. rows\n2. columns\n\nYou could:\n1. stop here\n2. go on", "take 2", "2. go on"),
    ],
)
def test_an_option_is_taken_that_was_put_without_a_question_mark(text, answer, option):
    assert taken(answer, put(text, answer)) == option


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", "do 2"),
        ("What I did:\n1. read the rows\n2. wrote them", "do 2"),
        ("These should now work:\n1. login\n2. logout", "do 2"),
        ("You can run it with:\n1. make\n2. tox", "do 2"),
        ("You could:\n1. stop here\n2. go on\n\nI went on, and all is done.\n\nThe tests pass.", "do 2"),
        ("Options:\n1. stop here\n2. go on\n\nI took the second:\n1. rows\n2. columns", "do 2"),
        ("Done so far:\n3. deleted the tables\n\nYou could:\n1. stop\n2. go on", "do 3"),
        ("Done so far:\n3. deleted the tables\n\nYou could:\n1. stop", "do 1"),
        (DETOUR, "1. fix the login page\n2. add tests"),
        (DETOUR, "1: error: cannot open a.py\n2: error: cannot open b.py"),
        (DETOUR, "I think 2 is the number of retries we need"),
        (DETOUR, "2. Please rename foo to bar"),
    ],
)
def test_of_what_was_not_put_or_not_taken_nothing_is_shown(text, answer):
    assert taken(answer, put(text, answer)) == ""


@pytest.mark.parametrize(("answer", "several"), [("2 and 3", True), ("fix 1, 2", True), ("2", False), ("go on", False)])
def test_numbers_at_the_beginning_of_an_answer_are_options_even_if_nothing_was_asked(answer, several):
    assert names_several(answer) is several
