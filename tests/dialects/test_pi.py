"""pi's session trees: the live branch, compactions, and how changes go back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.dialects.base import Source
from foldline.dialects.pi import Pi
from foldline.model import Media, Message, Origin, Text, Thinking, ToolCall, ToolResult

PI = Pi()


class Session:
    """Entries written one after the other, with ids (version 3) or without (version 1)."""

    def __init__(self, tree: bool = True) -> None:
        self.tree = tree
        self.rows: list[dict] = [{"type": "session", "id": "s", "cwd": "/w", "timestamp": "t", "modelId": "m0"}]

    def entry(self, type_: str, **fields) -> str:
        name = fields.pop("id", f"e{len(self.rows)}")
        parent = fields.pop("parent", self.rows[-1].get("id") if len(self.rows) > 1 else None)
        linked = {"id": name, "parentId": parent} if self.tree else {}
        self.rows.append({"type": type_, **linked, "timestamp": f"t{len(self.rows)}", **fields})
        return name

    def message(self, role: str, content=None, parent: str | None = "", **fields) -> str:
        where = {} if parent == "" else {"parent": parent}
        said = {} if content is None else {"content": content}
        return self.entry("message", message={"role": role, **said, **fields}, **where)

    def user(self, said: str, **fields) -> str:
        return self.message("user", [text(said)], **fields)

    def says(self, *blocks, **fields) -> str:
        return self.message("assistant", list(blocks), model="claude-x", **fields)

    def result(self, call_id: str, said: str) -> str:
        return self.message("toolResult", [text(said)], toolCallId=call_id, toolName="read", isError=False)

    def data(self) -> bytes:
        return b"".join(json.dumps(row).encode() + b"\n" for row in self.rows)

    def read(self, history="live"):
        return load(self.data(), history)


def load(data: bytes, history="live"):
    conversation = PI.read_lines(Source(b"", name="x"), data.splitlines(keepends=True), history)
    assert PI.write(conversation) == data
    return conversation


def text(said: str) -> dict:
    return {"type": "text", "text": said}


def call(id_: str) -> dict:
    return {"type": "toolCall", "id": id_, "name": "read", "arguments": {"path": "/p"}}


def texts(conversation) -> list[str]:
    return [m.text for m in conversation.messages]


def records(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


@pytest.fixture(params=[True, False], ids=["tree", "linear"])
def session(request) -> Session:
    return Session(request.param)


@pytest.fixture
def tree() -> Session:
    return Session()


def test_results_of_one_step_are_one_message(session):
    session.user("go")
    session.says({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, call("c1"), call("c2"))
    session.result("c1", "one")
    session.result("c2", "two")
    session.says(text("done"))
    conversation = session.read()
    assert [m.role for m in conversation.messages] == ["user", "assistant", "user", "assistant"]
    assert [type(p) for p in conversation.messages[1].parts] == [Thinking, ToolCall, ToolCall]
    assert conversation.messages[1].rows == (2, 2, 2)
    assert conversation.messages[2].rows == (3, 4)
    assert [r.text for r in conversation.messages[2].results] == ["one", "two"]
    assert conversation.messages[2].origin is Origin.TOOL
    assert conversation.head.model == "claude-x"


def test_what_a_command_printed_is_no_users_word_though_pi_says_it_as_the_user(session):
    """pi tells the model of it in a user message; the output may come from anywhere, so its trust is a tool's."""
    session.message("bashExecution", command="ls", output="a b", exitCode=0, cancelled=False, truncated=False)
    message = session.read().messages[0]
    assert message.text == "Ran `ls`\n```\na b\n```"
    assert (message.role, message.origin) == ("user", Origin.TOOL)


@pytest.mark.parametrize(
    ("fields", "end"),
    [
        ({"output": ""}, "Ran `x`\n(no output)"),
        ({"output": "", "exitCode": 2}, "(no output)\n\nCommand exited with code 2"),
        ({"output": "", "exitCode": 2, "cancelled": True}, "(no output)\n\n(command cancelled)"),
        ({"output": "", "truncated": True, "fullOutputPath": "/f"}, "[Output truncated. Full output: /f]"),
    ],
)
def test_how_a_command_ended_is_told(tree, fields, end):
    tree.message("bashExecution", command="x", **fields)
    assert tree.read().messages[0].text.endswith(end)


