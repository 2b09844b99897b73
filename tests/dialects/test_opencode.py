"""opencode's exports: turns taken apart into steps and results, and put together again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.dialects import jsontext
from foldline.dialects.base import Source
from foldline.dialects.opencode import OpenCode
from foldline.errors import MalformedInput
from foldline.model import Media, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult

OPENCODE = OpenCode()


class Export:
    def __init__(self) -> None:
        self.turns: list[dict] = []
        self.parts = 0

    def turn(self, role: str, *parts: dict, **info) -> str:
        name = info.pop("id", f"msg_{len(self.turns)}")
        base = {"id": name, "sessionID": "ses", "role": role, "time": {"created": len(self.turns)}}
        self.turns.append({"info": {**base, **info}, "parts": [self.part(part, name) for part in parts]})
        return name

    def part(self, part: dict, message: str) -> dict:
        self.parts += 1
        return {"id": f"prt_{self.parts}", "sessionID": "ses", "messageID": message, **part}

    def user(self, *parts, **info) -> str:
        return self.turn("user", *(text(p) if isinstance(p, str) else p for p in parts), **info)

    def says(self, *parts, **info) -> str:
        body = (text(p) if isinstance(p, str) else p for p in parts)
        return self.turn("assistant", {"type": "step-start"}, *body, {"type": "step-finish"}, modelID="m", **info)

    def fold(self, summary: str, **mark) -> None:
        asked = self.user({"type": "compaction", "auto": True, **mark})
        self.says(summary, summary=True, finish="stop", parentID=asked)

    def value(self) -> dict:
        return {"info": {"id": "ses", "title": "x"}, "messages": self.turns}

    def read(self, history="live"):
        return load(json.dumps(self.value(), indent=1).encode(), history)


def load(data: bytes, history="live"):
    conversation = OPENCODE.read(Source(data, name="x"), jsontext.decode(data), history)
    assert OPENCODE.write(conversation) == data
    return conversation


def text(said: str, **fields) -> dict:
    return {"type": "text", "text": said, **fields}


def tool(id_: str, output: str = "out", **state) -> dict:
    done = {"status": "completed", "input": {"command": "ls"}, "output": output, "title": "ls", "time": {"start": 1}}
    return {"type": "tool", "callID": id_, "tool": "bash", "state": {**done, **state}}


def texts(conversation) -> list[str]:
    return [m.text for m in conversation.messages]


def rebuilt(conversation, messages) -> dict:
    return json.loads(OPENCODE.write(conversation.with_messages(messages)))


@pytest.fixture
def export() -> Export:
    return Export()


def test_a_tool_part_is_a_call_and_its_result(export):
    export.user("go")
    export.says("calling", tool("c1"), tool("c2", "other"))
    conversation = export.read()
    assert [m.role for m in conversation.messages] == ["user", "assistant", "tool", "tool"]
    assert [c.id for c in conversation.messages[1].calls] == ["c1", "c2"]
    assert [m.results[0].text for m in conversation.messages[2:]] == ["out", "other"]
    assert {m.rows for m in conversation.messages[1:]} == {(1,)}
    assert conversation.head.model == "m"


def test_each_message_of_a_turn_has_bytes_of_its_own(export):
    export.user("go", text("file", synthetic=True))
    export.says(tool("c1"), {"type": "step-start"}, tool("c2"))
    assert len({m.identity for m in export.read().messages}) == len(export.read())


def test_steps_are_messages_of_their_own(export):
    export.user("go")
    export.says("one", tool("c1"), {"type": "step-finish"}, {"type": "step-start"}, "two", tool("c2"))
    assert [m.role for m in export.read().messages] == ["user", "assistant", "tool", "assistant", "tool"]


def test_a_failed_call_has_an_error_and_a_running_one_no_result(export):
    export.user("go")
    export.says(tool("c1", status="error", error="no"), tool("c2", status="running"))
    results = [r for m in export.read().messages for r in m.results]
    assert [(r.call_id, r.text, r.is_error) for r in results] == [("c1", "no", True)]


def test_what_stands_beside_the_users_words_is_not_theirs(export):
    export.user("look at this", text("contents of a file", synthetic=True), text("not sent", ignored=True))
    conversation = export.read()
    assert texts(conversation) == ["look at this", "contents of a file"]
    assert [m.origin for m in conversation.messages] == [Origin.USER, Origin.TOOL]


def test_files_are_media_unless_they_are_text(export):
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA", "filename": "p"}
    export.user(picture, {"type": "file", "mime": "text/plain", "url": "file:///x"})
    part = export.read().messages[0].parts[0]
    assert isinstance(part, Media)
    assert (part.kind, part.mime, part.data) == ("image", "image/png", "AAAA")
    assert len(export.read().messages[0].parts) == 1


def test_answers_that_failed_are_left_out_and_counted(export):
    export.user("go")
    export.says("half", error={"name": "APIError"})
    export.says("cut off", error={"name": "MessageAbortedError"})
    conversation = export.read()
    assert texts(conversation) == ["go", "cut off"]
    assert [n.code for n in conversation.notices] == ["api-error"]


def test_results_cleared_by_the_agent_are_whole_here_and_said(export):
    export.says(tool("c1", time={"start": 1, "compacted": 2}))
    conversation = export.read()
    assert conversation.messages[1].results[0].text == "out"
    assert [n.code for n in conversation.notices] == ["cleared"]


# --- compactions -------------------------------------------------------------------------------------------------


def folded(export: Export, **mark) -> Export:
    export.user("one")
    export.says("1")
    export.user("two", id="tail")
    export.says("2")
    export.fold("so far", **mark)
    export.user("three")
    return export


def test_after_a_compaction_the_question_the_summary_and_the_rest_are_live(export):
    conversation = folded(export).read()
    assert texts(conversation) == ["What did we do so far?", "so far", "three"]
    assert [m.origin for m in conversation.messages] == [Origin.PROGRAM, Origin.SUMMARY, Origin.USER]


def test_a_kept_tail_follows_the_summary(export):
    conversation = folded(export, tail_start_id="tail").read()
    assert texts(conversation) == ["What did we do so far?", "so far", "two", "2", "three"]
    assert conversation.compactions[0].kept == (2, 3)


def test_the_whole_history_is_in_file_order(export):
    conversation = folded(export).read("all")
    assert texts(conversation) == ["one", "1", "two", "2", "What did we do so far?", "so far", "three"]
    assert (conversation.compactions[0].at, conversation.compactions[0].summary) == (5, "so far")
    assert export.read().compactions == conversation.compactions


def test_an_unfinished_compaction_is_none(export):
    export.user("one")
    asked = export.user({"type": "compaction", "auto": True})
    export.says("so f", summary=True, parentID=asked)
    assert len(export.read()) == 3
    assert export.read().compactions == ()


# --- writing -----------------------------------------------------------------------------------------------------


def test_messages_built_from_their_parts_are_the_same_document(export):
    export.user("go", text("beside", synthetic=True), {"type": "agent", "name": "x"})
    attachment = {"id": "a", "type": "file", "mime": "image/png", "url": "data:image/png;base64,AA"}
    export.says({"type": "reasoning", "text": "hm", "metadata": {"k": 1}}, tool("c1", attachments=[attachment]))
    export.says(tool("c2", status="error", error="no"), {"type": "patch", "files": []})
    conversation = export.read()
    assert rebuilt(conversation, [replace(m, raw=None) for m in conversation.messages]) == export.value()


def test_a_stubbed_result_changes_its_part_alone(export):
    export.user("go")
    export.says("calling", tool("c1"), tool("c2"))
    conversation = export.read()
    stub = replace(conversation.messages[2].results[0], content=(Text("[cleared]"),))
    messages = [*conversation.messages[:2], conversation.messages[2].with_parts([stub]), conversation.messages[3]]
    after = rebuilt(conversation, messages)
    assert after["messages"][1]["parts"][2]["state"]["output"] == "[cleared]"
    assert after["messages"][1]["parts"][2]["state"]["title"] == "ls"
    del after["messages"][1]["parts"][2], export.turns[1]["parts"][2]
    assert after == export.value()


def test_changed_words_keep_their_place(export):
    export.user("go")
    export.says("first", tool("c1"), "last")
    conversation = export.read()
    said = list(conversation.messages[1].parts)
    said[0] = replace(said[0], text="changed")
    said[1] = replace(said[1], arguments='{"command":"pwd"}')
    said.insert(1, Text("new"))
    messages = [conversation.messages[0], conversation.messages[1].with_parts(said), conversation.messages[2]]
    parts = rebuilt(conversation, messages)["messages"][1]["parts"]
    assert [p.get("text", p["type"]) for p in parts] == ["step-start", "changed", "new", "tool", "last", "step-finish"]
    assert parts[3]["state"]["input"] == {"command": "pwd"}


def test_a_result_may_become_an_error_and_a_turn_may_be_empty(export):
    export.user("go")
    export.says(tool("c1"))
    export.turn("assistant")
    conversation = export.read()
    failed = replace(conversation.messages[2].results[0], is_error=True)
    messages = [*conversation.messages[:2], conversation.messages[2].with_parts([failed])]
    state = rebuilt(conversation, messages)["messages"][1]["parts"][1]["state"]
    assert (state["status"], state["error"], "output" in state) == ("error", "out", False)


def test_a_call_whose_result_is_gone_is_pending_again(export):
    export.user("go")
    export.says(tool("c1"))
    conversation = export.read()
    again = load(OPENCODE.write(conversation.with_messages(conversation.messages[:2])))
    assert [m.role for m in again.messages] == ["user", "assistant"]


def test_turns_of_messages_that_are_gone_are_dropped(export):
    export.user("one")
    export.says("1")
    export.user("two")
    conversation = export.read()
    assert [t["info"]["id"] for t in rebuilt(conversation, conversation.messages[2:])["messages"]] == ["msg_2"]


CHECKPOINT = Message("user", Origin.SUMMARY, (Text("all so far"),))


def in_its_order(data: bytes) -> bytes:
    """The export as opencode itself gives it: sorted by time and id."""
    value = json.loads(data)
    value["messages"].sort(key=lambda turn: (turn["info"]["time"]["created"], turn["info"]["id"]))
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("mark", "left"), [({}, ["three"]), ({"tail_start_id": "tail"}, ["two", "2", "three"])], ids=["all", "tail"]
)
def test_a_checkpoint_in_the_place_of_a_compaction_undoes_it(export, mark, left):
    conversation = folded(export, **mark).read()
    data = OPENCODE.write(conversation.with_messages([CHECKPOINT, *conversation.messages[2:]]))
    again = load(data)
    assert texts(again) == ["all so far", *left]
    assert again.messages[0].origin is Origin.SUMMARY
    assert again.compactions == ()
    assert texts(load(in_its_order(data))) == texts(again)
    assert "one" not in texts(load(data, "all"))  # what it had hidden does not come back


def test_a_compaction_is_undone_as_well_when_its_summary_is_gone(export):
    conversation = folded(export).read()
    assert texts(load(OPENCODE.write(conversation.with_messages(conversation.messages[2:])))) == ["three"]


def test_a_question_that_outlives_its_compaction_is_plain_words(export):
    conversation = folded(export, tail_start_id="tail").read()
    asked, _, two, *_ = conversation.messages
    data = OPENCODE.write(conversation.with_messages([asked, CHECKPOINT, two]))
    again = load(data)
    assert texts(again) == ["What did we do so far?", "all so far", "two"]
    assert [m.origin for m in again.messages] == [Origin.PROGRAM, Origin.SUMMARY, Origin.USER]
    assert texts(load(in_its_order(data))) == texts(again)
    assert b'"compaction"' not in data


def test_a_summary_that_outlives_its_compaction_is_still_one(export):
    conversation = folded(export, tail_start_id="tail").read()
    again = load(OPENCODE.write(conversation.with_messages([CHECKPOINT, *conversation.messages[1:]])))
    assert texts(again) == ["all so far", "so far", "two", "2", "three"]
    assert again.messages[1].origin is Origin.SUMMARY


def test_a_change_beside_a_compaction_leaves_it_alone(export):
    folded(export, tail_start_id="tail")
    export.says("3")
    conversation = export.read()
    made = [*conversation.messages[:-1], CHECKPOINT]
    data = OPENCODE.write(conversation.with_messages(made))
    assert texts(load(data)) == [m.text for m in made]
    assert texts(load(data, "all"))[:2] == ["one", "1"]


def test_messages_made_here_are_turns_of_their_own(export):
    export.user("one")
    conversation = export.read()
    made = (
        Message("user", Origin.SUMMARY, (Text("so far"),)),
        Message("assistant", Origin.ASSISTANT, (Thinking("hm"), Text("calling"), ToolCall("c1", "bash", "{}"))),
        Message("tool", Origin.TOOL, (ToolResult("c1", (Text("out"), Media("image", "image/png", "AA"))),)),
        Message("user", Origin.USER, (Media("image", "image/png", url="https://x/y"),)),
    )
    data = OPENCODE.write(conversation.append(*made))
    assert data == OPENCODE.write(conversation.append(*made))
    again = load(data)
    assert [m.role for m in again.messages] == ["user", "user", "assistant", "tool", "user"]
    assert again.messages[1].origin is Origin.SUMMARY
    assert again.messages[3].results[0].content[0] == Text("out")
    assert again.messages[4].parts[0].url == "https://x/y"


@given(st.integers(0, 4), st.sets(st.integers(0, 4)), st.integers(1, 3))
def test_messages_made_here_stand_where_opencode_sorts_them_and_hold_what_it_demands(place, left, folds):
    export = Export()
    for n in range(5):
        asked = export.user(str(n), agent="build", model={"providerID": "p", "modelID": "m"})
        export.says(str(n), parentID=asked, providerID="p", mode="build", agent="build", path={"cwd": "/", "root": "/"})
    conversation = export.read()
    for _ in range(folds):
        kept = [m for m in conversation.messages if m.text.isdigit() and int(m.text) in left]
        made = [Message(role, Origin.SUMMARY, (Text(f"as {role}"), Text("more"))) for role in ("user", "assistant")]
        conversation = load(OPENCODE.write(conversation.with_messages([*kept[:place], *made, *kept[place:]])))
        turns = [json.loads(row) for row in conversation.layout.rows]
        places = [(turn["info"]["time"]["created"], turn["info"]["id"]) for turn in turns]
        assert places == sorted(set(places))
        assert max(len(name) for _, name in places) <= len("msg_0") + 12  # not longer with every fold
        for turn in (turn for turn in turns if turn["parts"][0].get("text", "").startswith("as ")):
            assert [part["text"] for part in sorted(turn["parts"], key=lambda part: part["id"])][1] == "more"
            demanded = {
                "user": {"agent", "model"},
                "assistant": {"parentID", "modelID", "mode", "path", "cost", "tokens"},
            }
            assert demanded[turn["info"]["role"]] <= turn["info"].keys()


def test_a_conversation_made_from_nothing_is_written(export):
    made = [
        Message("user", Origin.USER, (Text("go"), Opaque("x", {"type": "x"}))),
        Message("tool", Origin.TOOL, (ToolResult("c", (Text("lost"),)),)),
    ]
    base = replace(export.read(), layout=None)
    again = load(OPENCODE.write(base.with_messages(made)))
    assert [m.text for m in again.messages] == ["go", "lost"]


@pytest.mark.parametrize("value", [{}, {"messages": 5}, {"messages": [5]}, {"messages": [{"info": {}}]}])
def test_what_is_no_export_is_refused(value):
    data = json.dumps(value).encode()
    with pytest.raises(MalformedInput):
        OPENCODE.read(Source(data), value)


@pytest.mark.parametrize("state", [{"status": "running", "time": {"start": 5}}, {"status": "pending", "raw": ""}])
def test_a_result_made_here_goes_into_the_part_of_its_call(export, state):
    export.user("go")
    call = {"type": "tool", "callID": "c2", "tool": "bash", "state": {"input": {}, **state}}
    asked = export.says("calling", tool("c1"), call)
    conversation = export.read()
    for form in ({}, {"is_error": True}):
        made = Message("tool", Origin.TOOL, (ToolResult("c2", (Text("nothing"),), name="bash", **form),))
        data = OPENCODE.write(conversation.append(made))
        again = load(data)
        assert [m.role for m in again.messages] == ["user", "assistant", "tool", "tool"]
        assert again.messages[3].results[0].text == "nothing"
        assert [turn["info"]["id"] for turn in json.loads(data)["messages"]] == ["msg_0", asked]
        done = json.loads(data)["messages"][1]["parts"][3]["state"]
        assert {"start", "end"} == done["time"].keys()
        assert "raw" not in done


def test_no_two_parts_share_an_id_though_words_were_moved(export):
    export.user("one")
    export.user("two")
    conversation = export.read()
    moved = replace(conversation.messages[1], raw=None, rows=())
    data = OPENCODE.write(conversation.with_messages([*conversation.messages, moved]))
    parts = [part for turn in json.loads(data)["messages"] for part in turn["parts"]]
    assert len({part["id"] for part in parts}) == len(parts) == 3
    assert all(
        part["messageID"] == turn["info"]["id"] for turn in json.loads(data)["messages"] for part in turn["parts"]
    )


SIZE = {"total": 90, "input": 50, "output": 10, "reasoning": 5, "cache": {"read": 20, "write": 10}}
NOTHING = {"total": 0, "input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def sized(export: Export, **mark) -> Export:
    for number in range(3):
        export.user(f"ask {number}")
        end = {"type": "step-finish", "cost": 2, "tokens": SIZE}
        export.says(f"answer {number}", end, tool(f"c{number}"), cost=1, tokens=SIZE)
        if mark and number == 1:
            export.fold("so far", **mark)
    return export


@pytest.mark.parametrize(("changed", "sizes"), [(0, [NOTHING] * 3), (3, [SIZE, NOTHING, NOTHING])])
def test_from_the_first_change_on_no_answer_says_how_large_the_context_was(export, changed, sizes):
    conversation = sized(export).read()
    messages = list(conversation.messages)
    messages[changed] = messages[changed].with_parts([Text("shorter")])
    answers = rebuilt(conversation, messages)["messages"][1::2]
    assert [turn["info"]["tokens"] for turn in answers] == sizes
    assert [turn["parts"][2]["tokens"] for turn in answers] == sizes
    assert [(turn["info"]["cost"], turn["parts"][2]["cost"]) for turn in answers] == [(1, 2)] * 3
    assert [turn["parts"][3] for turn in answers] == [turn["parts"][3] for turn in export.turns[1::2]]


def test_what_a_compaction_kept_stands_behind_its_summary_also_where_sizes_are_told(export):
    conversation = sized(export, tail_start_id="msg_2").read()
    messages = list(conversation.messages)
    assert messages[2].text == "ask 1"
    messages[2] = messages[2].with_parts([Text("shorter")])
    turns = rebuilt(conversation, messages)["messages"]
    assert [turn["info"]["tokens"] for turn in turns if "tokens" in turn["info"]] == [SIZE, NOTHING, NOTHING]


def test_answers_to_a_turn_that_is_gone_hang_on_the_checkpoint(export):
    asked = export.user("one")
    export.says("1", parentID=asked)
    export.says("2", parentID=asked)
    other = export.user("two")
    export.says("3", parentID=other)
    conversation = export.read()
    turns = rebuilt(conversation, [CHECKPOINT, *conversation.messages[2:]])["messages"]
    checkpoint = turns[0]["info"]["id"]
    assert [turn["info"].get("parentID") for turn in turns] == [None, checkpoint, None, other]
    alone = rebuilt(conversation, conversation.messages[1:2])["messages"]
    assert [turn["info"]["parentID"] for turn in alone] == [asked]


kinds = st.sampled_from(["user", "beside", "says", "steps", "failed"])


@given(st.lists(kinds, max_size=6), st.data())
def test_what_is_left_of_the_turns_is_read_again(chosen, data):
    export = Export()
    for n, kind in enumerate(chosen):
        match kind:
            case "user":
                export.user(str(n))
            case "beside":
                export.user(str(n), text("file", synthetic=True))
            case "says":
                export.says(str(n), tool(f"c{n}"))
            case "steps":
                export.says(tool(f"c{n}"), {"type": "step-start"}, tool(f"d{n}"))
            case "failed":
                export.says(str(n), error={"name": "APIError"})
    conversation = export.read()
    rows = {m.rows for m in conversation.messages}
    left = {row for row in rows if data.draw(st.booleans())}
    kept = [m for m in conversation.messages if m.rows in left]
    again = load(OPENCODE.write(conversation.with_messages(kept)))
    assert [m.parts for m in again.messages] == [m.parts for m in kept]


@given(st.lists(st.sampled_from(["user", "says", "fold", "tail"]), max_size=10), st.booleans(), st.data())
def test_a_view_with_a_checkpoint_anywhere_is_read_again(chosen, checkpoint, data):
    export = Export()
    for n, kind in enumerate(chosen):
        match kind:
            case "user":
                export.user(str(n))
            case "says":
                export.says(str(n), tool(f"c{n}"), parentID=f"msg_{max(0, len(export.turns) - 1)}")
            case "fold":
                export.fold(str(n))
            case "tail":
                export.fold(str(n), tail_start_id=f"msg_{data.draw(st.integers(0, n))}")
    conversation = export.read()
    rows = sorted({m.rows for m in conversation.messages})
    left = {row for row in rows if data.draw(st.booleans())}
    view = [m for m in conversation.messages if m.rows in left]
    places = [n for n in range(len(view) + 1) if n == len(view) or view[n].role != "tool"]
    if checkpoint:
        view.insert(data.draw(st.sampled_from(places)), CHECKPOINT)
    written = OPENCODE.write(conversation.with_messages(view))
    for form in (written, in_its_order(written)):
        again = load(form)
        assert [(m.role, m.text, m.calls) for m in again.messages] == [(m.role, m.text, m.calls) for m in view]
    names = [turn["info"]["id"] for turn in json.loads(written)["messages"]]
    assert len(set(names)) == len(names)
