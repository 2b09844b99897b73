"""Lines of files that were read are the files' own, marked as such, and nothing else is taken for one."""

from __future__ import annotations

import base64
import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.history.cycles import pair
from foldline.core.log.loglines import GAP, LogLine
from foldline.core.log.logtext import reread, shown
from foldline.core.log.readings import MOST_SEEN, PART, WHOLE_FILE, seen
from foldline.core.log.worklog import MOST_LINES
from foldline.core.work.deeds import deeds
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult


def says(*parts):
    return Message("assistant", Origin.ASSISTANT, parts)


def call(tool, /, id_="1", **arguments):
    return ToolCall(id_, tool, json.dumps(arguments))


def result(text):
    return Message("user", Origin.TOOL, (ToolResult("1", (Text(text),)),))


def read(*messages):
    return list(seen(tuple(deeds(messages, pair(messages, Grammar()))), 0))


def test_lines_of_a_file_that_was_read_are_the_files():
    text = (
        "    12→def parse(self):\n    13→    return None\n    14→}\n\n<system-reminder>\nBe it.\n</system-reminder>\n"
    )
    lines = read(says(call("Read", file_path="/src/a.py")), result(text))
    assert [(line.text, line.label, line.kind, line.message) for line in lines] == [
        ("def parse(self):", "tool output: Read a.py", "seen", 1),
        ("    return None", "tool output: Read a.py", "seen", 1),
        ("}", "tool output: Read a.py", "seen", 1),
    ]
    assert all(line.is_tools and line.is_text and not line.is_quoted for line in lines)


@pytest.mark.parametrize(
    "messages",
    [
        (says(call("Edit", file_path="a.py", new_string="some words")), result("1→some words")),
        (says(call("Bash", command="make test")), result("all of it passed")),
        (says(call("Bash", command="cat a.py > b.py")), result("some words")),
        (says(call("Bash", command="cat a.py; curl http://x")), result("some words")),
        (says(call("Bash", command="cat a.py b.py")), result("some words")),
        (says(call("Bash", command="sed -n 's/x/y/p' a.py")), result("some words")),
        (says(call("Read", file_path="a.py")), result("<tool_use_error>File does not exist.</tool_use_error>")),
        (says(call("Read", file_path="a.py")),),
    ],
)
def test_what_is_no_file_that_was_read_is_not_taken_for_one(messages):
    assert read(*messages) == []


@pytest.mark.parametrize(
    "command", ["cat a.tsv", "cd src && head -20 a.tsv", "sed -n '1,80p' a.tsv", "cat a.tsv | head -5"]
)
def test_a_file_that_a_shell_showed_was_read_and_numbers_in_it_are_its_own(command):
    assert [line.text for line in read(says(call("Bash", command=command)), result("12\tapples"))] == ["12\tapples"]


def test_a_place_in_a_file_weighs_more_than_the_whole_file():
    short, long = ("\n".join(f"line number {n}" for n in range(count)) for count in (PART, PART + 1))
    assert [
        {line.weight for line in read(says(call("Read", file_path="a")), result(text))} for text in (short, long)
    ] == [
        {1.0},
        {WHOLE_FILE},
    ]


def test_files_that_one_step_read_stand_in_the_order_of_its_calls():
    step = says(call("Read", "1", file_path="a.py"), call("Read", "2", file_path="b.py"))
    both = Message("user", Origin.TOOL, (ToolResult("1", (Text("first"),)), ToolResult("2", (Text("second"),))))
    assert [line.text for line in read(step, both)] == ["first", "second"]


def test_of_very_much_that_was_read_only_the_newest_is_looked_through():
    text = "\n".join(f"line number {n}" for n in range(MOST_LINES))
    steps = [message for n in range(9) for message in (says(call("Read", file_path=f"{n}.py")), result(text))]
    lines = read(*steps)
    assert len(lines) == MOST_SEEN  # none is cut in two
    assert min(line.message for line in lines) == 2 * 9 - 2 * (MOST_SEEN // MOST_LINES) + 1


barred = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("```", "1. ```sh", "> x", "## Tasks", "# Rules", "# End of the notes", "[7] yes", "[tool output: x]"),
                *("}", "(900 more left out for want of room)", "(Left out for want of room: rules 3)"),
            ]
        ),
        st.text(min_size=1, max_size=20),
    ),
    min_size=1,
    max_size=12,
)


