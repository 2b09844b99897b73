"""Responses requests: what comes in goes out, typed on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dialects.helpers import (
    assert_object_survives,
    assert_parts_suffice,
    read,
)
from foldline.dialects import jsontext
from foldline.dialects.openai_responses import OpenAIResponses, read_item, write_item
from foldline.dialects.responses_content import write_block
from foldline.errors import MalformedInput
from foldline.model import Media, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult
from foldline.validators import check

DIALECT = OpenAIResponses()


@pytest.mark.parametrize(
    ("item", "call"),
    [
        (
            {"type": "function_call", "call_id": "c", "name": "read", "arguments": '{"a": 1}', "id": "fc"},
            ToolCall("c", "read", '{"a": 1}', {"id": "fc"}),
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
            ToolCall("c", "patch", "*** Begin", {"type": "custom_tool_call"}),
        ),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}, "status": "completed"},
            ToolCall("c", "local_shell", '{"command":["ls"]}', {"status": "completed", "type": "local_shell_call"}),
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            ToolCall("c", "shell", '{"commands":["ls"]}', {"type": "shell_call"}),
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {"path": "a"}},
            ToolCall("c", "apply_patch", '{"path":"a"}', {"type": "apply_patch_call"}),
        ),
        (
            {"type": "computer_call", "call_id": "c", "actions": [{"type": "click"}]},
            ToolCall("c", "computer", '[{"type":"click"}]', {"type": "computer_call"}),
        ),
        (
            {"type": "computer_call", "call_id": "c", "action": {"type": "click"}},
            ToolCall("c", "computer", '{"type":"click"}', {"type": "computer_call"}),
        ),
        (
            {"type": "tool_search_call", "call_id": "c", "arguments": {"q": "x"}, "execution": "client"},
            ToolCall("c", "tool_search", '{"q":"x"}', {"execution": "client", "type": "tool_search_call"}),
        ),
    ],
)
def test_calls(item, call):
    message = read_item(item)
    assert (message.role, message.origin, message.parts) == ("assistant", Origin.ASSISTANT, (call,))
    assert write_item(message) == item


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"type": "function_call_output", "call_id": "c", "output": "done"}, "done"),
        ({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "done"}]}, "done"),
        ({"type": "custom_tool_call_output", "call_id": "c", "output": "done", "id": "o"}, "done"),
        ({"type": "local_shell_call_output", "call_id": "c", "output": "done"}, "done"),
        ({"type": "apply_patch_call_output", "call_id": "c", "status": "completed", "output": "done"}, "done"),
        (
            {
                "type": "shell_call_output",
                "call_id": "c",
                "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 1}}],
            },
            "a\nb",
        ),
        ({"type": "tool_search_output", "call_id": "c", "tools": [{"name": "x"}]}, ""),
        ({"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": None}, ""),
    ],
)
def test_outputs(item, text):
    message = read_item(item)
    assert (message.role, message.origin) == ("tool", Origin.TOOL)
    assert (message.results[0].call_id, message.results[0].text) == ("c", text)
    assert message.results[0].is_error is (item.get("status") == "failed")
    assert write_item(message) == item


def test_a_shell_stub_keeps_how_it_ended():
    outcome = {"type": "exit", "exit_code": 3}
    chunks = [{"stdout": "a", "stderr": "b", "outcome": outcome}, {"stdout": "c", "stderr": "", "outcome": outcome}]
    message = read_item({"type": "shell_call_output", "call_id": "c", "output": chunks})
    stubbed = write_item(message.with_parts([replace(message.results[0], content=(Text("stub"),))]))
    assert stubbed["output"] == [{"stdout": "stub", "stderr": "", "outcome": outcome}]


def test_a_screenshot_is_an_image():
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA"}
    item = {"type": "computer_call_output", "call_id": "c", "output": shot}
    message = read_item(item)
    assert message.results[0].content == (Media("image", "image/png", "AA", extra={"type": "computer_screenshot"}),)
    assert write_item(message) == item


def test_an_output_by_item_id_finds_its_call():
    items = [
        {"type": "local_shell_call", "id": "lsh", "call_id": "c", "action": {}, "status": "completed"},
        {"type": "local_shell_call_output", "id": "lsh", "output": "done"},
        {"type": "local_shell_call_output", "id": "other", "output": "done"},
        {"type": "local_shell_call_output", "output": "done"},
    ]
    messages = read(DIALECT, items).messages
    assert [r.call_id for m in messages for r in m.results] == ["c", "other"]
    assert_parts_suffice(DIALECT, items)


def test_reasoning_is_thinking():
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "first"}],
        "content": [{"type": "reasoning_text", "text": "then"}],
        "encrypted_content": "enc",
    }
    message = read_item(item)
    assert message.id == "rs"
    assert (message.parts[0].text, message.parts[0].seal) == ("first\n\nthen", "enc")
    assert write_item(message) == item
    masked = write_item(message.with_parts([replace(message.parts[0], text="***")]))
    assert masked == {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "***"}],
        "encrypted_content": "enc",
    }


SEALED = ("system", Origin.PROGRAM)
"""What only the provider can read stays where the system's messages do."""


