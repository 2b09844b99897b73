"""Chat Completions requests: what comes in goes out, typed on the way."""

from __future__ import annotations

import pytest

from dialects.helpers import (
    assert_object_survives,
    assert_parts_suffice,
    read,
)
from foldline.dialects import jsontext
from foldline.dialects.chat_content import write_block
from foldline.dialects.openai_chat import OpenAIChat
from foldline.errors import MalformedInput
from foldline.model import Media, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult
from foldline.validators import check

DIALECT = OpenAIChat()


def test_an_assistant_message_becomes_parts():
    element = {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "hm",
        "refusal": "but not there",
        "audio": {"id": "a1", "data": "AA"},
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}, "index": 0},
            {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
            {"id": "c3", "function": {"name": "run", "arguments": {"cmd": "ls"}}},
            {"type": "function"},
        ],
    }
    message = DIALECT.parse(element)
    thinking, text, refusal, audio, function, custom, untyped, other = message.parts
    assert (message.role, message.origin) == ("assistant", Origin.ASSISTANT)
    assert (thinking, text) == (Thinking("hm"), Text("I look."))
    assert (refusal.text, audio.kind, audio.data) == ("but not there", "audio", "AA")
    assert function == ToolCall("c1", "read", '{"a": 1}', {"index": 0})
    assert (custom.id, custom.name, custom.arguments) == ("c2", "patch", "*** Begin")
    assert (untyped.id, untyped.parsed()) == ("c3", {"cmd": "ls"})
    assert type(other) is Opaque
    assert_object_survives(DIALECT, element)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_read_under_each_name(field):
    element = {"role": "assistant", "content": "x", field: "hm", "reasoning_details": [{"data": "enc"}]}
    thinking = DIALECT.parse(element).parts[0]
    assert (thinking.text, thinking.seal) == ("hm", '[{"data":"enc"}]')
    assert_object_survives(DIALECT, element)


def test_sealed_reasoning_without_text_is_thinking_too():
    element = {"role": "assistant", "content": "x", "reasoning": None, "reasoning_details": [{"data": "enc"}]}
    assert DIALECT.parse(element).parts[0].seal == '[{"data":"enc"}]'
    assert_object_survives(DIALECT, element)


@pytest.mark.parametrize(
    ("role", "ours", "origin"),
    [
        ("system", "system", Origin.SYSTEM),
        ("developer", "system", Origin.SYSTEM),
        ("user", "user", Origin.USER),
        ("assistant", "assistant", Origin.ASSISTANT),
        ("narrator", "user", Origin.PROGRAM),
    ],
)
def test_roles(role, ours, origin):
    message = DIALECT.parse({"role": role, "content": "x"})
    assert (message.role, message.origin) == (ours, origin)
    assert DIALECT.build(message) == {"role": role, "content": "x"}


def test_media_keep_their_kind():
    content = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
        {"type": "image_url", "image_url": "https://x.test/b.png"},
        {"type": "input_audio", "input_audio": {"data": "BB", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,CC", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_id": "f1"}},
    ]
    message = DIALECT.parse({"role": "user", "content": content})
    assert [(p.kind, p.mime, p.data, p.url) for p in message.parts] == [
        ("image", "image/png", "AAAA", ""),
        ("image", "", "", "https://x.test/a.png"),
        ("image", "", "", "https://x.test/b.png"),
        ("audio", "audio/wav", "BB", ""),
        ("document", "application/pdf", "CC", ""),
        ("document", "", "", ""),
    ]
    assert DIALECT.build(message)["content"] == content


def test_a_result_is_the_tools_word():
    message = DIALECT.parse({"role": "tool", "tool_call_id": "c1", "content": "done", "name": "read"})
    assert (message.role, message.origin) == ("tool", Origin.TOOL)
    assert message.parts == (ToolResult("c1", (Text("done"),), name="read", form="string"),)
    lost = DIALECT.parse({"role": "tool", "content": "whose?"})
    assert (lost.origin, lost.results) == (Origin.TOOL, ())


LEGACY = [
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": None, "function_call": {"name": "get", "arguments": "{}"}},
    {"role": "function", "name": "get", "content": "rain"},
    {"role": "assistant", "content": None, "function_call": {"name": "get", "arguments": "{}"}},
    {"role": "function", "name": "get", "content": "sun"},
    {"role": "function", "name": "put", "content": "orphan"},
]


def test_legacy_calls_are_paired_and_left_without_ids():
    messages = read(DIALECT, LEGACY).messages
    assert messages[1].calls[0].id == messages[2].results[0].call_id
    assert messages[3].calls[0].id == messages[4].results[0].call_id
    assert len({m.calls[0].id for m in (messages[1], messages[3])} | {messages[5].results[0].call_id}) == 3
    assert_parts_suffice(DIALECT, LEGACY)


