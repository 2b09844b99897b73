"""What a line is worth beside others: the table says what it says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.log.loglines import TOOL, LogLine
from foldline.core.log.worth import AGAIN, FADE, MOST_AGAIN, RECENT, WHOLE_LINE, counted, use

SAID = LogLine("I went on with the parser.", "", 0)
FILE = LogLine("file_path: /srv/app/parser.py", "Read parser.py", 0)
CODE = LogLine("    return parsed", "Edit parser.py", 0, kind="inner")
OLD = LogLine("old_string: return None", "Edit parser.py", 0, kind="aside")
OUTCOME = LogLine("4 passed", TOOL, 0)
SEEN = LogLine("    return parsed", f"{TOOL}: Read parser.py", 0, kind="seen")
OTHER = LogLine("subject: parser", "Note", 0)

lines = st.sampled_from([SAID, FILE, CODE, OLD, OUTCOME, OTHER, SEEN])
ages = st.floats(-1e9, 1e9)
counts = st.integers(-5, 10**9)


@given(lines, ages, counts)
def test_every_line_is_worth_something(line, back, times):
    assert 0 < use(line, back, times) < math.inf


@given(lines, ages, ages, counts)
def test_what_is_older_is_never_worth_more(line, one, other, times):
    new, old = sorted((one, other))
    assert use(line, new, times) >= use(line, old, times)


@given(lines, ages, counts, counts)
def test_what_was_written_more_often_is_never_worth_less(line, back, one, other):
    few, many = sorted((one, other))
    assert use(line, back, many) >= use(line, back, few)


def test_the_agent_comes_back_to_files_more_than_to_what_it_said():
    ranked = sorted([SAID, FILE, CODE, OLD, OUTCOME, OTHER], key=lambda line: use(line, 0, 1), reverse=True)
    assert ranked[:3] == [FILE, CODE, OTHER]
    assert ranked[-1] == OUTCOME


def test_what_was_just_read_is_worth_nearly_what_was_written_and_soon_less():
    assert use(SAID, 0, 1) < use(SEEN, 0, 1) < use(CODE, 0, 1)
    assert use(SEEN, 30, 1) < use(SAID, 30, 1)


def test_a_line_that_explains_is_worth_as_much_more_as_it_weighs():
    assert use(SAID._replace(weight=2.0), 5, 1) == pytest.approx(2 * use(SAID, 5, 1))


def test_the_numbers_do_what_is_said_of_them():
    assert use(CODE, RECENT, 1) / use(CODE, 0, 1) == pytest.approx(2 / 3, abs=0.01)
    assert use(CODE, 150, 1) / use(CODE, 0, 1) == pytest.approx(1 / 5, abs=0.02)
    assert use(FILE, 0, MOST_AGAIN * 2) == use(FILE, 0, MOST_AGAIN)
    assert use(FILE, 0, 3) == pytest.approx(use(FILE, 0, 1) * 3**AGAIN)
    assert FADE > 0


@given(lines, st.integers(0, 5_000), st.integers(0, 5_000))
def test_a_longer_line_never_counts_for_less_and_none_for_less_than_its_length(line, one, other):
    short, long = sorted((one, other))
    assert short <= counted(line, short) <= counted(line, long)


def test_a_whole_line_counts_for_itself_and_how_a_thing_was_done_does_not():
    assert counted(CODE, 30) == 30 + WHOLE_LINE
    assert counted(OLD, 30) == 30
    assert counted(CODE, 5) == 5