@pytest.mark.parametrize(
    ("item", "role", "origin"),
    [
        ({"type": "web_search_call", "id": "ws", "action": {}}, "assistant", Origin.ASSISTANT),
        ({"type": "mcp_call", "id": "m", "output": "x"}, "assistant", Origin.ASSISTANT),
        ({"type": "compaction", "encrypted_content": "enc"}, "system", Origin.SUMMARY),
        ({"type": "compaction", "encrypted_content": None}, "assistant", Origin.SUMMARY),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "system", Origin.SYSTEM),
        ({"type": "configuration_update", "reasoning": {"effort": "low"}}, "system", Origin.SYSTEM),
        ({"type": "agent_message", "content": [{"type": "encrypted_content", "encrypted_content": "enc"}]}, *SEALED),
        ({"type": "agent_message", "content": [{"type": "input_text", "text": "x"}]}, "assistant", Origin.ASSISTANT),
        ({"type": "agent_message", "content": "x"}, "assistant", Origin.ASSISTANT),
        ({"type": "item_reference", "id": "x"}, "assistant", Origin.ASSISTANT),
        ({"type": "compaction_trigger"}, "user", Origin.PROGRAM),
        ({"type": "mcp_approval_response", "approve": True}, "user", Origin.USER),
        ({"type": "new_thing_output", "output": "x"}, "tool", Origin.TOOL),
        ({"type": "function_call_output", "output": "whose?"}, "tool", Origin.TOOL),
        ({"type": "tool_search_call", "call_id": None, "arguments": {}}, "assistant", Origin.ASSISTANT),
        ({"type": "message", "role": "narrator", "content": "x"}, "user", Origin.PROGRAM),
        ({"type": None, "role": "user", "content": "x"}, "user", Origin.PROGRAM),
        ({}, "user", Origin.PROGRAM),
    ],
)
def test_what_is_not_understood_stays_whole(item, role, origin):
    message = read_item(item)
    assert (message.role, message.origin) == (role, origin)
    assert [type(part) for part in message.parts] == [Opaque]
    assert write_item(message) == item


def test_messages_with_and_without_a_type():
    easy = read_item({"role": "user", "content": "hi"})
    typed = read_item({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "hi"}]})
    assert (easy.parts, typed.parts) == ((Text("hi"),), (Text("hi"),))
    assert (easy.origin, typed.role, typed.origin) == (Origin.USER, "system", Origin.SYSTEM)


def test_blocks_become_parts():
    content = [
        {"type": "output_text", "text": "a", "annotations": []},
        {"type": "refusal", "refusal": "no"},
        {"type": "input_text", "text": "odd here"},
        {"type": "input_image", "file_id": "f", "image_url": None},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"},
        {"type": "input_file", "file_url": "https://x.test/a.pdf"},
        {"type": "hologram"},
        "bare",
    ]
    item = {"type": "message", "role": "assistant", "content": content, "status": "completed"}
    message = read_item(item)
    assert message.text == "a\nno\nodd here"
    assert [(p.kind, p.mime, p.data, p.url) for p in message.parts if isinstance(p, Media)] == [
        ("image", "", "", ""),
        ("document", "application/pdf", "AA", ""),
        ("document", "", "", "https://x.test/a.pdf"),
    ]
    assert write_item(message) == item


@pytest.mark.parametrize("input_", ["hello", "", "\ud800"])
def test_a_plain_string_is_the_users_and_comes_back(input_):
    request = {"model": "m", "input": input_}
    conversation = read(DIALECT, request)
    assert [(m.role, m.text) for m in conversation.messages] == [("user", input_)]
    assert jsontext.decode(DIALECT.write(conversation)) == request
    assert_parts_suffice(DIALECT, request)


