"""A heading is found however it is marked, numbered or renamed, and ordinary lines are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.summaries.headings import LONGEST, named, opens
from foldline.core.summaries.styles import STYLES

CHECKPOINT, FULL = STYLES["checkpoint"], STYLES["full"]


def key(line, style=CHECKPOINT, loose=False):
    opened = opens(line, style, loose=loose)
    return (opened.heading.key, opened.text) if opened else None


@pytest.mark.parametrize(
    "line",
    [
        "# Goal",
        "## Goal",
        "###### Goal ##",
        "   ## Goal",
        "## 1. Goal",
        "## Goal:",
        "## **Goal**",
        "**Goal**",
        "**Goal:**",
        "1. **Goal**",
        "**Goal**:",
        "## Goals",
        "## OBJECTIVE",
        "## Goal (so far)",
        "## Goal\r",
        "##Goal",
        "##\xa0Goal",
        "## I. Goal",
        "## A) Goal",
    ],
)
def test_marked_headings_are_always_found(line):
    assert key(line) == ("goal", "")


@pytest.mark.parametrize(
    ("line", "text"), [("## Goal: build it", "build it"), ("### Goal:  a: b ", "a: b"), ("# **Goal**: x", "x")]
)
def test_what_follows_a_marked_heading_on_its_line_is_text(line, text):
    assert key(line) == ("goal", text)


@pytest.mark.parametrize(
    ("line", "key_and_text"),
    [
        ("## Next Steps: run tests", ("next", "run tests")),
        ("## Immediate Task: CONTINUE: run tests", ("immediate", "CONTINUE: run tests")),
        ("### Immediate Task — CONTINUE: run all tests now", ("immediate", "CONTINUE: run all tests now")),
        ("## Critical Context - port 5432", ("context", "port 5432")),
        ("## Key Decisions Made: SQLite", ("decisions", "SQLite")),
        ("## 3. In Progress：tests", ("active", "tests")),
        ("**Next Steps: run tests**", ("next", "run tests")),
        ("## **Next Steps: run tests**", ("next", "run tests")),
        ("## **Next Steps**: run **all** tests", ("next", "run **all** tests")),
        ("## Summary: Next Steps", ("next", "")),
        ("## Key Decisions Made:", ("decisions", "")),
    ],
)
def test_no_word_behind_a_heading_of_several_words_is_lost(line, key_and_text):
    assert key(line) == key_and_text


@pytest.mark.parametrize(
    "line", ["Goal:", "1. Goal:", "Goal: ship", "**Goal:** ship", "2) Goal: ship", "**Goal**: ship", "- **Goal**: ship"]
)
def test_bare_labels_are_found_only_where_they_will_do(line):
    assert key(line) is None
    assert key(line, loose=True) == ("goal", "ship" if "ship" in line else "")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Goal",
        "the goal: x",
        "- Goal: x",
        "    ## Goal",
        "#Goal",
        "## Weather",
        "## Goal and the rest of it, to be told",
        "** **",
        "# " + "x" * 300,
        "## " + "Goal " * 60,
        "## Weather: Goal",
        "## Weather - Goal",
        "**Goal: x**",
        "| Goal |",
    ],
)
def test_other_lines_are_none(line):
    assert key(line, loose=True) is None


def test_all_words_of_a_title_and_few_others_mean_the_section():
    assert named("Files and Important Code Sections Reviewed", FULL).key == "files"
    assert named("How the files and all the code sections were found", FULL) is None
    assert named("Error: invalid next steps in current work state here", FULL) is None


@given(st.text(alphabet="# *Goal:.1) \t", max_size=LONGEST * 3), st.booleans())
def test_any_line_can_be_asked(line, loose):
    opened = opens(line, CHECKPOINT, loose=loose)
    assert opened is None or opened.text == opened.text.strip()