def test_a_result_made_for_a_legacy_call_is_a_function_message():
    call = read(DIALECT, LEGACY).messages[1].calls[0]
    made = DIALECT.build(Message("tool", Origin.TOOL, (ToolResult(call.id, (Text("none"),)),)))
    assert made == {"role": "function", "name": "get", "content": "none"}


@pytest.mark.parametrize(
    "element",
    [
        {"role": "assistant", "content": [], "tool_calls": [], "function_call": None, "audio": None, "refusal": ""},
        {
            "role": "assistant",
            "tool_calls": [{"id": "foldline-call-0-x", "type": "function", "function": {"name": "x"}}],
        },
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "", "function": {"name": "x", "arguments": "{}"}}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "x"}}, {"id": "d", "function": {"name": "x"}}],
        },
        {"role": "tool", "tool_call_id": "foldline-call-0-x", "content": "x"},
        {"role": "function", "name": "", "content": None},
        {
            "role": "user",
            "content": [{"type": "tool_calls", "value": 1}, {"type": "message.refusal", "text": "x"}, "x"],
        },
        {"role": "user", "content": "x", "tool_calls": [{"id": "c"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:;base64,AA"}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.test/?;base64,AA"}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "data:;base64,AA"}}]},
        {
            "role": "user",
            "content": [{"type": "image_url"}, {"type": "input_audio"}, {"type": "file"}, {"type": "text"}],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no", "x": 1}, {"type": "refusal"}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "", "filename": None}}]},
    ],
)
def test_odd_elements_survive(element):
    assert_object_survives(DIALECT, element)
    assert_parts_suffice(DIALECT, [element])


MADE = (
    Message("user", Origin.SUMMARY, (Text("so far"),)),
    Message("assistant", Origin.ASSISTANT, (Text("x"), ToolCall("c1", "read", "{}"), ToolCall("c2", "read", "{}"))),
    Message("user", Origin.TOOL, (ToolResult("c1", (Text("x"),)), ToolResult("c2", ()), Text("go on"))),
    Message("assistant", Origin.ASSISTANT, (ToolCall("c3", "read", "{}"),)),
    Message("tool", Origin.TOOL, (ToolResult("c3", (Text("a"), Text("b"))),)),
)


def test_made_messages_are_legal():
    conversation = read(DIALECT, {"messages": []}).with_messages(MADE)
    written = jsontext.decode(DIALECT.write(conversation))
    assert check(written, "openai-chat") == []
    assert [m["role"] for m in written["messages"]] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
        "tool",
    ]
    assert written["messages"][5]["content"] is None
    assert written["messages"][3]["content"] == ""


def test_made_media_are_written_by_kind():
    parts = (Media("image", "image/png", "AA"), Media("audio", "audio/mp3", "BB"), Media("document", "", "CC"))
    assert DIALECT.build(Message("user", Origin.USER, parts))["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        {"type": "input_audio", "input_audio": {"data": "BB", "format": "mp3"}},
        {"type": "file", "file": {"file_data": "CC"}},
    ]


def test_a_part_that_is_no_content_is_refused():
    with pytest.raises(TypeError, match="ToolCall is no content of a chat message"):
        write_block(ToolCall("c", "read", "{}"))


def test_a_message_that_makes_several_is_not_built_as_one():
    with pytest.raises(MalformedInput, match="makes 3 openai-chat messages"):
        DIALECT.build(MADE[2])


def test_the_head_says_what_counts():
    functions = [{"type": "function", "function": {"name": "read"}}]
    request = {"model": "m", "tools": functions, "functions": [{"name": "old"}], "max_tokens": 5}
    head = DIALECT.head(request | {"max_completion_tokens": 7, "reasoning_effort": "low"})
    assert (head.model, head.max_output, head.thinking) == ("m", 7, True)
    assert [tool.name for tool in head.tools] == ["read", "old"]
    assert DIALECT.head(request).max_output == 5
    assert not DIALECT.head({"reasoning_effort": "none"}).thinking


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ([{"role": "user", "content": "hi"}], 40),
        ([{"role": "system", "content": "x"}, {"role": "user", "content": "hi"}], 75),
        ({"messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 5}, 75),
        ({"messages": [], "tools": [{"type": "function", "function": {}}]}, 75),
        ([{"role": "tool", "tool_call_id": "x", "content": ""}], 95),
        ([{"role": "user", "content": [{"type": "image_url"}]}], 95),
        ([{"role": "user", "content": [{"type": "tool_result"}]}], 0),
        ([{"role": "user", "content": [{"type": "input_text"}]}], 0),
        ([{"role": "model", "parts": []}], 0),
        ({"input": []}, 0),
    ],
)
def test_fits(value, score):
    assert DIALECT.fits(value) == score