def test_a_plain_string_joins_a_list():
    conversation = read(DIALECT, {"input": "hello"})
    reply = Message("assistant", Origin.ASSISTANT, (Text("hi"),))
    written = jsontext.decode(DIALECT.write(conversation.append(reply)))
    assert [item["content"] for item in written["input"]] == ["hello", "hi"]
    assert check(written["input"], "openai-responses") == []


MADE = (
    Message("user", Origin.SUMMARY, (Text("so far"),)),
    Message("assistant", Origin.ASSISTANT, (Thinking("hm", "enc"), Text("x"), Text("y"), ToolCall("c1", "read", "{}"))),
    Message("tool", Origin.TOOL, (ToolResult("c1", (Text("x"),)),)),
)


def test_made_messages_are_legal():
    written = jsontext.decode(DIALECT.write(read(DIALECT, {"input": []}).with_messages(MADE)))
    assert check(written["input"], "openai-responses") == []
    kinds = [item["type"] for item in written["input"]]
    assert kinds == ["message", "reasoning", "message", "function_call", "function_call_output"]
    assert [block["type"] for block in written["input"][2]["content"]] == ["output_text", "output_text"]


def test_a_part_that_is_no_content_is_refused():
    with pytest.raises(TypeError, match="ToolCall is no content of a Responses message"):
        write_block(ToolCall("c", "read", "{}"), "user")


@pytest.mark.parametrize(
    "item",
    [
        {"type": "computer_call", "call_id": "c", "action": "click"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": {}},
        {"type": "shell_call_output", "call_id": "c", "output": []},
        {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "a"}]},
        {"type": "function_call_output", "call_id": "c", "output": {"type": "input_text", "text": "x"}},
        {"type": "function_call_output", "call_id": "c", "output": {"content": "x", "success": True}},
        {"type": "function_call_output", "call_id": "c", "output": []},
        {"type": "reasoning"},
        {"type": "message", "role": "user", "content": []},
        {"role": "user"},
    ],
)
def test_odd_items_survive(item):
    assert_object_survives(DIALECT, item)
    assert_parts_suffice(DIALECT, [item])


def test_a_message_that_makes_several_is_not_built_as_one():
    with pytest.raises(MalformedInput, match="makes 3 openai-responses messages"):
        write_item(MADE[1].with_parts((*MADE[1].parts[1:], ToolCall("c2", "read", "{}"))))


@pytest.mark.parametrize(
    ("call", "output"),
    [
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "p", "input": ""},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "lost"},
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {}},
            {"type": "apply_patch_call_output", "call_id": "c", "output": "lost", "status": "failed"},
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {}},
            {
                "type": "shell_call_output",
                "call_id": "c",
                "output": [{"stdout": "lost", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
            },
        ),
        (
            {"type": "tool_search_call", "call_id": "c", "arguments": {}},
            {
                "type": "tool_search_output",
                "call_id": "c",
                "tools": [],
                "execution": "client",
                "status": "completed",
            },
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""},
            {"type": "function_call_output", "call_id": "c", "output": "lost"},
        ),
    ],
)
def test_a_made_result_answers_in_the_manner_of_its_call(call, output):
    made = Message("tool", Origin.TOOL, (ToolResult("c", (Text("lost"),), is_error=True),))
    written = DIALECT.write(read(DIALECT, [call]).append(made))
    assert jsontext.decode(written) == [call, output]


def test_the_head_says_what_counts():
    request = {"model": "m", "instructions": "be brief", "tools": [{"type": "function", "name": "f"}], "input": []}
    head = DIALECT.head(request | {"max_output_tokens": 7, "reasoning": {"effort": "low"}})
    assert (head.model, head.system, head.max_output, head.thinking) == ("m", (Text("be brief"),), 7, True)
    assert [tool.name for tool in head.tools] == ["f"]
    assert not head.remote
    assert DIALECT.head({"previous_response_id": "r"}).remote
    assert DIALECT.head({"conversation": {"id": "c"}}).remote
    assert not DIALECT.head({"previous_response_id": None, "reasoning": {"effort": "none"}}).thinking


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ({"input": "hi"}, 60),
        ({"input": [{"role": "user", "content": "hi"}]}, 80),
        ({"input": [{"type": "function_call"}]}, 95),
        ([{"type": "reasoning", "summary": []}], 95),
        ([{"role": "user", "content": [{"type": "input_text"}]}], 95),
        ([{"role": "user", "content": "hi"}], 0),
        ([{"x": 1}], 0),
        ("hi", 0),
    ],
)
def test_fits(value, score):
    assert DIALECT.fits(value) == score