def test_a_command_kept_out_of_the_context_is_no_message(session):
    session.message("bashExecution", command="ls", output="a", excludeFromContext=True)
    assert len(session.read()) == 0


def test_an_answer_cut_off_before_its_first_word_is_no_message(session):
    session.user("go")
    session.says()
    assert texts(session.read()) == ["go"]


@pytest.mark.parametrize("why", ["aborted", "error"])
def test_an_answer_that_was_broken_off_is_not_what_pi_would_send_and_stays_in_the_file(session, why):
    session.user("ask")
    session.message("assistant", [text("half an ans"), call("c1")], stopReason=why)
    session.user("again")
    conversation = session.read()
    assert texts(conversation) == ["ask", "again"]
    assert [notice.code for notice in conversation.notices] == ["broken-off"]
    assert texts(session.read("all")) == ["ask", "half an ans", "again"]
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    written = PI.write(conversation.with_messages([made, conversation.messages[1]]))
    assert texts(load(written)) == ["so far", "again"]
    assert b"half an ans" in written


def test_messages_of_extensions_are_the_programs(session):
    session.entry("custom_message", customType="ext", content="note", display=True)
    session.entry("custom", customType="ext", data={"text": "not said"})
    conversation = session.read()
    assert texts(conversation) == ["note"]
    assert conversation.messages[0].origin is Origin.PROGRAM


def test_pictures_are_media(tree):
    tree.message("user", [{"type": "image", "data": "AAAA", "mimeType": "image/png"}])
    assert tree.read().messages[0].parts == (Media("image", "image/png", "AAAA"),)


# --- branches and compactions ------------------------------------------------------------------------------------


def test_the_live_branch_leads_to_the_last_entry(tree):
    first = tree.user("one")
    tree.user("wrong way")
    tree.entry("branch_summary", parent=first, fromId="e2", summary="went wrong")
    tree.user("right way")
    conversation = tree.read()
    assert texts(conversation) == ["one", "went wrong", "right way"]
    assert conversation.messages[1].origin is Origin.SUMMARY
    assert [n.code for n in conversation.notices] == ["left-behind"]
    assert texts(tree.read("all")) == ["one", "wrong way", "went wrong", "right way"]


def test_an_entry_that_was_torn_does_not_take_with_it_what_stood_before(tree):
    tree.user("one")
    tree.says(text("two"))
    tree.user("three")
    tree.says(text("four"))
    lines = tree.data().splitlines(keepends=True)
    conversation = load(b"".join([*lines[:2], lines[2][:40] + b"\n", *lines[3:]]))
    assert texts(conversation) == ["one", "three", "four"]
    assert [notice.code for notice in conversation.notices] == ["malformed", "torn-off"]
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    written = PI.write(conversation.with_messages([made, *conversation.messages[1:]]))
    assert texts(load(written)) == ["so far", "three", "four"]
    named = {row["id"]: row for row in (json.loads(line) for line in written.splitlines() if line.endswith(b"}"))}
    assert named["e3"]["parentId"] in named  # pi itself finds its way back
    shorter = conversation.messages[2].with_parts([Text("4")])
    pruned = PI.write(conversation.with_messages([*conversation.messages[:2], shorter]))
    assert pruned.splitlines(keepends=True)[3] == lines[3]  # while nothing goes and nothing comes, rows are left alone


def test_a_branch_from_before_the_file_is_no_reason_to_look_further(tree):
    tree.message("user", [text("one")], parent="elsewhere")
    assert texts(tree.read()) == ["one"]
    assert tree.read().notices == ()


def test_a_chain_that_bites_its_tail_ends(tree):
    tree.user("one", parent="e2")
    tree.user("two")
    assert texts(tree.read()) == ["one", "two"]


def compacted(session: Session) -> Session:
    session.user("one")
    session.says(text("1"))
    session.user("two")
    session.says(text("2"))
    first = {"firstKeptEntryId": "e3"} if session.tree else {"firstKeptEntryIndex": 3}
    session.entry("compaction", summary="so far", tokensBefore=70, **first)
    session.user("three")
    return session


