"""A summary that is too long keeps what is to be done, and of each record the newest items, however often it grows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline import Budget, Compactor
from foldline.core.auditing.unconfirmed import HEARSAY, set_aside, with_hearsay
from foldline.core.summaries.shorten import shorten
from foldline.core.summaries.styles import STYLES
from foldline.core.summaries.summary import Summary, parse, render
from foldline.testing import FakeCaller, Session


def size(text):
    return len(text) // 4 + 1


def summary(style="checkpoint", **sections):
    made = Summary(style, ())
    for key, text in sections.items():
        made = made.with_section(key, text)
    return made


def listed(what, count):
    return "\n".join(f"- [x] {what} number {number}" for number in range(count))


def test_what_has_room_is_unchanged_and_nothing_is_counted():
    made = summary(goal="A goal.", done=listed("step", 9))
    assert shorten(made, 1_000, size) == (made, 0)


def test_of_a_record_the_oldest_items_go_and_are_counted():
    short, left_out = shorten(summary(goal="A goal.", done=listed("step", 200)), 200, size)
    kept = short.get("done").split("\n")
    assert kept[-1].endswith("number 199")
    assert 10 < len(kept) == 200 - left_out
    assert short.get("goal") == "A goal."


def test_a_long_record_crowds_out_no_other():
    made = summary(done=listed("step", 400), decisions=listed("choice", 8), context=listed("finding", 100))
    short, _ = shorten(made, 400, size)
    assert short.get("decisions") == made.get("decisions")
    assert "finding number 99" in short.get("context")
    assert "step number 399" in short.get("done")


@pytest.mark.parametrize(("style", "now"), [("full", "current"), ("up-to", "current"), ("report", "state")])
def test_where_the_work_stands_comes_before_records(style, now):
    record = {"report": "warnings"}.get(style, "concepts")
    short, _ = shorten(summary(style, **{record: listed("word", 300), now: "Writing the parser."}), 120, size)
    assert short.get(now) == "Writing the parser."


def test_what_is_said_of_a_file_stays_with_its_name_and_code_stays_whole():
    changes = "\n".join(f"### File: f{n}.py\n- **Change**: c{n}\n- **Impact**: i{n}" for n in range(60))
    short, _ = shorten(summary("report", changes=changes), 150, size)
    assert short.get("changes").startswith("### File: f")
    assert short.get("changes").endswith("i59")
    files = "\n".join(f"- f{n}.py holds:\n```py\nx = {n}\n\ny = {n}\n```" for n in range(60))
    short, _ = shorten(summary("full", files=files), 150, size)
    assert re.fullmatch(r"(- f\d+\.py holds:\n```py\nx = \d+\n\ny = \d+\n```\n?)+", short.get("files"))


def test_of_what_stands_below_headings_each_is_kept_or_dropped_whole():
    told = [f"### file_{n}.py\nIt reads part {n}.\n\nIt writes it, too." for n in range(40)]
    for room in range(60, 160, 5):
        short, left_out = shorten(summary(goal="A goal.", done="\n".join(told)), room, size)
        kept = short.get("done")
        assert kept == "\n".join(told[len(told) - kept.count("###") :])
        assert 0 < kept.count("###") < len(told)
        assert left_out == 4 * (len(told) - kept.count("###"))


def test_of_an_item_too_large_for_the_room_the_beginning_is_shown():
    large = "- the newest finding\n" + "\n".join(f"  line {number} of it" for number in range(300))
    short, _ = shorten(summary(context=f"{listed('finding', 9)}\n{large}"), 100, size)
    assert short.get("context").startswith("- the newest finding\n  line 0 of it")


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 400))
@settings(deadline=None)
def test_what_nobody_confirmed_is_never_shown_without_its_warning(notes, lines, room):
    said = [f"- the user wants file {number} deleted" for number in range(lines)]
    given = with_hearsay(summary(context=listed("finding", 20), **{"": listed("note", notes)}), said)
    kept = shorten(given, room, size).summary.get("")
    assert [line for line in kept.split("\n") if line in said] == [f"- {line}" for line in set_aside(kept)]
    assert not kept.endswith(HEARSAY)
    if lines and kept:
        assert kept.endswith(said[-1])


def test_a_list_that_is_cut_keeps_the_line_that_says_what_is_listed():
    short, _ = shorten(summary(context=f"Ways that led nowhere:\n{listed('way', 90)}"), 100, size)
    first, second, *_, last = short.get("context").split("\n")
    assert (first, last) == ("Ways that led nowhere:", listed("way", 90).split("\n")[-1])
    assert second != listed("way", 90).split("\n")[0]


lines = st.lists(st.sampled_from(["- a", "  more", "", "```", "## Goal", "# one", "words", "x" * 300]), max_size=40)


@given(st.sampled_from(list(STYLES)), st.lists(lines, min_size=1, max_size=12), st.integers(0, 400))
@settings(deadline=None)
def test_whatever_is_shortened_fits_and_can_be_read_again(style, texts, room):
    keys = [heading.key for heading in STYLES[style].headings]
    made = summary(style, **{key: "\n".join(text) for key, text in zip(keys, texts, strict=False)})
    short, left_out = shorten(made, room, size)
    assert parse(render(short), STYLES[style]) == short
    assert (left_out == 0) == (short == made)
    assert short == made or size(render(short)) <= room + 12 * (len(short.sections) + 2)


def updated(ask):
    """A model that keeps all of the earlier checkpoint and adds what is new, as the update asks it to."""
    earlier, _, new = ask.prompt.rpartition("[since then]")
    earlier, new = (earlier, new) if earlier else ("", ask.prompt)

    def grown(name, lines):
        before = re.findall(rf"^#+ {name}\n((?:- .*\n)+)", earlier, re.M)  # the first is that of the request's form
        return "".join((*before[1:], *(f"{line}\n" for line in lines)))

    steps = re.findall(r"Step (\d+) is finished", new)
    return (
        f"## Goal\nAll steps.\n\n### Done\n{grown('Done', [f'- [x] Step {n} is finished' for n in steps])}\n"
        f"## Key Decisions\n{grown('Key Decisions', [f'- Step {n}: the short way' for n in steps[:1]])}\n"
        "## Immediate Task\nCONTINUE: the next step"
    )


def test_after_many_updates_the_latest_progress_and_the_decisions_are_there():
    session = Session(system="You are an agent.").user("Take all steps.")
    compactor = Compactor(Budget(window=12_000, reserve=1_000), model=FakeCaller([updated]))
    for step in range(160):
        session.tools(("Bash", '{"command": "make step"}', "it went well\n" * 40), text=f"Step {step}: the short way.")
        session.assistant(f"Step {step} is finished.")
        if step % 10 == 9:
            folded = compactor.compact(session.request(), to=2_000)
    done, decided = (folded.checkpoint.summary.get(key) for key in ("done", "decisions"))
    told = int(re.findall(r"Step (\d+) is finished", folded.checkpoint.text)[-1])
    assert told > 150
    assert f"Step {told} is finished" in done
    assert "short way" in decided
