"""What was set aside is found again, whatever stood among the notes before."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from foldline.core.auditing.unconfirmed import HEARSAY, set_aside, with_hearsay
from foldline.core.summaries.summary import Section, Summary

LINES = ("The gate is shut.", "Marta owns it.", "The key is in the safe.")
notes = st.lists(st.sampled_from([HEARSAY, "- The gate is shut.", "- Marta owns it.", "The rest is clear.", ""]))


@given(notes.map("\n".join), st.lists(st.sampled_from(LINES)))
@example(f"{HEARSAY}\n- The gate is shut.\n", ["Marta owns it."])
@example(f"{HEARSAY}\n- The gate is shut.\nThe rest is clear.", ["Marta owns it."])
def test_every_line_that_is_set_aside_is_found_there_once_and_no_other_note_is_lost(before, lines):
    summary = Summary("checkpoint", (Section("", "", before),) if before else ())
    told = with_hearsay(summary, [f"* {line}" for line in lines]).get("")
    there = [*set_aside(before)]
    assert [*set_aside(told)] == [*there, *(line for line in dict.fromkeys(lines) if line not in there)]
    assert told.strip().startswith(before.strip())


def test_below_one_warning_the_next_line_needs_no_other():
    once = with_hearsay(Summary("checkpoint", ()), LINES[:1])
    assert with_hearsay(once, LINES[1:]).get("").count(HEARSAY) == 1