def test_after_a_compaction_its_summary_the_kept_and_the_later_entries_are_live(session):
    conversation = compacted(session).read()
    assert texts(conversation) == ["so far", "two", "2", "three"]
    assert conversation.messages[0].origin is Origin.SUMMARY


def test_an_earlier_summary_among_what_a_compaction_kept_is_not_sent_again(session):
    """pi begins where the one before it began to keep."""
    name = session.user("one")
    first = {"firstKeptEntryId": name} if session.tree else {"firstKeptEntryIndex": 1}
    session.entry("compaction", summary="earlier", **first)
    session.says(text("1"))
    session.entry("compaction", summary="later", **first)
    session.user("two")
    assert texts(session.read()) == ["later", "one", "1", "two"]
    assert texts(session.read("all")) == ["one", "earlier", "1", "later", "two"]


def test_the_whole_history_is_in_file_order(session):
    conversation = compacted(session).read("all")
    assert texts(conversation) == ["one", "1", "two", "2", "so far", "three"]
    fold = conversation.compactions[0]
    assert (fold.at, fold.summary, fold.tokens_before, fold.kept) == (4, "so far", 70, (2, 3))
    assert session.read().compactions == conversation.compactions


@pytest.mark.parametrize("first", [{"firstKeptEntryId": "nowhere"}, {"firstKeptEntryIndex": 99}, {}])
def test_a_first_kept_entry_that_is_not_there_keeps_nothing(tree, first):
    tree.user("one")
    tree.entry("compaction", summary="so far", **first)
    assert texts(tree.read()) == ["so far"]


def test_repeated_entries_count_once(tree):
    tree.user("one")
    tree.rows.append(dict(tree.rows[1]))
    assert texts(tree.read("all")) == ["one"]


def test_the_model_may_be_named_by_the_header_or_a_change(tree):
    assert tree.read().head.model == "m0"
    tree.entry("model_change", provider="p", modelId="m1")
    assert tree.read().head.model == "m1"


# --- writing -----------------------------------------------------------------------------------------------------


def test_messages_built_from_their_parts_are_the_same_rows(session):
    compacted(session)
    session.says({"type": "thinking", "thinking": "x", "thinkingSignature": ""}, {"type": "odd", "n": 1}, call("c1"))
    session.result("c1", "out")
    session.message("toolResult", "plain", toolCallId="c2")
    session.message("bashExecution", command="ls", output="a")
    session.entry("custom_message", customType="ext", content="note")
    session.message("user", [{"type": "image", "data": "AAAA", "mimeType": "image/png"}])
    session.message("user", "just text")
    conversation = session.read()
    bare = conversation.with_messages([replace(m, raw=None) for m in conversation.messages])
    assert records(PI.write(bare)) == session.rows


