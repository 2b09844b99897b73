"""Lines are judged with what continues them, rows cell by cell, and headings are known in every form."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.auditing.units import units

PIECES = [
    "- a",
    "  b",
    "c",
    "Capital",
    "",
    "# H",
    "**B**",
    "| x | y |",
    "|---|---|",
    "---",
    "```",
    "label:",
    "> q",
    "1. n",
]


def texts(text):
    return [unit.text for unit in units(text.split("\n"))]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_every_line_with_words_is_in_one_unit_and_they_come_in_order(lines):
    found = [number for unit in units(lines) for number in range(unit.start, unit.stop)]
    assert found == sorted(set(found))
    assert {number for number, line in enumerate(lines) if line.strip(" |-`")} <= set(found)


def test_what_is_set_in_deeper_or_begins_small_continues_a_line():
    assert texts("- the user\n  Approved it\n- next\nand more\nNew") == [
        "- the user Approved it",
        "- next and more",
        "New",
    ]


def test_items_headings_rows_and_code_begin_anew():
    assert texts("- a\n  - b\n  # C\n  | d |\n\n  e") == ["- a", "- b", "# C", "d", "e"]
    assert texts("a\n~~~\nb\n  c\n~~~")[-3:-1] == ["b", "c"]


@pytest.mark.parametrize(
    ("text", "title", "label"),
    [
        ("## *Next* Steps", "Next Steps", False),
        ("**Rules:**", "Rules:", False),
        ("> ### Rules", "Rules", False),
        ("<h3>Rules</h3>", "Rules", False),
        ("Rules\n-----", "Rules", True),
        ("Rules\n===", "Rules", True),
        ("My rules:", "My rules", True),
    ],
)
def test_headings_are_known(text, title, label):
    unit = next(units(text.split("\n")))
    assert (unit.title, unit.label, unit.stop) == (title, label, len(text.split("\n")))


@pytest.mark.parametrize(
    "text", ["- item:", "- item\n---", "Plain words", "they said so and then went on to tell me this:"]
)
def test_ordinary_lines_are_none(text):
    assert next(units(text.split("\n"))).title == ""


def test_the_cells_of_a_row_get_the_heads_of_their_columns():
    rows = list(units(["| What | Who |", "|---|:--|", "| **a** | user |", "| b |"]))
    assert [unit.text for unit in rows if "-" not in unit.text] == ["What; Who", "a; user", "b"]
    assert rows[-2].headed == "What: a; Who: user"


def test_code_is_marked():
    assert [unit.code for unit in units(["a", "~~~", "b", "~~~", "c"]) if unit.text in "abc"] == [False, True, False]


def test_a_long_rule_that_is_none_costs_nothing():
    start = time.perf_counter()
    assert len(list(units(["| a |", "-" * 100_000 + "x", "| b |", "|" * 100_000 + "x"]))) == 4
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(("line", "title"), [("##Rules", "Rules"), ("# Rules", "Rules"), ("#7 is fixed", "")])
def test_a_heading_needs_no_blank_behind_several_marks(line, title):
    assert next(units([line])).title == title