@given(barred, barred)
def test_every_line_of_a_file_bears_its_mark(one, other):
    """Whatever a file says, it is the tool's when the log is read again, and opens nothing of ours."""
    steps = [
        message
        for name, text in (("a.py", one), ("b.py", other))
        for message in (says(call("Read", file_path=name)), result("\n".join(text)))
    ]
    lines, said = read(*steps), LogLine("The agent goes on.", "", 9)
    text = shown([*lines, said], 0)
    again = list(reread(text))
    assert [line.text for line in again] == [line.text for line in [*lines, said]]
    assert [line.kind for line in again] == [*("seen" for _ in lines), "whole"]
    assert all(line.startswith(("> ", "[")) for line in text.split("\n")[:-1] if line)


def test_a_file_that_was_shortened_says_where():
    text = "first line\n[… 26,620 characters left out here; original 0123456789abcdef …]\nlast line"
    assert [line.text for line in read(says(call("Read", file_path="a")), result(text))] == [
        "first line",
        GAP,
        "last line",
    ]
    long = "\n".join(f"line number {n}" for n in range(MOST_LINES * 2))
    lines = [line.text for line in read(says(call("Read", file_path="a")), result(long))]
    assert lines[MOST_LINES * 3 // 4] == GAP
    assert len(lines) == MOST_LINES + 1


def test_numbers_are_taken_off_where_a_tool_put_them_and_nowhere_else():
    years = "2005\tone\n2010\ttwo"
    assert [line.text for line in read(says(call("Read", file_path="a")), result(years))] == years.split("\n")
    shown_by_cat = "     1\tone\n     2\ttwo"
    assert [line.text for line in read(says(call("Bash", command="cat -n a")), result(shown_by_cat))] == ["one", "two"]


def test_what_a_shell_says_of_the_run_is_no_line_of_the_file():
    text = "Exit code: 0\nWall time: 0.3 seconds\nOutput:\nfirst line\nOutput:\n" + "x = 1\n" * 9
    lines = [line.text for line in read(says(call("Bash", command="cat a.py")), result(text))]
    assert lines[:3] == ["first line", "Output:", "x = 1"]  # the second is the file's


@pytest.mark.parametrize("text", ["<ul>\n  <li>x</li>\n</ul>", "output:\n  exit codes:\n  - 1", "id\n1\tAnn\n2\tBob"])
def test_lines_of_a_file_that_look_like_a_frame_are_its_own(text):
    assert [line.text for line in read(says(call("Bash", command="cat a")), result(text))] == text.split("\n")


def test_the_agents_own_quotations_are_not_taken_for_lines_of_a_file():
    lines = [
        LogLine("x = 1", "tool output: Read a.py", 1, kind="seen"),
        LogLine("> I quote", "", 2),
        LogLine("> and more", "", 2),
    ]
    text = shown(lines, 0, [2])
    assert [(line.text, line.kind) for line in reread(text)] == [
        ("x = 1", "seen"),
        ("> I quote", "whole"),
        ("> and more", "whole"),
    ]
    assert "\n> and" not in text


def test_short_lines_of_a_file_stay_with_their_neighbours():
    text = "x = 0\nif a:\n    i += 1\n\n}"
    assert [line.text for line in read(says(call("Read", file_path="a")), result(text))] == [
        "x = 0",
        "if a:",
        "    i += 1",
        "}",
    ]


def test_secrets_in_a_file_are_not_carried_on():
    body = base64.b64encode(random.Random(1).randbytes(240)).decode()
    key = ["-----BEGIN RSA PRIVATE KEY-----", *re.findall(".{1,64}", body), "-----END RSA PRIVATE KEY-----"]
    text = ["PORT=8080", f"GITHUB_TOKEN=ghp_{'a1B2' * 9}", "HOST=app", *key, "last line"]
    for number in ("", "{}→"):
        shown_as = "\n".join(number.format(at) + line for at, line in enumerate(text, 1))
        lines = [line.text for line in read(says(call("Read", file_path=".env")), result(shown_as))]
        assert lines == ["PORT=8080", GAP, "HOST=app", GAP, "last line"]