def test_a_changed_result_changes_its_row_alone(session):
    session.user("go")
    session.says(call("c1"), call("c2"))
    session.result("c1", "one")
    session.result("c2", "two")
    conversation = session.read()
    both = conversation.messages[2]
    stub = replace(both.parts[1], content=(Text("[cleared]"),))
    messages = [*conversation.messages[:2], both.with_parts([both.parts[0], stub])]
    before, after = session.data().splitlines(), PI.write(conversation.with_messages(messages)).splitlines()
    assert [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [4]
    assert json.loads(after[4])["message"]["content"] == [text("[cleared]")]


def test_a_changed_command_becomes_plain_words(session):
    session.message("bashExecution", command="ls", output="a b", timestamp=5)
    conversation = session.read()
    again = load(PI.write(conversation.with_messages([conversation.messages[0].with_parts([Text("ran ls")])])))
    assert texts(again) == ["ran ls"]


def test_rows_of_messages_that_are_gone_are_dropped_and_their_children_relinked(tree):
    tree.user("one")
    tree.says(text("1"))
    tree.user("two")
    conversation = tree.read()
    left = [conversation.messages[0], conversation.messages[2]]
    after = records(PI.write(conversation.with_messages(left)))
    assert [(row["id"], row.get("parentId")) for row in after] == [("s", None), ("e1", None), ("e3", "e1")]


def test_a_compaction_stays_though_its_summary_is_gone(session):
    conversation = compacted(session).read()
    again = load(PI.write(conversation.with_messages(conversation.messages[1:])))
    assert texts(again) == ["two", "2", "three"]


def test_a_compaction_whose_first_kept_entry_is_gone_names_the_next(session):
    conversation = compacted(session).read()
    left = [conversation.messages[0], *conversation.messages[2:]]
    assert texts(load(PI.write(conversation.with_messages(left)))) == ["so far", "2", "three"]
    assert texts(load(PI.write(conversation.with_messages([left[0], left[2]])))) == ["so far", "three"]


def test_a_new_first_message_takes_the_place_of_a_summary(session):
    conversation = compacted(session).read()
    made = Message("user", Origin.SUMMARY, (Text("all so far"),))
    again = load(PI.write(conversation.with_messages([made, *conversation.messages[2:]])))
    assert texts(again) == ["all so far", "2", "three"]
    assert again.messages[0].origin is Origin.SUMMARY


@pytest.mark.parametrize("origin", [Origin.SUMMARY, Origin.PROGRAM, Origin.TOOL, Origin.USER, Origin.ASSISTANT])
def test_messages_made_here_get_rows_at_their_place(session, origin):
    session.user("one")
    session.user("two")
    conversation = session.read()
    made = Message("assistant" if origin is Origin.ASSISTANT else "user", origin, (Text("made"),))
    messages = [conversation.messages[0], made, conversation.messages[1]]
    data = PI.write(conversation.with_messages(messages))
    again = load(data)
    assert texts(again) == ["one", "made", "two"]
    assert again.messages[1].origin is origin
    assert records(data)[2]["timestamp"] == "t1"


def test_a_message_made_here_hangs_where_the_next_one_hung_though_a_dead_branch_lies_between(tree):
    first = tree.user("one")
    tree.user("wrong way")
    tree.user("right way", parent=first)
    conversation = tree.read()
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    data = PI.write(conversation.with_messages([conversation.messages[0], made, conversation.messages[1]]))
    assert texts(load(data)) == ["one", "so far", "right way"]


def test_a_way_whose_end_is_gone_is_the_one_that_is_loaded_though_a_dead_branch_lies_behind_it(tree):
    tree.user("one")
    fold = tree.entry("compaction", summary="so far", firstKeptEntryId="gone")
    tree.user("wrong way")
    tree.user("right way", parent=fold)
    conversation = tree.read()
    made = Message("user", Origin.SUMMARY, (Text("all so far"),))
    assert texts(load(PI.write(conversation.with_messages([made])))) == ["all so far"]
    assert texts(load(PI.write(conversation.with_messages(conversation.messages[:1])))) == ["so far"]


@pytest.mark.parametrize("last", ["label", "session_info", "broken"])
def test_a_checkpoint_at_the_end_is_on_the_way_though_the_last_entry_is_no_message(session, last):
    session.user("ask")
    session.says(text("done"))
    session.says(text("half"), stopReason="error") if last == "broken" else session.entry(last, name="x")
    conversation = session.read()
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    written = PI.write(conversation.with_messages([conversation.messages[0], made]))
    assert texts(load(written)) == ["ask", "so far"]
    assert records(written)[-1].get("customType") == "foldline"


def test_results_and_pictures_made_here_are_written(session):
    session.user("one")
    made = (
        Message("assistant", Origin.ASSISTANT, (Thinking("hm", "s"), ToolCall("c1", "read", "{}"))),
        Message("user", Origin.TOOL, (ToolResult("c1", (Text("out"), Media("image", "image/png", "AA")), True),)),
    )
    again = load(PI.write(session.read().append(*made)))
    result = again.messages[2].results[0]
    assert (result.text, result.is_error, len(result.content)) == ("out", True, 2)
    assert again.messages[1].parts == made[0].parts


def test_a_result_put_among_the_users_words_becomes_words(session):
    session.user("one")
    conversation = session.read()
    mixed = conversation.messages[0].with_parts([Text("see"), ToolResult("c1", (Text("out"),))])
    assert texts(load(PI.write(conversation.with_messages([mixed])))) == ["see\nout"]


def test_a_result_that_is_gone_takes_its_row_with_it(session):
    session.user("go")
    session.says(call("c1"), call("c2"))
    session.result("c1", "one")
    session.result("c2", "two")
    conversation = session.read()
    less = conversation.messages[2].with_parts(conversation.messages[2].parts[:1])
    again = load(PI.write(conversation.with_messages([*conversation.messages[:2], less])))
    assert [r.text for r in again.messages[2].results] == ["one"]


USAGE = {"input": 60, "output": 40, "cacheRead": 80_000, "cacheWrite": 5, "totalTokens": 80_105, "cost": {"total": 2}}
UNUSED = {**dict.fromkeys(USAGE, 0), "cost": {"total": 2}}


def usages(data: bytes) -> list[dict]:
    return [row["message"]["usage"] for row in records(data) if "usage" in row.get("message", {})]


@pytest.mark.parametrize(("changed", "sizes"), [(0, [UNUSED, UNUSED]), (2, [USAGE, UNUSED])])
def test_from_the_first_change_on_no_answer_says_how_large_the_context_was(session, changed, sizes):
    for number in range(2):
        session.user(f"ask {number}")
        session.says(text(f"answer {number} usage"), usage=USAGE)
    conversation = session.read()
    messages = list(conversation.messages)
    messages[changed] = messages[changed].with_parts([Text("shorter")])
    assert usages(PI.write(conversation.with_messages(messages))) == sizes
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    messages = [*conversation.messages[:changed], made, *conversation.messages[changed:]]
    assert usages(PI.write(conversation.with_messages(messages))) == sizes


def test_what_a_compaction_kept_stands_behind_its_summary_also_where_sizes_are_told(session):
    compacted(session)
    session.rows[4]["message"]["usage"] = USAGE
    conversation = session.read()
    made = Message("user", Origin.SUMMARY, (Text("all so far"),))
    data = PI.write(conversation.with_messages([made, *conversation.messages[1:]]))
    assert texts(load(data)) == ["all so far", "two", "2", "three"]
    assert usages(data) == [UNUSED]


def twice(tree: Session) -> Session:
    tree.user("one")
    tree.says(call("c1"))
    tree.result("c1", "long output")
    tree.user("two")
    tree.rows += [dict(row) for row in tree.rows[1:]]
    return tree


@pytest.mark.parametrize("history", ["live", "all"])
def test_of_entries_that_stand_twice_only_the_changed_one_is_left(tree, history):
    conversation = twice(tree).read(history)
    stub = replace(conversation.messages[2].parts[0], content=(Text("[cleared]"),))
    messages = [*conversation.messages[:2], conversation.messages[2].with_parts([stub]), conversation.messages[3]]
    data = PI.write(conversation.with_messages(messages))
    assert b"long output" not in data
    names = [row["id"] for row in records(data)]
    assert len(set(names)) == len(names)
    assert [row.get("parentId") for row in records(data)] == [None, None, "e1", "e2", "e3"]
    assert texts(load(data)) == ["one", "", "", "two"]


@pytest.mark.parametrize("history", ["live", "all"])
def test_entries_that_stand_twice_go_whole_when_a_checkpoint_takes_their_place(tree, history):
    conversation = twice(tree).read(history)
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    data = PI.write(conversation.with_messages([made, conversation.messages[3]]))
    assert texts(load(data)) == ["so far", "two"]
    assert len(records(data)) == 3
    assert records(data)[2]["parentId"] == records(data)[1]["id"]


@pytest.mark.parametrize(
    ("row", "fit"),
    [
        ({"type": "session", "id": "s", "cwd": "/", "timestamp": "t"}, 100),
        ({"type": "message", "timestamp": "t", "message": {"role": "user"}}, 95),
        ({"type": "compaction", "timestamp": "t"}, 70),
        ({"type": "message", "payload": {}}, 0),
        ({"timestamp": "t"}, 0),
        (5, 0),
    ],
)
def test_how_surely_an_entry_is_one_of_these(row, fit):
    assert PI.fits(row) == fit


def test_a_conversation_made_from_nothing_is_written():
    made = Message("user", Origin.USER, (Text("go"),))
    assert texts(load(PI.write(replace(load(b""), layout=None).with_messages([made])))) == ["go"]


KINDS = ["user", "says", "broken", "fold", "other"]


@given(st.booleans(), st.lists(st.sampled_from(KINDS), max_size=8), st.data())
def test_what_is_left_of_the_messages_is_read_again(with_ids, kinds, data):
    session = Session(with_ids)
    for n, kind in enumerate(kinds):
        if kind == "fold":
            first = data.draw(st.integers(1, len(session.rows)))
            kept = {"firstKeptEntryId": f"e{first}"} if with_ids else {"firstKeptEntryIndex": first}
            session.entry("compaction", summary=f"sum {n}", **kept)
        elif kind == "other":
            session.entry("label", targetId="e1", label="x")
        elif kind == "broken":
            session.says(text(str(n)), stopReason="aborted")
        else:
            session.user(str(n)) if kind == "user" else session.says(text(str(n)))
    conversation = session.read()
    kept = [m for m in conversation.messages if data.draw(st.booleans())]
    assert texts(load(PI.write(conversation.with_messages(kept)))) == [m.text for m in kept]


@given(st.booleans(), st.integers(1, 6), st.integers(0, 3), st.data())
def test_a_checkpoint_anywhere_behind_a_compaction_is_read_again_at_its_place(with_ids, kept, later, data):
    session = Session(with_ids)
    for number in range(6):
        session.user(f"ask {number}") if number % 2 else session.says(text(f"answer {number}"))
    first = {"firstKeptEntryId": f"e{kept}"} if with_ids else {"firstKeptEntryIndex": kept}
    session.entry("compaction", summary="so far", **first)
    for number in range(later):
        session.user(f"more {number}")
        session.says(text("half"), stopReason="error")
    conversation = session.read()
    at = data.draw(st.integers(1, len(conversation)))
    made = Message("user", Origin.SUMMARY, (Text("all so far"),))
    after = [message for message in conversation.messages[at:] if data.draw(st.booleans())]
    view = conversation.with_messages([*conversation.messages[:at], made, *after])
    assert texts(load(PI.write(view))) == texts(view)


COUNTS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")


def test_an_answer_that_is_written_anew_says_whose_it_is_and_what_it_cost(session):
    """pi adds up the usage of every answer, and shows thinking as text where it does not know whose it is."""
    session.user("one")
    usage = {**dict.fromkeys(COUNTS, 7), "cost": {"total": 0.5}}
    session.says(text("1"), provider="p", api="a", usage=usage, stopReason="stop")
    kept = {"firstKeptEntryId": "e1"} if session.tree else {"firstKeptEntryIndex": 1}
    session.entry("compaction", summary="so far", **kept)
    conversation = session.read()
    summary, first, answer = conversation.messages
    checkpoint, mine = (
        Message("user", Origin.SUMMARY, (Text("all"),)),
        Message("assistant", Origin.ASSISTANT, answer.parts),
    )
    written = PI.write(conversation.with_messages([summary, first, checkpoint, answer, mine]))
    again, new = (row["message"] for row in records(written)[-2:])
    assert again == {**session.rows[2]["message"], "usage": {**usage, **dict.fromkeys(COUNTS, 0)}}
    assert new["stopReason"] == "stop"
    assert {new["usage"][name] for name in COUNTS} == {new["usage"]["cost"]["total"]} == {0}


def test_what_a_command_printed_stays_no_users_word_behind_a_checkpoint(session):
    session.user("one")
    session.message("bashExecution", command="ls", output="secret", exitCode=0)
    session.entry(
        "compaction", summary="so far", **({"firstKeptEntryId": "e1"} if session.tree else {"firstKeptEntryIndex": 1})
    )
    first, second, third = session.read().messages
    made = Message("user", Origin.SUMMARY, (Text("all so far"),))
    again = load(PI.write(session.read().with_messages([first, second, made, third])))
    assert texts(again) == [first.text, second.text, made.text, third.text]
    assert again.messages[-1].origin is Origin.PROGRAM
