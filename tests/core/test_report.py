"""A report's fields become text and the text the same fields, whatever stands in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.report import CodeChange, Report, SolvedError
from foldline.core.summaries.styles import REPORT
from foldline.core.summaries.summary import Summary, parse, render
from foldline.errors import MalformedInput

ODD = [
    "## Goal", "### File: x", "- **Change**: y", "change: z", "  \\change:", "\\- **Impact**:", "Error:",
    "### Error: Current State", "**Current State**", "```", "```py", "~~~", "- ```", "\\```", "- None", "(none)", "- x",
    "1. y", "12) z", "**", "*", "_", ":", "::", "\n", "\n\n", "\r\n", " ", "## Next Steps: foo", "\\", "[x]", "[ ] a",
]  # fmt: skip
fragments = st.one_of(st.text(max_size=8), st.sampled_from(ODD))
values = st.tuples(st.lists(fragments, max_size=5), st.sampled_from(["\n", "", " "])).map(
    lambda pair: pair[1].join(pair[0])
)
lists = st.lists(values, max_size=5).map(tuple)
changes = st.lists(st.builds(CodeChange, values, values, values, values), max_size=3).map(tuple)
errors = st.lists(st.builds(SolvedError, values, values, values, values), max_size=3).map(tuple)
reports = st.builds(Report, values, lists, changes, errors, lists, lists, values, lists, values)


@given(reports)
@settings(deadline=None, max_examples=60)
def test_parsing_what_was_rendered_gives_the_same_report(report):
    assert Report.of(report.summary()) == report
    assert Report.of(parse(render(report.summary()), REPORT)) == report


@given(reports)
@settings(deadline=None, max_examples=30)
def test_a_report_can_be_saved_and_loaded(report):
    assert Report.from_json(report.to_json()) == report


@given(st.sampled_from(["changes", "errors", "decisions", "debugging", "intent"]), values)
@settings(deadline=None)
def test_any_text_is_read_and_what_was_read_is_stable(key, text):
    report = Report.of(Summary("report", ()).with_section(key, text))
    assert Report.of(report.summary()) == report


@given(st.lists(st.integers(0, 999), min_size=4, max_size=40))
def test_all_items_of_a_numbered_list_are_read(numbers):
    text = "\n".join(f"{place}. step {number}" for place, number in enumerate(numbers, 1))
    report = Report.of(parse(f"## User Intent\nx\n## Next Steps\n{text}", REPORT))
    assert report.next_steps == tuple(f"step {number}" for number in numbers)


REPLY = """## User Intent
Get the parser right.

## Key Decisions
- keep the API: it is public
* use **datetime**
  and nothing else

## Code Changes
### File: src/dates.py
- **Change**: a check: leap years
- **Rationale**: issue 42
- **Impact**: parse_date

### File: README.md
- **Change**: the example

## Errors and Solutions
### Error: ValueError: day is out of range
- **Location**: src/dates.py:88
- **Solution**: check the year
- **Prevention**: a test

## Debugging Steps
None

## Warnings and Notes
(none)

## Current State
All tests pass.

## Next Steps
1. changelog
2. release

## Immediate Task
CONTINUE: the changelog
"""

REPORTED = Report(
    intent="Get the parser right.",
    decisions=("keep the API: it is public", "use **datetime**\nand nothing else"),
    changes=(
        CodeChange("src/dates.py", "a check: leap years", "issue 42", "parse_date"),
        CodeChange("README.md", "the example"),
    ),
    errors=(SolvedError("ValueError: day is out of range", "src/dates.py:88", "check the year", "a test"),),
    state="All tests pass.",
    next_steps=("changelog", "release"),
    immediate="CONTINUE: the changelog",
)


def test_a_reply_in_the_asked_form():
    assert Report.of(parse(REPLY, REPORT)) == REPORTED


def test_rendering_gains_no_characters_at_labels_however_often():
    text = render(REPORTED.summary("report/1"))
    for _ in range(3):
        text = render(Report.of(parse(text, REPORT)).summary())
    assert text == render(REPORTED.summary())
    assert "- **Change**: a check: leap years\n" in text
    assert "Debugging" not in text


def test_an_empty_report_still_shows_intent_and_state():
    assert render(Report().summary()) == "## User Intent\n(none)\n\n## Current State\n(none)"
    assert Report.of(parse(render(Report().summary()), REPORT)) == Report()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("### `a.py`\n- added x\n- dropped y", (CodeChange("`a.py`", "- added x\n- dropped y"),)),
        ("File: a.py\nChange: x\nImpact: y", (CodeChange("a.py", "x", "", "y"),)),
        ("**File:** a.py\n**Change:** x", (CodeChange("a.py", "x"),)),
        ("- file: a.py\n  change: x\n  rationale: y\n- file: b.py", (CodeChange("a.py", "x", "y"), CodeChange("b.py"))),
        ("- did x\n- did y\n  well", (CodeChange("", "did x"), CodeChange("", "did y\nwell"))),
        ("**File: a.py**\n- Change: x\n__File: b.py__", (CodeChange("a.py", "x"), CodeChange("b.py"))),
        ("1. File: a.py\n   Change: x\n2. File: b.py", (CodeChange("a.py", "x"), CodeChange("b.py"))),
        (
            "1. **a.py**\n   - Change: x\n2. b.py:\n   - Impact: y",
            (CodeChange("a.py", "x"), CodeChange("b.py", "", "", "y")),
        ),
        ("- **a.py**:\n  - **Change**: **x**\n- did y", (CodeChange("a.py", "**x**"), CodeChange("", "did y"))),
        ("just words\non two lines", (CodeChange("", "just words\non two lines"),)),
        ("### File: a.py\n- **Change**: x\n  more\n- **Change**: again", (CodeChange("a.py", "x\nmore\nagain"),)),
        ("### File: a.py\n\n- **Impact**: NONE", (CodeChange("a.py"),)),
    ],
)
def test_small_deviations_in_the_form_of_changes(text, read):
    assert Report.of(Summary("report", ()).with_section("changes", text)).changes == read


def test_small_deviations_in_the_form_of_errors_and_lists():
    summary = (
        Summary("report", ())
        .with_section("errors", "- KeyError: 'x'\n- OSError")
        .with_section("decisions", "a\nb\n- c")
    )
    report = Report.of(summary)
    assert report.errors == (SolvedError("KeyError: 'x'"), SolvedError("OSError"))
    assert report.decisions == ("a\nb", "c")


def test_a_reply_in_json():
    changes = [{"file": "a.py", "change": "y\nz", "impact": "w"}]
    reply = json.dumps({"user_intent": "x", "code_changes": changes, "next_steps": ["1", "2"]})
    report = Report.of(parse(reply, REPORT))
    assert report.changes == (CodeChange("a.py", "y\nz", "", "w"),)
    assert report.next_steps == ("1", "2")


def test_what_says_nothing_is_empty_and_no_item():
    assert Report("None", ("(none)", "x", " "), immediate="n/a") == Report("", ("x",))
    assert CodeChange("a.py", " (none) ") == CodeChange("a.py")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "[1]", '"x"', '{"intent": 1}', '{"decisions": [1]}', '{"changes": [1]}', '{"nope": ""}'),
        *('{"decisions": "abc"}', '{"intent": ["x"]}', '{"changes": [{"file": ["a.py"]}]}', "[" * 100_000),
    ],
)
def test_a_damaged_save_says_so(text):
    with pytest.raises(MalformedInput, match="not a saved report"):
        Report.from_json(text)
