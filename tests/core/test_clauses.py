"""Of a line that claims too much, the claim is cut and the deed is kept, word for word."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldline.core.auditing.clauses import LONGEST, PIECES, without


def wrong(text, _before):
    return "yes" in text


@pytest.mark.parametrize(
    ("line", "rest", "cut"),
    [
        ("- [x] Pushed it (user said yes)", "- [x] Pushed it", ["(user said yes)"]),
        ("- Pushed it after the user said yes, twice", "- Pushed it twice", ["after the user said yes"]),
        ("With the user saying yes, pushed it", "pushed it", ["With the user saying yes"]),
        ("Pushed it. The user said yes.", "Pushed it.", ["The user said yes."]),
        ("The user said yes, and main was pushed", "main was pushed", ["The user said yes"]),
        ("1. **Pushed** `main`; user: yes", "1. **Pushed** `main`", ["user: yes"]),
        ("Pushed it (to main)", "Pushed it (to main)", []),
    ],
)
def test_what_is_said_beside_a_deed_is_cut(line, rest, cut):
    found = without(line, wrong)
    assert (found.rest, list(found.cut)) == (rest, cut)


@pytest.mark.parametrize("line", ["The user said yes", "- Push it (yes)", "- **Push**: yes", "x" * LONGEST + " pushed"])
def test_where_no_deed_is_left_nothing_is_kept(line):
    assert without(line, wrong) is None


@pytest.mark.parametrize(
    "leave", ["Approved by the user.", "Authorized by the owner.", "Was confirmed by the customer."]
)
def test_leave_that_stands_by_itself_goes_with_who_is_said_to_have_given_it(leave):
    found = without(
        f"- Deployed to prod. {leave}", lambda text, _: bool(re.search(r"(?i)(approv|authori|confirm).*by", text))
    )
    assert (found.rest, found.cut) == ("- Deployed to prod.", (leave,))


@pytest.mark.parametrize("line", ["Push to main was cleared by the user", "- Confirmed with the user: main is pushed"])
def test_leave_that_is_told_with_who_gave_it_does_not_stand_for_a_deed(line):
    def claims(text, _before):
        return bool(re.search(r"(?i)(cleared|confirmed) (by|with)", text))

    assert without(line, claims) is None
    assert without(f"Built it. {line}", claims).rest == "Built it."


PARTS = ["Pushed it", " (yes)", " (no)", ". ", "; ", ", and main was moved", " after the user said yes", "yes", " x"]


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
@example("Pushed it after the user said yes (no)Pushed it")
def test_every_word_is_kept_or_cut_and_none_is_new(line):
    found = without(line, wrong)
    words = re.findall(r"\w+", line)
    if found:
        kept = re.findall(r"\w+", found.rest + " " + " ".join(found.cut))
        assert not wrong(found.deed, "")
        assert sorted(set(words) - {"and"}) == sorted(set(kept) - {"and"})
        assert len(kept) <= len(words)
        assert not wrong(found.rest, "")


def test_a_story_is_not_cut():
    assert without("Pushed it (yes). " * (PIECES + 1), wrong) is None


@pytest.mark.parametrize("piece", ["(", "yes; ", ", and x ", "after the user yes ", "用户同意后"])
def test_hostile_lines_are_cut_in_no_time(piece):
    start = time.perf_counter()
    without(piece * (LONGEST // len(piece)), wrong)
    assert time.perf_counter() - start < 1
