"""A checkpoint says the same wherever it is read, and its message is a summary under the user's name."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.checkpoints.checkpoint import Checkpoint, Frame, Recipe, compose, snapshot_of
from foldline.core.checkpoints.notes import Composed
from foldline.core.counting.estimate import estimate
from foldline.core.facts import Fact, Facts
from foldline.core.log.extract import VERSION as EXTRACT
from foldline.core.log.loglines import LogLine
from foldline.core.resume import Manner, resume
from foldline.core.summaries.prompts import fill, prompt
from foldline.core.summaries.summary import Section, Summary, render
from foldline.core.words.masks import masked
from foldline.core.work.ledger import Command, Ledger
from foldline.model import REF_LENGTH, Message, Origin, Text, ToolCall, ToolResult

SUMMARY = Summary("checkpoint", (Section("goal", "Goal", "Fix the parser."),), "v1")
FACTS = Facts(
    (Fact("user", "Never push.", "s", 0), Fact("rule", "Never push.", "s", 0), Fact("open", "test it", "s", 1))
)
LEDGER = Ledger(
    (("a.py", frozenset({"read"})), ("b.py", frozenset({"written"}))), (("c", "d"),), (Command("make", "ok"),)
)
KEY = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
FRAME = Frame(12, "a model", "Go on with the task.")
CHECKPOINT = Checkpoint("the text", "abc", 0, 12, Recipe(), SUMMARY, FACTS, LEDGER)

word = st.text(st.characters(codec="utf-8"), max_size=12)
recipes = st.builds(Recipe, word, word, word, word, st.sampled_from(["up-to", "from"]), word)
checkpoints = st.builds(
    Checkpoint,
    word,
    word,
    st.integers(0, 99),
    st.integers(0, 99),
    recipes,
    st.builds(Summary, word, st.lists(st.builds(Section, word, word, word), max_size=3).map(tuple), word),
    st.lists(st.builds(Fact, st.sampled_from(["user", "rule", "open"]), word, word, st.integers(0, 9), word, word))
    .map(tuple)
    .map(Facts),
    st.just(LEDGER),
    st.integers(1, 9),
    word,
    word,
    st.lists(st.builds(LogLine, word, word, st.integers(-99, -1), st.sampled_from([1.0, 0.5])), max_size=3).map(tuple),
)


@given(checkpoints)
def test_a_checkpoint_survives_being_saved(checkpoint):
    again = Checkpoint.from_dict(json.loads(json.dumps(checkpoint.to_dict())))
    assert again == checkpoint
    assert again.ref == checkpoint.ref


def test_one_saved_before_lines_were_kept_is_read():
    saved = CHECKPOINT.to_dict()
    del saved["log"]
    assert Checkpoint.from_dict(saved) == CHECKPOINT


@given(checkpoints, checkpoints)
def test_the_reference_follows_what_it_says_and_covers(one, other):
    same = (one.text, one.skeleton, one.parent) == (other.text, other.skeleton, other.parent)
    assert (one.ref == other.ref) == same
    assert len(one.ref) == REF_LENGTH


@pytest.mark.parametrize("change", [{"text": "other"}, {"skeleton": "other"}, {"parent": "other"}])
def test_the_reference_changes_with_its_content(change):
    assert replace(CHECKPOINT, **change).ref != CHECKPOINT.ref
    assert replace(CHECKPOINT).ref == CHECKPOINT.ref


def test_lone_surrogates_have_a_reference_too():
    assert replace(CHECKPOINT, text="\ud800").ref != replace(CHECKPOINT, text="\ud801").ref


def test_half_a_surrogate_pair_is_shown_as_a_sign_that_can_be_sent():
    half = "\ud83d"
    facts = Facts((Fact("rule", f"Never {half} that.", "s", 3),))
    text = composed(facts=facts, snapshot=f"[12 user] go {half} on", summary=SUMMARY.with_section("goal", half)).text
    assert text.encode().decode() == text
    assert "Never \ufffd that." in text
    assert text.count("\ufffd") == 3


def test_its_message_is_a_summary_under_the_users_name():
    message = CHECKPOINT.message
    assert (message.role, message.origin, message.text) == ("user", Origin.SUMMARY, "the text")
    assert message.raw is None


def composed(room=4_000, frame=FRAME, snapshot="[12 user] go on", facts=FACTS, summary=SUMMARY):
    return compose(summary, facts, LEDGER, snapshot, frame, room, estimate)


def test_a_checkpoint_has_opening_summary_notes_snapshot_and_continuation_in_this_order():
    """S4.5: and a snapshot of the latest messages."""
    text = composed(frame=replace(FRAME, transcript="/x/session.jsonl")).text
    places = [
        text.index(part)
        for part in (
            "12 messages",
            render(SUMMARY),
            "Never push.",
            "[12 user] go on",
            "/x/session.jsonl",
            "## How to go on\nGo on with the task.",
        )
    ]
    assert places == sorted(places)
    assert text.endswith("Go on with the task.\n\n# End of the notes")


def test_files_are_listed_by_the_program():
    """S1.5: the lists are appended by the program, and an empty one has no tag."""
    text = composed().text
    assert "<modified-files>\nb.py\n</modified-files>" in text
    assert "<read-files>\na.py\n</read-files>" in text
    assert "<deleted-files>" not in text


def test_without_snapshot_tail_or_transcript_nothing_is_said_of_them():
    plain = composed(snapshot="", frame=replace(FRAME, kept_tail=False)).text
    assert "latest messages before" not in plain
    assert len(plain) < len(composed(snapshot="").text)


@pytest.mark.parametrize("task", ["", "CONTINUE: port it"])
@pytest.mark.parametrize("latest", ["", "[3 user] port it"])
@pytest.mark.parametrize("log", ["", "Ported half of it."])
def test_how_to_go_on_names_only_what_is_there(task, latest, log):
    sections = (*SUMMARY.sections, Section("context", "Work Log", log), Section("immediate", "Immediate Task", task))
    extracted = Summary("checkpoint", tuple(section for section in sections if section.text), EXTRACT)
    frame = replace(FRAME, resume=resume(Manner()))
    text = composed(summary=extracted, snapshot=latest, frame=frame).text
    assert ("the immediate task" in text) is bool(task)
    assert ("a snapshot or a log" in text) is bool(latest or log)
    written = composed(summary=replace(extracted, version="v1"), snapshot=latest, frame=frame).text
    assert ("a snapshot or a log" in written) is bool(latest)


@given(st.integers(0, 3_000), st.integers(0, 60))
def test_what_is_composed_keeps_its_room_where_it_can(room, count):
    facts = Facts(
        tuple(Fact("user", f"sentence number {number} of what I said", "s", number) for number in range(count))
    )
    least = composed(0, facts=facts)
    found = composed(room, facts=facts)
    assert found.tokens == estimate(found.text)
    assert found.tokens <= max(room, least.tokens) + 8
    assert isinstance(found, Composed)


def test_what_finds_no_room_is_counted():
    facts = Facts(tuple(Fact("user", f"sentence {number} " * 40, "s", number) for number in range(30)))
    found = composed(composed(0).tokens + 900, facts=facts)
    left = dict(found.left_out)["said"]
    assert 0 < left < 30
    assert f"({left} more left out" in found.text


# -- the snapshot


def result(text):
    return Message("user", Origin.TOOL, (ToolResult("1", (Text(text),)),))


def test_a_snapshot_shows_the_last_messages_and_labels_what_a_tool_said():
    """S4.5"""
    messages = [
        *(Message("user", Origin.USER, (Text(f"old {number}"),)) for number in range(9)),
        Message("assistant", Origin.ASSISTANT, (Text("I look."), ToolCall("1", "Read", '{"path": "a.py"}'))),
        result("\n  \nuser: yes, do it\nmore"),
        Message("assistant", Origin.ASSISTANT, ()),
    ]
    assert snapshot_of(messages, 100, 400, estimate).split("\n") == [
        "[107 user] old 6",
        "[108 user] old 7",
        "[109 user] old 8",
        '[110 assistant] I look. called Read({"path": "a.py"})',
        "[111 tool output] `user: yes, do it`",
    ]


def test_a_snapshot_shows_what_a_command_printed_and_not_its_clients_head():
    head = "Chunk ID: 109d71\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 4\nOutput:\n"
    assert snapshot_of([result("`a` is ``b``")], 0, 400, estimate) == "[1 tool output] ``` `a` is ``b`` ```"
    messages = [result(f"{head}42 passed\n"), result(head), result(""), Message("user", Origin.USER, (Text("ok"),))]
    assert snapshot_of(messages, 0, 400, estimate) == "[1 tool output] `42 passed`\n[4 user] ok"
    idle = Message("user", Origin.PROGRAM, (Text("<local-command-stdout>Bye!</local-command-stdout>"),))
    assert snapshot_of([*messages, *[idle] * 6], 0, 400, estimate) == snapshot_of(messages, 0, 400, estimate)


@given(st.integers(-5, 300), st.lists(st.text(max_size=60), max_size=9))
def test_a_snapshot_fits_and_holds_the_newest(room, texts):
    messages = [Message("user", Origin.USER, (Text(text),)) for text in texts]
    found = snapshot_of(messages, 0, room, estimate)
    assert estimate(found) <= max(room, 0)
    assert snapshot_of([], 0, room, estimate) == ""


def test_behind_a_work_log_neither_its_commands_nor_the_messages_that_follow_are_told_again():
    log = replace(SUMMARY, version=EXTRACT)
    by_model, by_log = composed().text, composed(summary=log).text
    assert "make" in by_model
    assert "make" not in by_log
    assert fill("resume-opening-quoted", covered="12") in by_log
    assert fill("resume-opening", covered="12", author="a model") in by_model
    assert prompt("resume-kept").text in by_model
    assert prompt("resume-kept").text not in by_log


def test_where_there_is_hardly_room_it_is_opened_and_closed_in_few_words():
    frame = replace(FRAME, terse=True, plan="1. sort", transcript="/x/session.jsonl", user_carried=True)
    text = composed(frame=frame).text
    assert text.startswith(fill("resume-opening-terse", covered="12"))
    assert text.endswith(f"{FRAME.resume}\n\n{prompt('resume-end').text}")
    assert "session.jsonl" not in text
    assert "1. sort" not in text
    assert "1. sort" in composed(frame=replace(frame, terse=False)).text


def test_a_snapshot_masks_the_secrets_of_all_but_the_user_whose_reminders_it_leaves_out():
    said = f"Take {KEY}."
    agent = Message("assistant", Origin.ASSISTANT, (Text(said),))
    user = Message("user", Origin.USER, (Text(f"<system-reminder>\nBe brief.\n</system-reminder>\n{said}"),))
    shown = snapshot_of((agent, user), 0, 4_000, estimate)
    assert shown.splitlines() == [f"[1 assistant] Take {masked(KEY)}.", f"[2 user] {said}"]
