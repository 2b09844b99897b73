"""Gemini requests: what comes in goes out, typed on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from dialects.helpers import (
    assert_object_survives,
    assert_parts_suffice,
    read,
)
from foldline.dialects import jsontext
from foldline.dialects.gemini import Gemini
from foldline.model import Media, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult
from foldline.validators import check
from strategies import broken

DIALECT = Gemini()
MANY = settings(max_examples=200, deadline=None)


def test_parts_become_parts():
    blocks = [
        {"text": "hm", "thought": True, "thoughtSignature": "sig"},
        {"text": "I look.", "thoughtSignature": "sig2"},
        {"functionCall": {"name": "read", "args": {"path": "a.py"}, "id": "f1"}, "thoughtSignature": "sig3"},
        {"inlineData": {"mimeType": "image/png", "data": "AA"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/v.mp4"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
    ]
    message = DIALECT.parse({"role": "model", "parts": blocks})
    assert message.origin is Origin.ASSISTANT
    assert message.parts[:3] == (
        Thinking("hm", "sig", {"thoughtSignature": "sig"}),
        Text("I look.", {"thoughtSignature": "sig2"}),
        ToolCall("f1", "read", '{"path":"a.py"}', {"thoughtSignature": "sig3"}),
    )
    assert [(p.kind, p.mime, p.data, p.url) for p in message.parts if isinstance(p, Media)] == [
        ("image", "image/png", "AA", ""),
        ("video", "video/mp4", "", "gs://b/v.mp4"),
    ]
    assert message.parts[5] == Opaque("executableCode", blocks[5])


@pytest.mark.parametrize(
    ("role", "ours", "origin"),
    [
        ("user", "user", Origin.USER),
        ("model", "assistant", Origin.ASSISTANT),
        ("function", "user", Origin.TOOL),
        ("narrator", "user", Origin.PROGRAM),
    ],
)
def test_roles(role, ours, origin):
    element = {"role": role, "parts": [{"text": "x"}]}
    message = DIALECT.parse(element)
    assert (message.role, message.origin) == (ours, origin)
    assert DIALECT.build(message) == element


def test_a_content_without_a_role_is_the_users():
    element = {"parts": [{"text": "x"}]}
    assert DIALECT.parse(element).origin is Origin.USER
    assert_object_survives(DIALECT, element)


@pytest.mark.parametrize(
    ("response", "text", "failed"),
    [
        ({"output": "done"}, "done", False),
        ({"result": "done"}, "done", False),
        ({"content": "done"}, "done", False),
        ({"error": "boom"}, "boom", True),
        ({"output": "done", "code": 0}, '{"output":"done","code":0}', False),
        ({"error": {"code": 1}}, '{"error":{"code":1}}', True),
        ({"output": 3}, '{"output":3}', False),
        ({}, "{}", False),
    ],
)
def test_responses_are_read_as_text(response, text, failed):
    element = {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": response}}]}
    message = DIALECT.parse(element)
    assert message.origin is Origin.TOOL
    assert (message.results[0].text, message.results[0].is_error, message.results[0].name) == (text, failed, "read")
    assert_object_survives(DIALECT, element)


@pytest.mark.parametrize(
    ("response", "stubbed"),
    [
        ({"output": "long"}, {"output": "stub"}),
        ({"result": "long"}, {"result": "stub"}),
        ({"error": "long"}, {"error": "stub"}),
        ({"rows": [1, 2]}, {"output": "stub"}),
        ({"error": {"code": 1}}, {"error": "stub"}),
        (None, {"output": "stub"}),
    ],
)
def test_a_stub_goes_where_the_text_was(response, stubbed):
    answer = {"name": "read", "id": "x", "response": response, "scheduling": "SILENT"}
    message = DIALECT.parse({"role": "user", "parts": [{"function_response": answer, "thought": None}]})
    changed = message.with_parts([replace(message.results[0], content=(Text("stub"),))])
    part = {"function_response": answer | {"response": stubbed}, "thought": None}
    assert DIALECT.build(changed) == {"role": "user", "parts": [part]}


def test_a_response_may_carry_pictures():
    blob = {"inlineData": {"mimeType": "image/png", "data": "AA"}}
    answer = {"name": "shoot", "response": {"output": "see"}, "parts": [blob, {"text": "odd"}]}
    element = {"role": "user", "parts": [{"functionResponse": answer}]}
    content = DIALECT.parse(element).results[0].content
    assert [type(part) for part in content] == [Text, Media, Opaque]
    assert_object_survives(DIALECT, element)


def _call(name, **more):
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}, **more}}]}


def _answer(name, **more):
    return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": "x"}, **more}}]}


@pytest.mark.parametrize(
    ("contents", "pairs"),
    [
        ([_call("a"), _answer("a"), _call("a"), _answer("a")], {(0, 1), (2, 3)}),
        ([_call("a"), _call("a"), _answer("a")], {(1, 2)}),
        ([_call("a"), _call("b"), _answer("a"), _answer("b")], {(0, 2), (1, 3)}),
        ([_call("a"), _answer("a", id="client-7")], {(0, 1)}),
        ([_call("a", id="f1"), _answer("a")], {(0, 1)}),
        ([_call("a", id="f1"), _call("a", id="f2"), _answer("a", id="f1"), _answer("a")], {(0, 2), (1, 3)}),
        ([_call("a", id="f1"), _answer("a", id="f9")], set()),
        ([_call("a"), _answer("b"), _answer("b")], set()),
    ],
)
def test_calls_and_responses_pair_by_name_and_order(contents, pairs):
    messages = read(DIALECT, contents).messages
    ids = [m.calls[0].id if m.calls else m.results[0].call_id for m in messages]
    found = {(i, j) for i, left in enumerate(ids) for j, right in enumerate(ids) if i < j and left == right}
    assert found == pairs
    assert_parts_suffice(DIALECT, contents)


@MANY
@given(broken("gemini"))
def test_ids_stay_when_messages_are_appended(request_):
    contents = request_["contents"]
    whole = [m.parts for m in read(DIALECT, contents).messages]
    for length in (1, len(contents) // 2, len(contents) - 1):
        assert [m.parts for m in read(DIALECT, contents[:length]).messages] == whole[:length]


@pytest.mark.parametrize(
    "part",
    [
        {"functionCall": {"name": "x"}},
        {"functionCall": {"name": "x", "args": None, "id": ""}},
        {"functionCall": {"name": "x", "args": {}, "id": "foldline-call-0-x"}},
        {"function_call": {"name": "x", "args": {}}, "functionCall": None, "text": None},
        {"functionResponse": {"name": "x", "response": {"output": "y"}, "id": "foldline-call-0-x", "parts": []}},
        {"functionResponse": {"name": ""}},
        {"inlineData": {"mimeType": "image/png", "data": "AA"}, "fileData": None},
        {"inline_data": {"mime_type": "image/png", "data": ""}},
        {"text": "a", "functionCall": {"name": "x", "args": {}}},
        {"text": "", "thought": False},
        {"text": 3},
        {"fileData": "x"},
        {"functionCall": "x"},
        {},
        "bare",
    ],
)
def test_odd_parts_survive(part):
    assert_object_survives(DIALECT, {"role": "model", "parts": [part]})
    assert_parts_suffice(DIALECT, [{"role": "model", "parts": [part]}])


@pytest.mark.parametrize("contents", ["hello", {"parts": [{"text": "hello"}]}, [{"parts": [{"text": "hello"}]}]])
def test_contents_may_be_one_thing(contents):
    request = {"contents": contents}
    conversation = read(DIALECT, request)
    assert [(m.role, m.text) for m in conversation.messages] == [("user", "hello")]
    assert jsontext.decode(DIALECT.write(conversation)) == request
    again = jsontext.decode(DIALECT.write(conversation.append(Message("assistant", Origin.ASSISTANT, (Text("hi"),)))))
    assert [content["parts"] for content in again["contents"]] == [[{"text": "hello"}], [{"text": "hi"}]]
    assert check(again["contents"] + [{"role": "user", "parts": [{"text": "x"}]}], "gemini") == []


def test_made_messages_are_legal():
    made = [
        Message("user", Origin.SUMMARY, (Text("so far"), Media("image", "image/png", "AA"))),
        Message("assistant", Origin.ASSISTANT, (Thinking("hm", "sig"), Text("x"), ToolCall("f1", "read", "{}"))),
        Message("tool", Origin.TOOL, (ToolResult("f1", (Text("x"),), is_error=True),)),
    ]
    written = jsontext.decode(DIALECT.write(read(DIALECT, {"contents": []}).with_messages(made)))
    assert check(written, "gemini") == []
    assert written["contents"][1]["parts"] == [
        {"text": "hm", "thought": True, "thoughtSignature": "sig"},
        {"text": "x"},
        {"functionCall": {"id": "f1", "name": "read", "args": {}}},
    ]
    answer = {"id": "f1", "name": "read", "response": {"error": "x"}}
    assert written["contents"][2] == {"role": "user", "parts": [{"functionResponse": answer}]}


def test_made_media_lie_inline_or_elsewhere():
    parts = (
        Media("image", "image/png", "AA"),
        Media("video", "video/mp4", url="gs://b/v"),
        Media("document", url="gs://c"),
    )
    assert DIALECT.build(Message("user", Origin.USER, parts))["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "AA"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/v"}},
        {"fileData": {"fileUri": "gs://c"}},
    ]


def test_files_come_back_in_their_spelling():
    element = {"role": "user", "parts": [{"file_data": {"file_uri": "gs://b/a.pdf", "mime_type": "application/pdf"}}]}
    assert DIALECT.parse(element).parts[0].url == "gs://b/a.pdf"
    assert DIALECT.parse(element).parts[0].kind == "document"
    assert_object_survives(DIALECT, element)


def test_a_result_made_for_a_call_without_an_id_has_its_name():
    conversation = read(DIALECT, [_call("read")])
    call = conversation.messages[0].calls[0]
    made = DIALECT.build(Message("user", Origin.TOOL, (ToolResult(call.id, (Text("lost"),)),)))
    assert made["parts"] == [{"functionResponse": {"name": "read", "response": {"output": "lost"}}}]


@pytest.mark.parametrize(
    "request_",
    [
        {
            "systemInstruction": {"parts": [{"text": "be brief"}]},
            "tools": [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}],
            "generationConfig": {"maxOutputTokens": 7, "thinkingConfig": {"thinkingBudget": 100}},
        },
        {
            "config": {
                "system_instruction": "be brief",
                "tools": [{"function_declarations": [{"name": "f"}]}, {"googleSearch": {}}],
                "max_output_tokens": 7,
                "thinking_config": {"include_thoughts": True},
            },
        },
    ],
)
def test_the_head_says_what_counts(request_):
    head = DIALECT.head(request_ | {"model": "gemini-3-pro"})
    assert (head.model, head.system, head.max_output, head.thinking) == ("gemini-3-pro", (Text("be brief"),), 7, True)
    assert [tool.name for tool in head.tools] == ["f", "googleSearch"]


def test_an_odd_head_says_nothing():
    head = DIALECT.head({"systemInstruction": 3, "tools": [1], "generationConfig": [], "config": {"tools": None}})
    assert (head.system, head.max_output, head.thinking) == ((), None, False)
    assert not DIALECT.head({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}).thinking
    assert DIALECT.head({"system_instruction": {"text": "x"}}).system == (Text("x"),)
    assert DIALECT.head({"system_instruction": {"parts": {"text": "x"}}}).system == (Text("x"),)
    assert DIALECT.head({"system_instruction": ["x", {"text": "y"}]}).system == (Text("x"), Text("y"))


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ({"contents": [{"parts": [{"text": "hi"}]}]}, 95),
        ({"contents": {"parts": []}}, 95),
        ({"contents": "hi"}, 60),
        ([{"role": "model", "parts": [{"functionCall": {}}]}], 90),
        ([{"role": "user", "parts": "hi"}], 0),
        ([{"role": "user", "content": "hi"}], 0),
        ([], 0),
        ("hi", 0),
    ],
)
def test_fits(value, score):
    assert DIALECT.fits(value) == score


@pytest.mark.parametrize("role", [{"role": "user"}, {"role": "model"}, {}])
def test_one_part_may_stand_without_a_list_around_it(role):
    element = {**role, "parts": {"text": "Hello there"}}
    message = DIALECT.parse(element)
    assert message.text == "Hello there"
    assert_object_survives(DIALECT, element)
    two = message.with_parts((*message.parts, Text("and again")))
    assert DIALECT.build(two)["parts"] == [{"text": "Hello there"}, {"text": "and again"}]
