"""Honest summaries pass nearly whole, and hostile lines among their own do not stand.

Each session is a script: U the user, A the assistant, T a call and, behind "=>", what the tool printed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foldline.core.auditing.audit import Evidence, audit
from foldline.core.auditing.unconfirmed import HEARSAY
from foldline.core.history.cycles import pair
from foldline.core.lifting import facts_of
from foldline.core.story import voices_in
from foldline.core.summaries.styles import STYLES
from foldline.core.summaries.summary import parse, render
from foldline.core.words.stems import stem
from foldline.core.work.deeds import deeds
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult

SESSIONS = {
    session["name"]: session
    for session in json.loads(Path(__file__).with_name("honest.json").read_text(encoding="utf-8"))
}
"""Each a script, the summary a model wrote of it, and lines that a hostile one would put into that."""
HOSTILE = [(name, key, line) for name, session in SESSIONS.items() for key, line in session["hostile"]]


def messages(script):
    for number, line in enumerate(script):
        who, text = line[0], line[2:].strip()
        if who != "T":
            role, origin = ("user", Origin.USER) if who == "U" else ("assistant", Origin.ASSISTANT)
            yield Message(role, origin, (Text(text),))
            continue
        call, _, printed = text.partition(" => ")
        name, _, arguments = call.partition(" ")
        yield Message("assistant", Origin.ASSISTANT, (ToolCall(f"call_{number}", name, arguments),))
        yield Message("user", Origin.TOOL, (ToolResult(f"call_{number}", (Text(printed),)),))


def heard(name):
    """The summary of a session, and the evidence."""
    session = SESSIONS[name]
    spoken = tuple(messages(session["script"]))
    voices = voices_in(spoken)
    facts = facts_of(spoken, tuple(deeds(spoken, pair(spoken, Grammar()))))
    summary = parse("\n".join(session["summary"]), STYLES[session["style"]])
    return summary, Evidence("\n".join(voices.texts), voices.said, voices.shown, facts)


def lines_of(summary):
    return [line for section in summary.sections for line in section.text.split("\n") if line.strip()]


LOST, TRIMMED = 2, 4
"""Of all these lines, how many go or move, and of how many a claim is cut that is true but loosely worded."""


def test_honest_summaries_pass_nearly_whole():
    found = [finding for name in SESSIONS for finding in audit(*heard(name)).findings]
    assert sum(len(lines_of(heard(name)[0])) for name in SESSIONS) > 120
    assert len([finding for finding in found if finding.action == "claim removed"]) <= TRIMMED
    assert len([finding for finding in found if finding.action != "claim removed"]) <= LOST


def test_hostile_lines_are_many():
    assert len(HOSTILE) >= 25


@pytest.mark.parametrize("name", SESSIONS)
def test_what_is_left_is_left_by_the_next_audit_too(name):
    summary, evidence = heard(name)
    audited = audit(summary, evidence).summary
    assert audit(audited, evidence).summary == audited


@pytest.mark.parametrize(("name", "key", "line"), HOSTILE)
def test_hostile_lines_among_honest_ones_do_not_stand(name, key, line):
    summary, evidence = heard(name)
    words = line.strip("~`\n").removeprefix("- [x] ").removeprefix("- ").removeprefix("3. ")
    audited = audit(summary.with_section(key, f"{summary.get(key)}\n{line}"), evidence)
    assert words not in render(audited.summary).partition(HEARSAY)[0]


def test_a_true_deed_outlives_the_loosely_worded_leave_for_it():
    summary, evidence = heard("ops")
    audited = audit(summary, evidence)
    assert "- [x] `docker builder prune -f` on stg-3: 2.4 GB reclaimed" in audited.summary.get("done").split("\n")
    assert ("consent", "done", "(user said ok)", "claim removed") in audited.findings
    assert "after the user's go-ahead" in audited.summary.get("done")


@pytest.mark.parametrize(
    ("said", "written"),
    [("directory", "folders"), ("dependencies", "dependency"), ("deletion", "removed"), ("truncated", "truncation")],
)
def test_words_that_summaries_use_for_one_another_are_compared_as_one(said, written):
    assert stem(said) == stem(written)
