"""Claude Code transcripts: what is live, what is one message, and how changes go back."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.dialects.base import Source
from foldline.dialects.claude_code import ClaudeCode
from foldline.model import Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult

CLAUDE = ClaudeCode()


class Book:
    """A transcript written row by row, each the child of the one before it."""

    def __init__(self) -> None:
        self.rows: list[dict] = []

    def row(self, type_: str, **fields) -> str:
        name = fields.pop("uuid", f"u{len(self.rows)}")
        parent = self.rows[-1].get("uuid") if self.rows else None
        base = {"parentUuid": parent, "isSidechain": False, "cwd": "/w", "sessionId": "s", "type": type_}
        self.rows.append({**base, "uuid": name, "timestamp": f"t{len(self.rows)}", **fields})
        return name

    def user(self, content, **fields) -> str:
        return self.row("user", message={"role": "user", "content": content}, **fields)

    def says(self, id_: str, *blocks, **fields) -> str:
        message = {"id": id_, "type": "message", "role": "assistant", "model": "claude-x", "content": list(blocks)}
        return self.row("assistant", message=message, **fields)

    def result(self, call: str, text: str, **fields) -> str:
        return self.user([result(call, text)], toolUseResult={"stdout": text}, **fields)

    def fold(self, summary: str, **metadata) -> str:
        name = self.row("system", subtype="compact_boundary", parentUuid=None, compactMetadata=metadata)
        self.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        return name

    def data(self) -> bytes:
        return b"".join(json.dumps(row).encode() + b"\n" for row in self.rows)

    def read(self, history="live"):
        return load(self.data(), history)


def load(data: bytes, history="live"):
    conversation = CLAUDE.read_lines(Source(b"", name="x"), data.splitlines(keepends=True), history)
    assert CLAUDE.write(conversation) == data
    return conversation


def text(said: str) -> dict:
    return {"type": "text", "text": said}


def call(id_: str, **arguments) -> dict:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": arguments}


def result(call_id: str, said: str) -> dict:
    return {"type": "tool_result", "tool_use_id": call_id, "content": said}


def records(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


def texts(conversation) -> list[str]:
    return [message.text for message in conversation.messages]


def codes(conversation) -> list[str]:
    return [notice.code for notice in conversation.notices]


@pytest.fixture
def book() -> Book:
    return Book()


# --- what is one message -----------------------------------------------------------------------------------------


def test_records_of_one_answer_are_one_message_with_a_row_for_each_part(book):
    book.user("hello")
    book.says("m1", {"type": "thinking", "thinking": "hm", "signature": "sig"})
    book.says("m1", text("hi"))
    book.says("m1", call("c1", command="ls"))
    conversation = book.read()
    assert len(conversation) == 2
    answer = conversation.messages[1]
    assert [type(part) for part in answer.parts] == [Thinking, Text, ToolCall]
    assert answer.rows == (1, 2, 3)
    assert answer.id == "m1"
    assert answer.raw == b"".join(book.data().splitlines(keepends=True)[1:])


def test_results_between_the_records_of_an_answer_are_one_message_after_it(book):
    book.user("go")
    book.says("m1", call("c1"))
    book.result("c1", "one")
    book.says("m1", call("c2"))
    book.result("c2", "two")
    book.says("m2", text("done"))
    conversation = book.read()
    assert [m.role for m in conversation.messages] == ["user", "assistant", "user", "assistant"]
    assert conversation.messages[1].rows == (1, 3)
    assert conversation.messages[2].rows == (2, 4)
    assert [r.text for r in conversation.messages[2].results] == ["one", "two"]
    assert conversation.messages[2].origin is Origin.TOOL


def test_results_of_two_steps_stay_apart(book):
    book.user("go")
    book.says("m1", call("c1"))
    book.result("c1", "one")
    book.says("m2", call("c2"))
    book.result("c2", "two")
    assert [len(m.results) for m in book.read().messages] == [0, 0, 1, 0, 1]


def test_words_typed_beside_a_result_are_the_users(book):
    book.user("go")
    book.says("m1", call("c1"), call("c2"))
    book.user([result("c1", "one"), text("but hurry")])
    book.result("c2", "two")
    both = book.read().messages[2]
    assert [type(part) for part in both.parts] == [ToolResult, ToolResult, Text]
    assert both.rows == (2, 3, 2)
    assert both.origin is Origin.USER


def test_a_row_with_text_before_its_result_keeps_its_order(book):
    book.user("go")
    book.says("m1", call("c1"), call("c2"))
    book.user([text("note"), result("c1", "one")])
    book.result("c2", "two")
    assert [type(part) for part in book.read().messages[2].parts] == [Text, ToolResult, ToolResult]


def test_a_row_without_a_block_is_part_of_its_message(book):
    book.user("go")
    book.says("m1")
    book.says("m1", text("hi"))
    message = book.read().messages[1]
    assert message.rows == (2, 1)
    assert message.parts == (Text("hi"),)


def test_the_model_is_the_last_one_that_answered(book):
    book.user("go")
    book.says("m1", text("hi"))
    book.row("assistant", message={"id": "x", "model": "<synthetic>", "content": [text("No response requested.")]})
    assert book.read().head.model == "claude-x"


# --- what is part of the conversation ----------------------------------------------------------------------------


def test_everything_else_in_the_file_is_no_message(book):
    book.row("progress", data={"type": "bash_progress", "message": {"role": "user", "content": "not said"}})
    book.rows.append({"type": "summary", "summary": "title", "leafUuid": "u0"})
    book.rows.append({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}})
    book.row("system", subtype="turn_duration", durationMs=5)
    book.user("hello")
    assert texts(book.read()) == ["hello"]


def test_failed_requests_are_left_out_and_counted(book):
    book.user("hello")
    book.says("m1", text("API Error: 500"), isApiErrorMessage=True)
    conversation = book.read()
    assert texts(conversation) == ["hello"]
    assert codes(conversation) == ["api-error"]


def test_rows_for_the_screen_alone_are_left_out(book):
    book.user("shown only", isVisibleInTranscriptOnly=True)
    book.user("hello")
    assert texts(book.read()) == ["hello"]


def test_subagents_are_other_conversations(book):
    book.user("hello")
    book.user("prompt of a subagent", isSidechain=True)
    conversation = book.read()
    assert texts(conversation) == ["hello"]
    assert codes(conversation) == ["sidechain"]


def test_a_subagents_own_file_is_its_conversation(book):
    book.user("task", isSidechain=True)
    book.says("m1", text("done"), isSidechain=True)
    assert texts(book.read()) == ["task", "done"]


def test_repeated_rows_count_once(book):
    book.user("hello", uuid="a")
    book.says("m1", text("hi"), uuid="b")
    book.rows += [dict(row) for row in book.rows]
    conversation = book.read("all")
    assert texts(conversation) == ["hello", "hi"]
    assert codes(conversation) == ["repeated"]
    assert conversation.notices[0].text == "rows that repeat an earlier one, and count once: 2"


@given(st.data())
def test_a_file_whose_rows_come_again_says_what_it_said(data):
    book = Book()
    for number in range(data.draw(st.integers(1, 4), "turns")):
        if data.draw(st.booleans(), "fold") and number:
            book.fold(f"so far {number}")
        book.user(f"go {number}")
        book.says(f"m{number}", call(f"c{number}"))
        book.says(f"m{number}", call(f"d{number}"))
        for name in "cd":
            book.result(f"{name}{number}", "well", parentUuid=book.rows[-2 if name == "d" else -1]["uuid"])
        book.says(f"n{number}", text("done"))
    alone = book.read()
    first = data.draw(st.integers(0, len(book.rows) - 1), "from")
    again = load(book.data() + b"".join(book.data().splitlines(keepends=True)[first:]))
    assert (again.messages, again.compactions) == (alone.messages, alone.compactions)
    assert codes(again) == ["repeated"]


def test_what_is_changed_in_a_file_whose_rows_come_again_reads_back(book):
    session(book)
    again = load(book.data() * 2)
    summary = Message("user", Origin.SUMMARY, (Text("so far"),))
    shorter = again.messages[2].with_parts([ToolResult("c1", (Text("short"),))])
    written = CLAUDE.write(again.with_messages([summary, again.messages[1], shorter, again.messages[3]]))
    found = load(written)
    assert texts(found) == ["so far", "", "", "done"]
    assert found.messages[2].results[0].text == "short"
    names = [row["uuid"] for row in records(written)]
    assert len(names) == len(set(names))
    parents = {row["uuid"]: row["parentUuid"] for row in records(written)}
    assert parents["b"] == names[0]


def test_a_row_that_is_changed_has_no_repeat_that_says_what_it_said_before(book):
    session(book)
    again = load(book.data() * 2)
    shorter = again.messages[2].with_parts([ToolResult("c1", (Text("short"),))])
    written = records(CLAUDE.write(again.with_messages([*again.messages[:2], shorter, *again.messages[3:]])))
    assert len(written) == len({row["uuid"] for row in written})  # the agent takes the last row of a name for it
    bare = again.with_messages([replace(message, raw=None) for message in again.messages])
    assert CLAUDE.write(bare) == book.data() * 2


def test_a_row_that_is_gone_does_not_come_back_in_its_repeat(book):
    book.user("hello", uuid="a")
    book.user("again", uuid="b")
    book.rows.append(dict(book.rows[0]))
    conversation = book.read()
    assert texts(load(CLAUDE.write(conversation.with_messages(conversation.messages[1:])))) == ["again"]


@pytest.mark.parametrize(
    ("content", "fields", "origin"),
    [
        ("hello", {}, Origin.USER),
        ("injected", {"isMeta": True}, Origin.PROGRAM),
        ("<local-command-stdout>bye</local-command-stdout>", {}, Origin.PROGRAM),
        ("<bash-stdout>secret</bash-stdout>", {}, Origin.TOOL),
        ("<task-notification>done</task-notification>", {}, Origin.TOOL),
        ([text("[Request interrupted by user]")], {}, Origin.PROGRAM),
        ("<command-name>/loop</command-name>", {}, Origin.USER),
        ("so far", {"isCompactSummary": True}, Origin.SUMMARY),
    ],
)
def test_who_speaks_in_a_user_row(book, content, fields, origin):
    book.user(content, **fields)
    assert book.read().messages[0].origin is origin


@pytest.mark.parametrize(
    ("attachment", "origin"),
    [
        ({"type": "queued_command", "prompt": "also this"}, Origin.USER),
        ({"type": "queued_command", "prompt": [text("also this")], "origin": {"kind": "human"}}, Origin.USER),
        ({"type": "queued_command", "prompt": "also this", "commandMode": "task-notification"}, Origin.PROGRAM),
        ({"type": "queued_command", "prompt": "also this", "origin": {"kind": "peer"}}, Origin.PROGRAM),
        ({"type": "queued_command", "prompt": "also this", "isMeta": True}, Origin.PROGRAM),
        ({"type": "hook_additional_context", "content": ["also this"]}, Origin.PROGRAM),
        ({"type": "nested_memory", "content": {"path": "/p", "content": "also this"}}, Origin.PROGRAM),
    ],
)
def test_attachments_the_model_was_told_are_messages(book, attachment, origin):
    book.user("hello")
    book.row("attachment", attachment=attachment)
    conversation = book.read()
    assert texts(conversation) == ["hello", "also this"]
    assert conversation.messages[1].origin is origin
    changed = conversation.messages[1].with_parts([Text("that")])
    again = load(CLAUDE.write(conversation.with_messages([conversation.messages[0], changed])))
    assert texts(again) == ["hello", "that"]
    assert again.messages[1].origin is origin


def test_other_attachments_are_not(book):
    book.user("hello")
    book.row("attachment", attachment={"type": "todo_reminder", "content": "not told"})
    assert texts(book.read()) == ["hello"]


def test_results_cleared_by_the_agent_are_whole_here_and_said(book):
    book.user("go")
    book.says("m1", call("c1"))
    book.result("c1", "long")
    book.row("system", subtype="microcompact_boundary", microcompactMetadata={"compactedToolIds": ["c1"]})
    conversation = book.read()
    assert conversation.messages[2].results[0].text == "long"
    assert codes(conversation) == ["cleared"]


def test_a_block_that_is_no_object_is_kept(book):
    book.user(["odd", text("hello")])
    message = book.read().messages[0]
    assert isinstance(message.parts[0], Opaque)
    assert message.text == "hello"


@pytest.mark.parametrize(
    ("row", "fit"),
    [
        ({"type": "summary", "leafUuid": "x"}, 90),
        ({"type": "file-history-snapshot", "snapshot": {}}, 90),
        ({"type": "user", "uuid": "x"}, 60),
        ({"type": "unheard of", "uuid": "x"}, 0),
        ({"uuid": "x"}, 0),
        ([], 0),
    ],
)
def test_how_surely_a_row_is_one_of_these(row, fit):
    assert CLAUDE.fits(row) == fit


# --- compactions -------------------------------------------------------------------------------------------------


def folded(book: Book, **metadata) -> None:
    book.user("first", uuid="a")
    book.says("m1", text("one"), uuid="b")
    book.user("second", uuid="c")
    book.says("m2", text("two"), uuid="d")
    book.fold("so far", trigger="auto", preTokens=100, **metadata)
    book.says("m3", text("three"), uuid="e")


def test_what_is_live_begins_with_the_last_summary(book):
    folded(book)
    conversation = book.read()
    assert texts(conversation) == ["so far", "three"]
    assert conversation.messages[0].origin is Origin.SUMMARY


def test_the_whole_history_is_there_when_asked_for(book):
    folded(book)
    conversation = book.read("all")
    assert texts(conversation) == ["first", "one", "second", "two", "so far", "three"]
    fold = conversation.compactions[0]
    assert (fold.at, fold.summary, fold.trigger, fold.tokens_before) == (4, "so far", "auto", 100)
    assert conversation.messages[fold.at].text == fold.summary


def test_compactions_speak_of_the_whole_history_also_when_only_the_live_one_was_read(book):
    folded(book)
    assert book.read("live").compactions == book.read("all").compactions


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedMessages": {"anchorUuid": "u5", "uuids": ["c", "d"]}},
        {"preservedMessages": {"anchorUuid": "u5", "allUuids": ["c", "d", "nowhere"]}},
        {"preservedSegment": {"headUuid": "c", "anchorUuid": "u5", "tailUuid": "d"}},
        {"preservedSegment": {"head": "c", "anchor": "u5", "tail": "d"}},
    ],
)
def test_messages_a_compaction_kept_follow_its_summary(book, metadata):
    folded(book, **metadata)
    conversation = book.read()
    assert texts(conversation) == ["so far", "second", "two", "three"]
    assert conversation.compactions[0].kept == (2, 3)


def test_what_was_kept_stands_first_when_it_hangs_on_the_boundary(book):
    folded(book, preservedMessages={"anchorUuid": "u4", "uuids": ["c", "d"]})
    assert texts(book.read()) == ["second", "two", "so far", "three"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedSegment": {"headUuid": "nowhere", "tailUuid": "d"}},
        {"preservedSegment": {"headUuid": ["c"], "tailUuid": 5}},
        {"preservedMessages": {"uuids": 7}},
        {"preservedMessages": {"uuids": [["c"], None]}},
    ],
)
def test_kept_messages_that_cannot_be_found_are_not_there(book, metadata):
    folded(book, **metadata)
    assert texts(book.read()) == ["so far", "three"]


def test_an_answer_is_not_joined_across_a_compaction(book):
    book.user("go")
    book.says("m1", text("one"))
    book.fold("so far")
    book.says("m1", text("again"))
    assert texts(book.read("all")) == ["go", "one", "so far", "again"]


# --- branches ----------------------------------------------------------------------------------------------------


def test_a_branch_the_user_went_back_from_is_left_behind(book):
    book.user("hello", uuid="a")
    book.says("m1", text("one"), uuid="b")
    book.user("wrong way", uuid="c")
    book.says("m2", text("two"), uuid="d")
    book.user("right way", uuid="e", parentUuid="b")
    conversation = book.read()
    assert texts(conversation) == ["hello", "one", "right way"]
    assert codes(conversation) == ["left-behind"]
    assert len(book.read("all")) == 5


def test_who_goes_back_to_before_the_first_message_leaves_all_of_it_behind(book):
    book.user("wrong way", uuid="a")
    book.says("m1", text("one"), uuid="b")
    book.user("right way", uuid="c", parentUuid=None)
    book.says("m2", text("two"), uuid="d")
    conversation = book.read()
    assert texts(conversation) == ["right way", "two"]
    assert codes(conversation) == ["left-behind"]


def test_where_no_row_names_a_parent_nothing_is_left_behind(book):
    for said in ("one", "two", "three"):
        book.user(said, parentUuid=None)
    assert texts(book.read()) == ["one", "two", "three"]


def test_parallel_calls_branch_and_nothing_of_them_is_left_behind(book):
    book.user("go", uuid="a")
    book.says("m1", call("c1"), uuid="b")
    book.says("m1", call("c2"), uuid="c")
    book.result("c1", "one", uuid="d", parentUuid="b")
    book.user("skill text", isMeta=True, uuid="d2", parentUuid="d")
    book.result("c2", "two", uuid="e", parentUuid="c")
    book.says("m2", text("done"), uuid="f", parentUuid="e")
    conversation = book.read()
    assert [len(m.results) for m in conversation.messages] == [0, 0, 2, 0, 0]
    assert conversation.notices == ()


def test_rows_whose_parent_is_missing_stay(book):
    book.user("hello", uuid="a")
    book.user("again", uuid="b", parentUuid="nowhere")
    assert texts(book.read()) == ["hello", "again"]


def test_a_chain_that_bites_its_tail_ends(book):
    book.user("hello", uuid="a", parentUuid="b")
    book.user("again", uuid="b", parentUuid="a")
    assert texts(book.read()) == ["hello", "again"]


# --- writing -----------------------------------------------------------------------------------------------------


def session(book: Book) -> Book:
    book.user("go", uuid="a")
    book.says("m1", {"type": "thinking", "thinking": "hm", "signature": "s"}, uuid="b")
    book.says("m1", call("c1", command="ls"), uuid="c")
    book.row("progress", uuid="p", data={"type": "bash_progress"})
    book.result("c1", "long output", uuid="d", parentUuid="c")
    book.says("m2", text("done"), uuid="e")
    return book


def test_messages_built_from_their_parts_are_the_same_rows(book):
    conversation = session(book).read()
    bare = conversation.with_messages([replace(message, raw=None) for message in conversation.messages])
    assert records(CLAUDE.write(bare)) == book.rows


def test_only_the_row_of_a_changed_part_changes(book):
    conversation = session(book).read()
    answered = conversation.messages[2]
    stub = replace(answered.parts[0], content=(Text("[cleared]"),))
    messages = [*conversation.messages[:2], answered.with_parts([stub]), *conversation.messages[3:]]
    before, after = book.data().splitlines(), CLAUDE.write(conversation.with_messages(messages)).splitlines()
    assert [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new] == [4]
    assert json.loads(after[4])["message"]["content"][0]["content"] == "[cleared]"
    assert json.loads(after[4])["toolUseResult"] == {"stdout": "long output"}


def test_rows_of_messages_that_are_gone_are_dropped_and_their_children_relinked(book):
    conversation = session(book).read()
    kept = [conversation.messages[0], conversation.messages[3]]
    after = records(CLAUDE.write(conversation.with_messages(kept)))
    assert [(row["uuid"], row["parentUuid"]) for row in after] == [("a", None), ("p", "a"), ("e", "a")]


def test_a_part_that_is_gone_takes_its_row_with_it(book):
    conversation = session(book).read()
    answer = conversation.messages[1]
    messages = list(conversation.messages)
    messages[1] = answer.with_parts(answer.parts[1:])
    after = records(CLAUDE.write(conversation.with_messages(messages)))
    assert [row["uuid"] for row in after] == ["a", "c", "p", "d", "e"]
    assert after[1]["parentUuid"] == "a"


def test_relinking_leaves_the_other_bytes_of_a_row_alone(book):
    session(book)
    book.rows[5]["note"] = "spaced  out é"
    conversation = load(b"".join(json.dumps(r, separators=(",", ":")).encode() + b"\n" for r in book.rows))
    after = CLAUDE.write(conversation.with_messages([conversation.messages[0], conversation.messages[3]]))
    old = json.dumps(book.rows[5], separators=(",", ":")).encode()
    assert old.replace(b'"parentUuid":"d"', b'"parentUuid":"a"') in after


@pytest.mark.parametrize("origin", [Origin.SUMMARY, Origin.PROGRAM, Origin.USER, Origin.ASSISTANT])
def test_messages_made_here_get_rows_at_their_place(book, origin):
    conversation = session(book).read()
    role = "assistant" if origin is Origin.ASSISTANT else "user"
    made = Message(role, origin, (Text("made"),))
    changed = conversation.with_messages([conversation.messages[0], made, *conversation.messages[3:]])
    data = CLAUDE.write(changed)
    assert data == CLAUDE.write(changed)
    again = load(data)
    assert texts(again) == ["go", "made", "done"]
    assert [m.origin for m in again.messages if m.text == "made"] == [origin]
    new = next(row for row in records(data) if row["uuid"] not in "abcpde")
    assert (new["parentUuid"], new["sessionId"], new["cwd"]) == ("a", "s", "/w")
    assert next(row for row in records(data) if row["uuid"] == "e")["parentUuid"] == new["uuid"]


def test_a_message_made_here_can_stand_first(book):
    conversation = session(book).read()
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    again = load(CLAUDE.write(conversation.with_messages([made, conversation.messages[3]])))
    assert texts(again) == ["so far", "done"]


def test_a_row_made_here_belongs_to_the_session_wherever_that_is_named(book):
    book.rows.append({"type": "summary", "summary": "title", "leafUuid": "x"})
    book.user("hello")
    made = Message("user", Origin.USER, (Text("first"),))
    after = records(CLAUDE.write(book.read().with_messages([made, *book.read().messages])))
    assert after[1]["sessionId"] == "s"


def test_two_messages_made_alike_are_two_rows(book):
    conversation = session(book).read()
    made = Message("user", Origin.USER, (Text("again"),))
    again = load(CLAUDE.write(conversation.append(made, made)))
    assert texts(again)[-2:] == ["again", "again"]


def test_a_fold_after_a_compaction_does_not_bring_the_old_history_back(book):
    folded(book, preservedSegment={"headUuid": "c", "anchorUuid": "u5", "tailUuid": "d"})
    conversation = book.read()
    made = Message("user", Origin.SUMMARY, (Text("all so far"),))
    again = load(CLAUDE.write(conversation.with_messages([made, conversation.messages[2], conversation.messages[3]])))
    assert texts(again) == ["all so far", "two", "three"]


def test_a_message_made_after_a_kept_one_is_live(book):
    folded(book, preservedMessages={"anchorUuid": "u5", "uuids": ["c", "d"]})
    conversation = book.read()
    made = Message("user", Origin.USER, (Text("made"),))
    again = load(CLAUDE.write(conversation.with_messages([*conversation.messages[:3], made])))
    assert texts(again) == ["so far", "second", "two", "made"]


def test_a_conversation_made_from_nothing_is_written():
    messages = (
        Message("user", Origin.USER, (Text("go"),)),
        Message("assistant", Origin.ASSISTANT, (ToolCall("c1", "Bash", '{"command":"ls"}'),)),
        Message("user", Origin.TOOL, (ToolResult("c1", (Text("out"),)),)),
    )
    base = load(b"")
    again = load(CLAUDE.write(replace(base, layout=None).with_messages(messages)))
    assert [m.role for m in again.messages] == ["user", "assistant", "user"]
    assert again.messages[2].results[0].text == "out"


def test_dropping_the_second_of_two_spliced_records_does_not_splice_the_next(book):
    book.user("one")
    book.user("two")
    book.user("three")
    first, second, third = (json.dumps(row).encode() for row in book.rows)
    conversation = load(first + second + b"\n" + third + b"\n")
    left = [conversation.messages[0], conversation.messages[2]]
    assert texts(load(CLAUDE.write(conversation.with_messages(left)))) == ["one", "three"]
    assert CLAUDE.write(conversation.with_messages(left)).count(b"\n") == 2


def test_junk_stays_where_it_was(book):
    session(book)
    rows = book.data().splitlines(keepends=True)
    data = b"\xef\xbb\xbf" + rows[0] + b"torn {\n" + b"".join(rows[1:])
    conversation = load(data)
    after = CLAUDE.write(conversation.with_messages(conversation.messages[:1]))
    assert after.startswith(b"\xef\xbb\xbf" + rows[0] + b"torn {\n")
    assert codes(conversation) == ["bom", "malformed"]


def test_text_with_lone_surrogates_and_bad_utf8_is_rebuilt_as_it_was(book):
    book.user("go")
    data = book.data() + book.data().replace(b'"u0"', b'"u1"').replace(b'"go"', b'"\\ud800 \\d"')
    conversation = load(data)
    assert conversation.messages[1].text == "\ud800 \\d"
    bare = [replace(message, raw=None) for message in conversation.messages]
    assert CLAUDE.write(conversation.with_messages(bare)) == data


def chain(data: bytes) -> list[str]:
    """What the agent itself loads: from the last thing said up through the parents, oldest first."""
    rows = {row["uuid"]: row for row in records(data)}
    spoken = [row for row in rows.values() if row["type"] in ("user", "assistant")]
    at, found = spoken[-1]["uuid"] if spoken else None, []
    while at in rows and at not in found:
        found.append(at)
        at = rows[at]["parentUuid"]
    said = [rows[name].get("message", {}).get("content", "") for name in reversed(found)]
    return [words if isinstance(words, str) else "".join(block.get("text", "") for block in words) for words in said]


def loaded(data: bytes) -> list[str]:
    """What the agent itself loads of a session it compacted: what was kept is hung behind its anchor, and all else that
    hung there behind that; then from the last thing said up through the parents."""
    rows = {row["uuid"]: row for row in records(data)}
    fold = next((row for row in reversed(rows.values()) if row.get("subtype") == "compact_boundary"), {})
    metadata = fold.get("compactMetadata", {})
    anchor, kept = _kept(rows, metadata)
    for row in rows.values():
        if kept and row["parentUuid"] == anchor and row["uuid"] not in kept:
            row["parentUuid"] = kept[-1]
    for name, parent in zip(kept, [anchor, *kept], strict=False):
        rows[name]["parentUuid"] = parent
    spoken = [name for name, row in rows.items() if row["type"] in ("user", "assistant")]
    at, found = spoken[-1] if spoken[-1] != anchor or not kept else kept[-1], list[str]()
    while at in rows:
        assert at not in found
        found.append(at)
        at = rows[at]["parentUuid"]
    return [said(rows[name]) for name in reversed(found) if "message" in rows[name]]


def _kept(rows: dict[str, dict], metadata: dict) -> tuple[str, list[str]]:
    if listed := metadata.get("preservedMessages"):
        return listed["anchorUuid"], listed["uuids"]
    segment = metadata.get("preservedSegment")
    if not segment:
        return "", []
    kept = [segment["tailUuid"]]
    while kept[0] != segment["headUuid"]:
        kept.insert(0, rows[kept[0]]["parentUuid"])
    return segment["anchorUuid"], kept


def said(row: dict) -> str:
    words = row["message"]["content"]
    return words if isinstance(words, str) else "".join(block.get("text", "") for block in words)


def test_a_checkpoint_is_above_what_a_torn_row_hangs_on(book):
    book.user("one", uuid="a")
    book.says("m1", text("two"), uuid="b")
    book.user("three", uuid="c", parentUuid="nowhere")
    conversation = book.read()
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    data = CLAUDE.write(conversation.with_messages([made, *conversation.messages[1:]]))
    assert [said for said in chain(data) if said in ("so far", "three")] == ["so far", "three"]


def test_a_checkpoint_hangs_where_the_message_after_it_hung_though_a_dead_branch_lies_between(book):
    book.user("hello", uuid="a")
    book.says("m1", text("one"), uuid="b")
    book.user("wrong way", uuid="c")
    book.user("right way", uuid="d", parentUuid="b")
    conversation = book.read()
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    data = CLAUDE.write(conversation.with_messages([conversation.messages[0], made, conversation.messages[2]]))
    assert chain(data) == ["hello", "so far", "right way"]
    assert texts(load(data)) == chain(data)


def made(said: str, origin: Origin = Origin.SUMMARY) -> Message:
    return Message("user", origin, (Text(said),))


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedMessages": {"anchorUuid": "u5", "uuids": ["c", "d"]}},
        {"preservedSegment": {"headUuid": "c", "anchorUuid": "u5", "tailUuid": "d"}},
    ],
)
def test_what_a_compaction_kept_hangs_on_the_checkpoint_that_took_its_summarys_place(book, metadata):
    folded(book, **metadata)
    conversation = book.read()
    data = CLAUDE.write(conversation.with_messages([made("all so far"), *conversation.messages[2:]]))
    assert loaded(data) == texts(load(data)) == ["all so far", "two", "three"]
    new = next(row for row in records(data) if row["type"] == "user" and said(row) == "all so far")
    boundary = next(row for row in records(data) if row["type"] == "system")
    assert boundary["compactMetadata"]["preservedMessages"] == {"anchorUuid": new["uuid"], "uuids": ["d"]}


def test_a_boundary_none_of_whose_kept_rows_is_left_names_none(book):
    folded(book, preservedSegment={"headUuid": "c", "anchorUuid": "u5", "tailUuid": "d"})
    conversation = book.read()
    after = records(CLAUDE.write(conversation.with_messages([made("all so far"), conversation.messages[-1]])))
    boundary = next(row for row in after if row["type"] == "system")
    assert boundary["compactMetadata"] == {"trigger": "auto", "preTokens": 100}


def test_what_was_kept_and_follows_a_new_message_is_written_anew(book):
    folded(book, preservedMessages={"anchorUuid": "u5", "uuids": ["c", "d"]})
    first, second, third, _ = book.read().messages
    data = CLAUDE.write(book.read().with_messages([first, second, made("so far"), third]))
    assert loaded(data) == texts(load(data)) == ["so far", "second", "so far", "two"]
    assert not {"d", "e"} & {row["uuid"] for row in records(data)}


def test_a_branch_that_was_left_stays_so_when_the_message_it_left_is_folded(book):
    book.user("first")
    book.fold("sum")
    book.says("m1", text("one"), uuid="fork")
    book.user("wrong way")
    book.user("right way", parentUuid="fork")
    conversation = book.read()
    data = CLAUDE.write(conversation.with_messages([made("so far"), conversation.messages[-1]]))
    assert texts(load(data)) == chain(data)[1:] == ["so far", "right way"]
    assert codes(load(data)) == ["left-behind"]


def test_a_torn_row_that_hangs_on_the_boundary_takes_nothing_live_with_it(book):
    book.fold("sum")
    book.user("one")
    book.user("two", parentUuid="nowhere")
    assert texts(book.read()) == ["sum", "one", "two"]


def test_a_checkpoint_at_the_end_stands_behind_the_branches_that_were_left(book):
    book.user("hello", uuid="a")
    book.says("m1", text("one"), uuid="b")
    book.user("wrong way", uuid="c")
    book.user("right way", uuid="d", parentUuid="b")
    conversation = book.read()
    data = CLAUDE.write(conversation.with_messages([conversation.messages[0], made("so far")]))
    assert chain(data) == texts(load(data)) == ["hello", "so far"]


def test_branches_that_were_left_go_when_nothing_stands_behind_them_any_more(book):
    book.user("hello", uuid="a")
    book.user("wrong way", uuid="b")
    book.user("right way", uuid="c", parentUuid="a")
    conversation = book.read()
    data = CLAUDE.write(conversation.with_messages(conversation.messages[:1]))
    assert chain(data) == texts(load(data)) == ["hello"]


def test_what_stands_before_the_root_of_a_session_that_begins_torn_is_read_again(book):
    book.user([result("c9", "one")], uuid="a", parentUuid="nowhere")
    book.user("two", uuid="b")
    book.user("three", uuid="c", parentUuid=None)
    conversation = book.read()
    view = [made("one"), *conversation.messages[1:], made("so far")]
    data = CLAUDE.write(conversation.with_messages(view))
    assert chain(data) == texts(load(data)) == ["one", "two", "three", "so far"]
    assert records(data)[0]["parentUuid"] == "nowhere"


@pytest.mark.parametrize("row", range(4))
def test_a_row_that_is_its_own_parent_hangs_on_the_message_before_it(book, row):
    for number in range(4):
        book.user(str(number))
    book.rows[row]["parentUuid"] = book.rows[row]["uuid"]
    conversation = book.read()
    for at in range(4):
        view = conversation.with_messages(
            [*conversation.messages[:at], made("so far"), *conversation.messages[at + 1 :]]
        )
        data = CLAUDE.write(view)
        assert chain(data) == texts(load(data)) == texts(view)


def test_a_row_made_in_a_subagents_file_is_a_subagents(book):
    book.user("task", isSidechain=True, agentId="a1")
    book.says("m1", text("done"), isSidechain=True, agentId="a1")
    conversation = book.read()
    data = CLAUDE.write(conversation.with_messages([made("so far"), conversation.messages[1]]))
    assert texts(load(data)) == chain(data) == ["so far", "done"]
    assert [(row["isSidechain"], row["agentId"]) for row in records(data)] == [(True, "a1")] * 2


def test_a_row_made_beside_a_subagents_is_not_a_subagents(book):
    book.user("aside", isSidechain=True, agentId="a1", parentUuid=None)
    book.user("hello", parentUuid=None)
    conversation = book.read()
    row = records(CLAUDE.write(conversation.with_messages([made("so far"), *conversation.messages])))[1]
    assert (row["isSidechain"], "agentId" in row) == (False, False)


@pytest.mark.parametrize(
    ("words", "origin"), [("[a tool's answer]", Origin.PROGRAM), ("<bash-stdout>x</bash-stdout>", Origin.TOOL)]
)
def test_what_a_tool_said_does_not_become_the_users_word(book, words, origin):
    conversation = session(book).read()
    again = load(CLAUDE.write(conversation.append(made(words, Origin.TOOL))))
    assert (again.messages[-1].text, again.messages[-1].origin) == (words, origin)


def test_what_is_made_of_a_second_answer_stands_behind_the_first(book):
    book.user("go")
    book.says("m1", call("c1"))
    book.result("c1", "one")
    book.says("m2", text("done"))
    book.user("more")
    book.result("c1", "two")
    conversation = book.read()
    answered = conversation.messages[2]
    assert len(answered.results) == 2
    view = [
        *conversation.messages[:2],
        answered.with_parts(answered.parts[:1]),
        made("two"),
        *conversation.messages[3:],
    ]
    written = CLAUDE.write(conversation.with_messages(view))
    assert texts(load(written)) == ["go", "", "", "two", "done", "more"]


USAGE = {"input_tokens": 3, "cache_read_input_tokens": 90_000, "output_tokens": 40, "service_tier": "standard"}


def sized(book: Book) -> Book:
    for number in range(3):
        book.user(f"ask {number}")
        book.says(f"m{number}", text(f"answer {number}"))
        book.rows[-1]["message"]["usage"] = USAGE
    return book


def usages(data: bytes) -> list[dict]:
    return [row["message"]["usage"] for row in records(data) if row["type"] == "assistant"]


@pytest.mark.parametrize(("changed", "sizes"), [(0, [0, 0, 0]), (2, [90_000, 0, 0]), (5, [90_000, 90_000, 0])])
def test_from_the_first_change_on_no_row_says_how_large_the_context_was(book, changed, sizes):
    conversation = sized(book).read()
    messages = list(conversation.messages)
    messages[changed] = messages[changed].with_parts([Text("shorter")])
    after = usages(CLAUDE.write(conversation.with_messages(messages)))
    assert [usage["cache_read_input_tokens"] for usage in after] == sizes
    assert {usage["service_tier"] for usage in after} == {"standard"}
    nothing = {name: 0 for name in USAGE if name.endswith("tokens")}
    assert after[-1] == {**USAGE, **nothing}


def test_the_size_of_a_subagents_context_is_its_own(book):
    sized(book)
    book.says("m9", text("aside"), isSidechain=True, parentUuid=None)
    book.rows[-1]["message"]["usage"] = USAGE
    conversation = book.read()
    assert usages(CLAUDE.write(conversation.with_messages(conversation.messages[2:])))[-1] == USAGE


# --- properties --------------------------------------------------------------------------------------------------

blocks = st.sampled_from(["text", "thinking", "call"])


@st.composite
def books(draw):
    book = Book()
    pending: list[str] = []
    for n in range(draw(st.integers(1, 12))):
        match draw(st.sampled_from(["user", "meta", "answer", "more", "result", "progress", "fold"])):
            case "user":
                book.user(draw(st.text(max_size=5)))
            case "meta":
                book.user([text("x")], isMeta=True)
            case "answer" | "more" as kind:
                name = f"m{n if kind == 'answer' else n - 1}"
                pending.append(f"c{n}")
                block = {"text": text("t"), "thinking": {"type": "thinking", "thinking": ""}, "call": call(f"c{n}")}
                book.says(name, block[draw(blocks)])
            case "result" if pending:
                book.result(pending.pop(draw(st.integers(0, len(pending) - 1))), draw(st.text(max_size=5)))
            case "fold":
                book.fold("sum")
            case _:
                book.row("progress")
    return book


@given(books(), st.sampled_from(["live", "all"]))
def test_any_transcript_is_written_as_it_was_and_rebuilt_from_its_parts(book, history):
    conversation = book.read(history)
    bare = conversation.with_messages([replace(message, raw=None) for message in conversation.messages])
    assert records(CLAUDE.write(bare)) == book.rows


@given(books())
def test_every_row_belongs_to_one_message_at_most(book):
    rows = [row for message in book.read("all").messages for row in dict.fromkeys(message.rows)]
    assert len(rows) == len(set(rows))


@given(books(), st.data())
def test_what_is_left_of_the_messages_is_read_again(book, data):
    conversation = book.read("all")
    kept = [message for message in conversation.messages if data.draw(st.booleans())]
    again = load(CLAUDE.write(conversation.with_messages(kept)), "all")
    assert [part for m in again.messages for part in m.parts] == [part for m in kept for part in m.parts]


@given(books(), st.data())
def test_a_checkpoint_anywhere_in_the_live_history_is_read_again_at_its_place(book, data):
    messages = book.read().messages
    at = data.draw(st.integers(0, len(messages)))
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    kept = [made, *messages[at:]] if data.draw(st.booleans()) else [*messages[:at], made]
    again = load(CLAUDE.write(book.read().with_messages(kept)))
    assert [part for m in again.messages for part in m.parts] == [part for m in kept for part in m.parts]


def test_a_checkpoint_before_an_answer_that_lost_its_first_row_is_not_on_a_dead_branch(book):
    conversation = session(book).read()
    answer = conversation.messages[1]
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    view = [conversation.messages[0], made, answer.with_parts(answer.parts[1:]), *conversation.messages[2:]]
    again = load(CLAUDE.write(conversation.with_messages(view)))
    assert [m.text for m in again.messages] == [m.text for m in view]


@given(books(), st.data())
def test_a_checkpoint_before_all_that_is_left_is_the_first_thing_the_agent_loads(book, data):
    for row in book.rows[1:]:
        if row["parentUuid"] and data.draw(st.integers(0, 5)) == 0:
            row["parentUuid"] = "nowhere"
    conversation = book.read()
    kept = conversation.messages[data.draw(st.integers(0, len(conversation.messages))) :]
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    written = CLAUDE.write(conversation.with_messages([made, *kept]))
    assert [part for m in load(written).messages for part in m.parts] == [
        *made.parts,
        *(p for m in kept for p in m.parts),
    ]
    assert "so far" in chain(written)


@st.composite
def rewound_books(draw):
    """Sessions that may have been compacted once, and have kept rows then; the user may have rewound since."""
    book = Book()

    def talk(least: int, most: int) -> None:
        for _ in range(draw(st.integers(least, most))):
            match draw(st.sampled_from(["user", "meta", "answer", "progress"])):
                case "user":
                    book.user(f"ask {len(book.rows)}")
                case "meta":
                    book.user(f"note {len(book.rows)}", isMeta=True)
                case "answer":
                    book.says(f"m{len(book.rows)}", text(f"answer {len(book.rows)}"))
                case _:
                    book.row("progress")

    book.user("ask first")
    talk(0, 6)
    head = draw(st.integers(0, len(book.rows) - 1))
    kept = [row["uuid"] for row in book.rows[head:]]
    boundary, summary = f"u{len(book.rows)}", f"u{len(book.rows) + 1}"
    anchor = draw(st.sampled_from([summary, boundary]))
    listed = {"preservedMessages": {"anchorUuid": anchor, "uuids": kept}}
    segment = {"preservedSegment": {"headUuid": kept[0], "anchorUuid": anchor, "tailUuid": kept[-1]}}
    metadata = draw(st.sampled_from([listed, segment, {}, None]))
    if metadata is not None:
        book.fold("sum", **metadata)
    if metadata and anchor == summary and draw(st.booleans()):
        book.user("ask on", parentUuid=kept[-1])
    talk(0, 4)
    if draw(st.booleans()):
        fork = book.rows[-1]["uuid"]
        book.user("wrong way")
        book.user("right way", parentUuid=fork)
    return book


@given(rewound_books(), st.data())
def test_the_agent_loads_the_view_of_any_session_that_was_compacted_or_rewound(book, data):
    conversation = book.read()
    messages = conversation.messages
    assert loaded(book.data()) == texts(conversation)
    at = data.draw(st.integers(0, len(messages)), "at")
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    before, after = ([m for m in half if data.draw(st.booleans())] for half in (messages[:at], messages[at:]))
    note = [Message("user", Origin.TOOL, (Text("by the way"),))] if data.draw(st.booleans(), "note") else []
    split = data.draw(st.integers(0, len(after)), "split")
    view = conversation.with_messages([*before, made, *after[:split], *note, *after[split:]])
    written = CLAUDE.write(view)
    assert texts(load(written)) == texts(view)
    assert loaded(written) == texts(view)


@given(rewound_books())
def test_a_compaction_tells_which_messages_it_kept(book):
    kept = set()
    for row in book.rows:
        for metadata in [row.get("compactMetadata", {})]:
            kept |= set(metadata.get("preservedMessages", {}).get("uuids", []))
            if segment := metadata.get("preservedSegment"):
                names = [row["uuid"] for row in book.rows]
                kept |= set(names[names.index(segment["headUuid"]) : names.index(segment["tailUuid"]) + 1])
    conversation = book.read("all")
    expected = [n for n, m in enumerate(conversation.messages) if any(book.rows[row]["uuid"] in kept for row in m.rows)]
    assert [n for fold in conversation.compactions for n in fold.kept] == expected


@pytest.mark.speed
def test_a_thousand_compactions_that_kept_everything_are_read_quickly(book):
    for number in range(1_200):
        tail = book.user(f"go {number}", uuid=f"r{number}")
        book.fold("sum", preservedSegment={"headUuid": "r0", "anchorUuid": "q", "tailUuid": tail})
    data = book.data().splitlines(keepends=True)
    spent = []
    for _ in range(3):
        before = time.process_time()
        CLAUDE.read_lines(Source(b"", name="x"), data)
        spent.append(time.process_time() - before)
    assert min(spent) < 0.35
