"""Codex rollouts: items, compactions that replace history, and how changes go back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.dialects.base import Source
from foldline.dialects.codex import Codex
from foldline.model import Message, Opaque, Origin, Text, ToolCall, ToolResult

CODEX = Codex()


class Rollout:
    def __init__(self) -> None:
        self.rows: list[dict] = []

    def row(self, type_: str, **payload) -> Rollout:
        self.rows.append({"timestamp": f"t{len(self.rows)}", "type": type_, "payload": payload})
        return self

    def item(self, **payload) -> Rollout:
        return self.row("response_item", **payload)

    def user(self, said: str) -> Rollout:
        return self.item(**message("user", said))

    def says(self, said: str) -> Rollout:
        return self.item(**message("assistant", said))

    def compacted(self, items, summary: str = "") -> Rollout:
        return self.row("compacted", message=summary, replacement_history=items)

    def data(self) -> bytes:
        return b"".join(json.dumps(row).encode() + b"\n" for row in self.rows)

    def read(self, history="live"):
        return load(self.data(), history)


def load(data: bytes, history="live"):
    conversation = CODEX.read_lines(Source(b"", name="x"), data.splitlines(keepends=True), history)
    assert CODEX.write(conversation) == data
    return conversation


def message(role: str, said: str) -> dict:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": said}]}


def texts(conversation) -> list[str]:
    return [m.text for m in conversation.messages]


def records(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


@pytest.fixture
def rollout() -> Rollout:
    return Rollout()


def test_items_are_messages_and_events_only_repeat_them(rollout):
    rollout.row("session_meta", id="s", base_instructions={"text": "be good"})
    rollout.row("turn_context", model="gpt-x", effort="high")
    rollout.user("hello").row("event_msg", type="user_message", message="hello")
    rollout.row("event_msg", type="agent_message", message="hi").says("hi")
    conversation = rollout.read()
    assert texts(conversation) == ["hello", "hi"]
    assert conversation.head.model == "gpt-x"
    assert conversation.head.system == (Text("be good"),)
    assert conversation.head.thinking
    assert [m.rows for m in conversation.messages] == [(2,), (5,)]


def test_calls_and_outputs_are_items_of_their_own(rollout):
    rollout.user("go")
    rollout.item(type="reasoning", summary=[], encrypted_content="xxx")
    rollout.item(type="function_call", name="shell", arguments="{}", call_id="c1")
    rollout.item(type="function_call_output", call_id="c1", output="out")
    kinds = [type(m.parts[0]).__name__ for m in rollout.read().messages]
    assert kinds == ["Text", "Thinking", "ToolCall", "ToolResult"]


def test_a_fork_keeps_the_instructions_of_its_own_session(rollout):
    rollout.row("session_meta", id="child", base_instructions={"text": "mine"})
    rollout.row("session_meta", id="parent", base_instructions={"text": "theirs"})
    assert rollout.user("hello").read().head.system == (Text("mine"),)


def test_the_window_the_agent_counted_with_is_told(rollout):
    info = {"last_token_usage": {"total_tokens": 70}, "model_context_window": 1000}
    rollout.user("hello").row("event_msg", type="token_count", info=info).row(
        "event_msg", type="token_count", info=None
    )
    notices = rollout.read().notices
    assert [n.code for n in notices] == ["window"]
    assert "1000" in notices[0].text


@pytest.mark.parametrize(
    ("said", "origin"),
    [
        ("hello", Origin.USER),
        ("<environment_context>\n", Origin.PROGRAM),
        ("# AGENTS.md instructions for /w", Origin.PROGRAM),
        ("<user_shell_command>ls", Origin.TOOL),
    ],
)
def test_who_speaks_in_a_user_item(rollout, said, origin):
    assert rollout.user(said).read().messages[0].origin is origin


def compacted(rollout: Rollout) -> Rollout:
    rollout.user("first").says("one")
    rollout.row("event_msg", type="token_count", info={"last_token_usage": {"total_tokens": 70}})
    rollout.compacted([message("user", "first"), message("user", "Summary: so far")], "so far")
    return rollout.user("second").says("two")


def test_a_compaction_replaces_what_was_before_it(rollout):
    conversation = compacted(rollout).read()
    assert texts(conversation) == ["first", "Summary: so far", "second", "two"]
    assert conversation.messages[1].origin is Origin.SUMMARY
    assert [m.rows for m in conversation.messages] == [(3,), (3,), (4,), (5,)]


def test_the_whole_history_counts_what_a_compaction_repeats_once(rollout):
    conversation = compacted(rollout).read("all")
    assert texts(conversation) == ["first", "one", "Summary: so far", "second", "two"]
    fold = conversation.compactions[0]
    assert (fold.at, fold.summary, fold.kept, fold.tokens_before) == (2, "so far", (0,), 70)
    assert rollout.read("live").compactions == conversation.compactions


def test_an_encrypted_compaction_stays_whole(rollout):
    rollout.user("first").compacted([message("user", "first"), {"type": "compaction", "encrypted_content": "gAAA"}])
    part = rollout.read().messages[1].parts[0]
    assert isinstance(part, Opaque)
    assert part.extra["encrypted_content"] == "gAAA"
    assert rollout.read("all").compactions[0].at == 1


def test_a_compaction_without_a_list_stands_for_itself(rollout):
    rollout.user("first").row("compacted", message="so far").user("second")
    conversation = rollout.read()
    assert texts(conversation) == ["so far", "second"]
    assert conversation.notices[0].code == "summary-only"
    changed = [conversation.messages[0].with_parts([Text("shorter")]), conversation.messages[1]]
    assert texts(load(CODEX.write(conversation.with_messages(changed)))) == ["shorter", "second"]


def test_a_compaction_without_a_list_whose_summary_is_gone_says_nothing(rollout):
    conversation = rollout.user("first").row("compacted", message="so far").user("second").read()
    made = Message("user", Origin.SUMMARY, (Text("all so far"),))
    data = CODEX.write(conversation.with_messages([made, conversation.messages[1]]))
    assert texts(load(data)) == ["all so far", "second"]
    compaction = records(data)[1]["payload"]
    assert (compaction["message"], compaction["replacement_history"]) == ("", [])  # Codex loads nothing from before it
    assert texts(load(CODEX.write(conversation.with_messages(conversation.messages[1:])))) == ["second"]


def test_a_compaction_without_a_list_lists_what_was_put_before_its_summary(rollout):
    conversation = rollout.user("first").row("compacted", message="so far").user("second").read()
    made = Message("user", Origin.PROGRAM, (Text("made"),))
    again = load(CODEX.write(conversation.with_messages([made, *conversation.messages])))
    assert [(m.text, m.origin) for m in again.messages][:2] == [("made", Origin.USER), ("so far", Origin.SUMMARY)]


def test_a_compaction_without_a_list_is_left_alone_while_it_says_the_same(rollout):
    conversation = rollout.user("first").row("compacted", message="so far").user("second").read()
    same = [replace(m, raw=None) for m in conversation.messages]
    assert records(CODEX.write(conversation.with_messages(same))) == rollout.rows


def test_turns_the_user_took_back_are_no_longer_live(rollout):
    rollout.user("one").says("1").user("two").says("2").row("event_msg", type="thread_rolled_back", num_turns=1)
    conversation = rollout.user("three").read()
    assert texts(conversation) == ["one", "1", "three"]
    assert conversation.notices[0].code == "left-behind"
    assert len(rollout.read("all")) == 5


@pytest.mark.parametrize(("turns", "left"), [(0, 2), (1, 0), (9, 0), ("x", 2)])
def test_taking_back_more_or_fewer_turns_than_there_are(rollout, turns, left):
    rollout.user("one").says("1").row("event_msg", type="thread_rolled_back", num_turns=turns)
    assert len(rollout.read()) == left


def test_messages_built_from_their_parts_are_the_same_rows(rollout):
    conversation = compacted(rollout).read()
    bare = conversation.with_messages([replace(m, raw=None) for m in conversation.messages])
    assert records(CODEX.write(bare)) == rollout.rows


def test_a_changed_item_changes_its_row_alone(rollout):
    conversation = compacted(rollout).read()
    messages = [
        *conversation.messages[:2],
        conversation.messages[2].with_parts([Text("other")]),
        conversation.messages[3],
    ]
    before, after = rollout.data().splitlines(), CODEX.write(conversation.with_messages(messages)).splitlines()
    assert [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [4]


def test_a_changed_message_of_a_compaction_is_written_inside_its_row(rollout):
    conversation = compacted(rollout).read()
    changed = replace(conversation.messages[1].parts[0], text="Summary: so far, shorter")
    messages = [conversation.messages[0], conversation.messages[1].with_parts([changed]), *conversation.messages[2:]]
    after = records(CODEX.write(conversation.with_messages(messages)))
    assert [i["content"][0]["text"] for i in after[3]["payload"]["replacement_history"]] == [
        "first",
        "Summary: so far, shorter",
    ]
    assert after[:3] + after[4:] == rollout.rows[:3] + rollout.rows[4:]


def test_items_a_compaction_repeats_stay_in_it_when_the_whole_history_was_read(rollout):
    conversation = compacted(rollout).read("all")
    messages = list(conversation.messages)
    messages[2] = messages[2].with_parts([Text("other")])
    after = records(CODEX.write(conversation.with_messages(messages)))
    first, other = after[3]["payload"]["replacement_history"]
    assert first == message("user", "first")
    assert other["content"][0]["text"] == "other"


def test_a_compaction_stays_though_all_its_messages_are_gone(rollout):
    conversation = compacted(rollout).read()
    again = load(CODEX.write(conversation.with_messages(conversation.messages[2:])))
    assert texts(again) == ["second", "two"]


def test_a_new_message_before_those_of_a_compaction_becomes_part_of_it(rollout):
    conversation = compacted(rollout).read()
    made = Message("user", Origin.PROGRAM, (Text("made"),))
    again = load(CODEX.write(conversation.with_messages([made, *conversation.messages[1:]])))
    assert texts(again) == ["made", "Summary: so far", "second", "two"]


def test_a_compaction_with_escapes_json_does_not_know_is_changed_all_the_same(rollout):
    data = compacted(rollout).data().replace(b"Summary: so far", rb"Summary: so far \d")
    conversation = load(data)
    assert conversation.messages[1].text == r"Summary: so far \d"
    again = load(CODEX.write(conversation.with_messages(conversation.messages[1:])))
    assert texts(again) == [r"Summary: so far \d", "second", "two"]


def test_new_messages_get_rows_of_their_own(rollout):
    conversation = compacted(rollout).read()
    made = (
        Message("assistant", Origin.ASSISTANT, (Text("calling"), ToolCall("c1", "shell", "{}"))),
        Message("tool", Origin.TOOL, (ToolResult("c1", (Text("out"),)),)),
    )
    data = CODEX.write(conversation.append(*made))
    again = load(data)
    assert [type(m.parts[0]) for m in again.messages[4:]] == [Text, ToolCall, ToolResult]
    assert records(data)[-1]["timestamp"] == "t5"


MADE = (
    Message("user", Origin.SUMMARY, (Text("so far"),)),
    Message("assistant", Origin.ASSISTANT, (Text("so far"),)),
    Message("user", Origin.USER, (Text("so far"),), form="string"),
    Message("user", Origin.USER, (Text("so far"),), form="easy-string"),
    Message("user", Origin.USER, (Text("so far"),), form="easy-blocks"),
)


@pytest.mark.parametrize("made", MADE)
def test_what_was_made_here_has_the_form_that_codex_loads(rollout, made):
    """Anything else it passes over: a `compacted` row with one such item as a whole."""
    conversation = compacted(rollout).read()
    first = conversation.messages[0]
    data = CODEX.write(conversation.with_messages([made, *conversation.messages, made]))
    rows = [row["payload"] for row in records(data)]
    assert rows[-1] == rows[3]["replacement_history"][0] == message(made.role, "so far")
    changed = replace(first, parts=made.parts, form=made.form, raw=None)
    data = CODEX.write(conversation.with_messages([changed, *conversation.messages[1:]]))
    assert records(data)[3]["payload"]["replacement_history"][0] == message("user", "so far")


@pytest.mark.parametrize("told", ["so far", None])
def test_a_summary_that_gets_a_list_has_the_form_that_codex_loads(rollout, told):
    conversation = rollout.user("first").row("compacted", message=told).read()
    made = Message("user", Origin.PROGRAM, (Text("made"),))
    listed = records(CODEX.write(conversation.with_messages([made, *conversation.messages])))[1]["payload"]
    assert listed["replacement_history"] == [message("user", "made"), message("user", told or "")]


USAGE = {"input_tokens": 90_000, "cached_input_tokens": 80_000, "output_tokens": 40, "total_tokens": 90_040}


def counted(rollout: Rollout) -> Rollout:
    for number in range(2):
        rollout.user(f"ask {number}").says(f"answer {number}")
        rollout.row("event_msg", type="token_count", info={"total_token_usage": USAGE, "last_token_usage": USAGE})
    return rollout.row("event_msg", type="agent_message", message="last_token_usage")


@pytest.mark.parametrize(("changed", "sizes"), [(0, [0, 0]), (2, [90_040, 0])])
def test_from_the_first_change_on_no_event_says_how_large_the_context_was(rollout, changed, sizes):
    conversation = counted(rollout).read()
    messages = list(conversation.messages)
    messages[changed] = messages[changed].with_parts([Text("shorter")])
    after = records(CODEX.write(conversation.with_messages(messages)))
    infos = [row["payload"]["info"] for row in after if row["payload"]["type"] == "token_count"]
    assert [info["last_token_usage"]["total_tokens"] for info in infos] == sizes
    assert infos[-1]["last_token_usage"] == dict.fromkeys(USAGE, 0)
    assert [info["total_token_usage"] for info in infos] == [USAGE, USAGE]
    assert after[-1] == rollout.rows[-1]


def test_a_conversation_made_from_nothing_is_written():
    made = Message("user", Origin.USER, (Text("go"),))
    assert texts(load(CODEX.write(replace(load(b""), layout=None).with_messages([made])))) == ["go"]


def test_a_payload_that_is_no_object_is_no_item(rollout):
    rollout.rows.append({"timestamp": "t", "type": "response_item", "payload": [1]})
    assert texts(rollout.user("hello").read()) == ["hello"]


@given(st.lists(st.sampled_from(["user", "says", "compacted", "bare"]), max_size=8), st.data())
def test_what_is_left_of_the_messages_is_read_again(kinds, data):
    rollout = Rollout()
    for n, kind in enumerate(kinds):
        if kind == "compacted":
            rollout.compacted([message("user", f"{n}a"), message("user", f"{n}b")])
        elif kind == "bare":
            rollout.row("compacted", message=str(n))
        else:
            getattr(rollout, kind)(str(n))
    conversation = rollout.read()
    kept = [m for m in conversation.messages if data.draw(st.booleans())]
    assert texts(load(CODEX.write(conversation.with_messages(kept)))) == [m.text for m in kept]


@given(st.lists(st.sampled_from(["user", "says", "compacted", "bare"]), min_size=1, max_size=8), st.data())
def test_a_view_in_any_order_with_a_checkpoint_anywhere_is_read_again(kinds, data):
    rollout = Rollout()
    for n, kind in enumerate(kinds):
        if kind == "compacted":
            rollout.compacted([message("user", f"{n}a"), message("developer", f"{n}b")])
        elif kind == "bare":
            rollout.row("compacted", message=str(n))
        else:
            getattr(rollout, kind)(str(n))
    conversation = rollout.read()
    view = [m for m in data.draw(st.permutations(conversation.messages)) if data.draw(st.booleans())]
    view.insert(data.draw(st.integers(0, len(view))), Message("user", Origin.SUMMARY, (Text("so far"),)))
    assert texts(load(CODEX.write(conversation.with_messages(view)))) == [m.text for m in view]


def test_a_system_message_from_mid_history_can_stand_before_an_older_user_message(rollout):
    conversation = rollout.user("go").item(**message("developer", "rules")).says("done").read()
    user, rules, _ = conversation.messages
    made = Message("user", Origin.SUMMARY, (Text("so far"),))
    again = load(CODEX.write(conversation.with_messages([rules, made, user])))
    assert [(m.role, m.text) for m in again.messages] == [("system", "rules"), ("user", "so far"), ("user", "go")]
