"""Anthropic requests: what comes in goes out, typed on the way."""

from __future__ import annotations

import pytest

from dialects.helpers import assert_object_survives
from foldline.dialects.anthropic import Anthropic
from foldline.model import Media, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult
from foldline.validators import check

DIALECT = Anthropic()


def test_blocks_become_parts():
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "enc"},
        {"type": "text", "text": "I look.", "cache_control": {"type": "ephemeral"}},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}, "caller": None},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    ]
    message = DIALECT.parse({"role": "assistant", "content": content})
    assert message.origin is Origin.ASSISTANT
    assert message.parts == (
        Thinking("hm", "sig"),
        Thinking("", "enc", {"type": "redacted_thinking"}),
        Text("I look.", {"cache_control": {"type": "ephemeral"}}),
        ToolCall("t1", "read", '{"path":"a.py"}', {"caller": None}),
        Opaque("server_tool_use", content[4]),
    )
    assert_object_survives(DIALECT, {"role": "assistant", "content": content})


def test_results_are_the_tools_word():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    blocks = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "done"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [image], "is_error": True},
        {"type": "tool_result", "tool_use_id": "t3"},
    ]
    message = DIALECT.parse({"role": "user", "content": blocks})
    assert message.origin is Origin.TOOL
    assert [result.call_id for result in message.results] == ["t1", "t2", "t3"]
    assert message.results[0].content == (Text("done"),)
    assert message.results[1].is_error
    assert message.results[1].content[0].data == "AA"
    assert message.results[2].content == ()


def test_a_user_beside_results_stays_the_user():
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    message = DIALECT.parse({"role": "user", "content": [block, {"type": "text", "text": "thanks"}]})
    assert message.origin is Origin.USER


@pytest.mark.parametrize(
    "element",
    [
        {"role": "system", "content": "mid-conversation"},
        {"content": "nobody says it"},
        {"role": ["user"], "content": "x"},
        {"role": "user", "content": None},
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": ""}}]},
        {"role": "user", "content": [{"type": "not-an-object", "value": 1}, 7, {"type": []}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": None, "is_error": False}]},
        {"a": 1, "b": 2},
        {"role": "assistant", "content": [{"type": "thinking"}, {"type": "redacted_thinking"}, {"type": "tool_use"}]},
        {"role": "user", "content": [{"type": "tool_result"}, {"type": "image"}, {"type": "text", "text": 3}]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]},
    ],
)
def test_odd_elements_survive(element):
    assert_object_survives(DIALECT, element)
    DIALECT.fits([element])


def test_a_stub_replaces_content_that_was_null():
    message = DIALECT.parse({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": None}]})
    changed = message.with_parts([ToolResult("t", (Text("stub"),), form="other", extra=message.results[0].extra)])
    assert DIALECT.build(changed)["content"][0]["content"] == [{"type": "text", "text": "stub"}]


def test_made_messages_are_legal():
    made = [
        Message("user", Origin.SUMMARY, (Text("so far"),)),
        Message("assistant", Origin.ASSISTANT, (Text("x"), ToolCall("t1", "read", "{}"))),
        Message("user", Origin.TOOL, (ToolResult("t1", (Text("x"),)),)),
    ]
    assert check([DIALECT.build(message) for message in made], "anthropic") == []
    assert DIALECT.build(Message("tool", Origin.TOOL, (ToolResult("t1", (Text("x"),)),)))["role"] == "user"
    assert DIALECT.build(Message("user", Origin.USER, (Media("image", url="https://x.test/a.png"),)))["content"] == [
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}
    ]


def test_the_head_says_what_counts():
    head = DIALECT.head(
        {
            "model": "claude-haiku-4-5",
            "system": "be brief",
            "tools": [{"name": "read", "input_schema": {}}, {"type": "web_search_20250305"}, 3],
            "max_tokens": 9,
            "thinking": {"type": "enabled", "budget_tokens": 5},
        }
    )
    assert (head.model, head.system, head.max_output, head.thinking) == (
        "claude-haiku-4-5",
        (Text("be brief"),),
        9,
        True,
    )
    assert [tool.name for tool in head.tools] == ["read", "web_search_20250305", ""]
    assert not DIALECT.head({"thinking": {"type": "disabled"}}).thinking
    assert DIALECT.head({}).system == ()


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ([{"role": "user", "content": "hi"}], 30),
        ({"system": "x", "messages": [{"role": "user", "content": "hi"}]}, 70),
        ({"model": "claude-x", "messages": [{"role": "user", "content": "hi"}]}, 70),
        ([{"role": "assistant", "content": [{"type": "tool_use"}]}], 95),
        ([{"role": "system", "content": "x"}, {"role": "user", "content": "hi"}], 0),
        ([{"role": "system", "content": "x"}, {"role": "user", "content": [{"type": "tool_result"}]}], 95),
        ([{"role": "assistant", "tool_calls": []}], 0),
        ({"contents": []}, 0),
        ("text", 0),
    ],
)
def test_fits(value, score):
    assert DIALECT.fits(value) == score
