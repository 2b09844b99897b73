"""Chosen lines stand in order; what is missing between them is marked, and what only announced it goes with it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from foldline.core.log.laying import laid_out
from foldline.core.log.loglines import GAP, OFTEN, LogLine
from foldline.core.log.logtext import reread
from foldline.core.log.worklog import entries
from foldline.model import Message, Origin, Text, ToolCall


def says(text, *calls):
    return Message("assistant", Origin.ASSISTANT, (*((Text(text),) if text else ()), *calls))


def wrote(*lines):
    return says("", ToolCall("a", "Edit", json.dumps({"file_path": "/src/a.py", "new_string": "\n".join(lines)})))


def laid(message, places, often=()):
    lines = list(entries([message]))
    return [line.text for line in laid_out(lines, {place: lines[place] for place in places}, often)]


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_what_is_chosen_stands_once_what_was_often_used_first_and_the_rest_in_order(places, often):
    lines = list(entries([says("\n".join(f"I moved part_{n} there." for n in range(10)))]))
    chosen = {place: lines[place] for place in places}
    found = laid_out(lines, chosen, often)
    told = [line for line in found if line.text != GAP]
    top, rest = sorted(places & often), sorted(places - often)
    assert [line.text for line in told] == [lines[place].text for place in (*top, *rest)]
    assert [line.label == OFTEN for line in told] == [True] * len(top) + [False] * len(rest)
    assert all(line.message < 0 for line in told[: len(top)])
    missing = sum(place + 1 < 10 and place + 1 not in rest for place in rest)
    assert sum(line.text == GAP for line in found) == missing


def test_code_that_ends_in_a_colon_stays_and_a_heading_goes():
    assert laid(wrote("x = first_value", "if ready(x):", "    go_on(x)"), (0, 1, 2)) == [
        "file_path: /src/a.py",
        "new_string: x = first_value",
        "if ready(x):",
        GAP,
    ]
    spoken = says("All of it passes.\nWhat is left:\n- one thing\n- and another")
    assert laid(spoken, (0, 1)) == ["All of it passes.", GAP]
    assert laid(spoken, (0, 1, 2)) == ["All of it passes.", "What is left:", "- one thing", GAP]


def test_brackets_and_arguments_of_one_line_leave_no_gap():
    assert GAP not in laid(wrote("call(", "    first_value,", ")"), (0, 1, 2))
    search = says("", ToolCall("a", "Grep", json.dumps({"pattern": "old_name", "path": "/srv/app/src"})))
    assert laid(search, (0,)) == ["pattern: old_name"]


def test_speech_that_stands_elsewhere_leaves_no_gap_and_code_does():
    lines = list(entries([says("I sort the rows.\nI run the tests."), says("I run the tests.")]))
    assert [line.text for line in laid_out(lines, {0: lines[0], 2: lines[2]}, ())] == [
        "I sort the rows.",
        "I run the tests.",
    ]
    code = [*entries([wrote("first_step()", "second_step()")]), *entries([wrote("second_step()")])]
    found = [line.text for line in laid_out(code, {place: code[place] for place in (0, 1, 4)}, ())]
    assert found == ["file_path: /src/a.py", "new_string: first_step()", GAP, "new_string: second_step()"]


def test_behind_a_line_of_a_file_nothing_is_an_argument_when_the_log_is_read_again():
    log = "[1 Write] file_path: /c.yml\ncontent: a\n  b\nimage: python\n\n[Read] file_path: /d.yml"
    assert [line.kind == "inner" for line in reread(log)] == [False, True, True, True, False]


def test_what_a_file_needs_hides_no_gap_behind_it():
    script = "python - <<'PY'\nimport threading\n" + "\n".join(f"ask_for(part_{n}, deep=True)" for n in range(40))
    ran = Message("assistant", Origin.ASSISTANT, (ToolCall("a", "Bash", json.dumps({"command": script})),))
    lines = list(entries([ran]))
    laid = laid_out(lines, {0: lines[0]}, frozenset())
    assert [line.text for line in laid] == ["command: python - <<'PY'", GAP]


def test_code_without_the_line_that_parts_it_says_so():
    lines = [
        LogLine(text, "tool output: Read a.py", 0, kind="seen")
        for text in ("    send(now)", "else:", "    cancel(now)", "}")
    ]
    found = laid_out(lines, {0: lines[0], 2: lines[2]}, frozenset())
    assert [line.text for line in found] == ["    send(now)", GAP, "    cancel(now)"]
