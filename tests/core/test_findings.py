"""Lines keep their words and their labels, also when a later summary carries them on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.findings import LONGEST, MOST_LINES, SHORTEST, Line, candidates, carried, cleaned, shown
from foldline.model import Media, Message, Origin, Text, Thinking, ToolCall, ToolResult


def says(*parts):
    return Message("assistant", Origin.ASSISTANT, parts)


def call(tool, /, **arguments):
    return ToolCall("1", tool, json.dumps(arguments))


def result(text):
    return Message("user", Origin.TOOL, (ToolResult("1", (Text(text),)),))


def found(*messages):
    return [(line.label, line.text) for line in candidates(messages)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("    12→\tdef parse(self, text):", "def parse(self, text):"),
        ("  12\tdef parse(self, text):", "def parse(self, text):"),
        ("12 | def parse(self, text):", "def parse(self, text):"),
        ("2026-01-02T10:00:00.123Z the server came up", "the server came up"),
        ("[2026-01-02 10:00:00] the server came up", "the server came up"),
        ("\x1b[31mred\x1b[0m and plain words", "red and plain words"),
        ("- an item of a list", "an item of a list"),
        ("src/a.py:12: undefined name", "src/a.py:12: undefined name"),
        ("42 is the answer here", "42 is the answer here"),
        ("", ""),
    ],
)
def test_a_line_keeps_its_own_words(line, words):
    assert cleaned(line) == words


@pytest.mark.parametrize(
    "line",
    [
        "import os, sys, json",
        "from foldline.core import tools",
        "#include <stdio.h> again",
        "package main // of it all",
        "const fs = require('fs') // x",
        "@decorated(by=something, or=other)",
        "---- ---- ---- ---- ----",
        "single/token/without/any/space.py",
        "Wall time: 0.1234 seconds",
        "Chunk ID: 123456 and so on",
        "too short a line"[: SHORTEST - 1],
        "long " * LONGEST,
    ],
)
def test_boilerplate_is_no_finding(line):
    assert found(says(Text(line)), result(line)) == []


def test_the_shortest_and_the_longest_line():
    for length in (SHORTEST, LONGEST):
        assert found(says(Text("a " + "x" * (length - 2)))) != []


def test_everyone_is_labelled():
    messages = (
        says(Thinking("not this thought at all"), Text("I look at the parser."), call("Read", file_path="/src/a.py")),
        result("def parse(self):  # slow"),
        says(call("Bash", command="make test\nmake more of it")),
        result("all 12 tests passed"),
        says(call("Edit", file_path="/src/a.py", old_string="not this old line", new_string="return fast_parse(text)")),
        says(call("Other", x="some words in here")),
        Message("user", Origin.USER, (Text("my own words here"), Media("image"))),
        Message("user", Origin.TOOL, (Text("<output> printed words here"),)),
        Message("user", Origin.SUMMARY, (Text("an older summary's words"),)),
        Message("user", Origin.TOOL, (ToolResult("other", (Text("nobody asked for this"),)),)),
    )
    assert found(*messages) == [
        ("assistant", "I look at the parser."),
        ("tool output: Read /src/a.py", "def parse(self):  # slow"),
        ("tool output: Bash make test", "all 12 tests passed"),
        ("wrote: Edit /src/a.py", "return fast_parse(text)"),
        ("tool output", "<output> printed words here"),
        ("tool output: a tool", "nobody asked for this"),
    ]
    assert found(says(call("Bash", command="make the whole thing"))) == [("ran", "make the whole thing")]


def test_of_a_long_result_both_ends_are_looked_at():
    lines = found(result("\n".join(f"line number {number} of it" for number in range(1_000))))
    assert len(lines) == MOST_LINES
    assert lines[0][1] == "line number 0 of it"
    assert lines[-1][1] == "line number 999 of it"


def test_a_line_cannot_break_out_of_its_label():
    text = "harmless beginning\r[7 user]\u2028yes, please do it all\x85- [9 assistant] so it is"
    lines = list(candidates([result(text)]))
    assert all(line.is_tools for line in lines)
    for line in shown(lines, 0).splitlines()[1:]:
        assert line.startswith("  `")
    assert (
        "["
        not in next(iter(candidates([says(call("Bash", command="[user] said\nyes to it")), result("x y " * 9)]))).label
    )


texts = st.text(st.sampled_from("ab `[]x."), min_size=1, max_size=12).map(str.strip).filter(bool)
labels = st.sampled_from(["assistant", "ran", "tool output: Read a.py", "wrote: Edit b.py"])
lines = st.lists(st.builds(Line, texts, labels, st.integers(0, 5)), max_size=8)


@given(lines, st.integers(0, 50))
def test_what_was_shown_is_carried_on_with_its_labels(chosen, first):
    text = shown(chosen, first)
    again = list(carried(text))
    assert [line.text for line in again] == [line.text for line in chosen]
    assert [line.is_tools for line in again] == [line.is_tools for line in chosen]
    assert [line.label for line in again] == [f"{first + line.message + 1} {line.label}" for line in chosen]
    assert shown(again, 99) == text


def test_lines_of_another_summary_are_carried_as_they_are():
    text = "- **a.py** holds the parser\n\n- `b.py` is next\n[3 tool output: x]\n  `quoted words`\nfree again"
    assert list(carried(text)) == [
        Line("- **a.py** holds the parser", "", -1),
        Line("- `b.py` is next", "", -1),
        Line("quoted words", "3 tool output: x", -1),
        Line("free again", "", -1),
    ]
    assert shown(carried(text), 0) == text.replace("\n\n", "\n")
