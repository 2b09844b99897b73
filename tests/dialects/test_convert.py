"""Conversations carried into other dialects: what the provider there would say, and what is still the same."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.dialects import convert as module
from foldline.dialects import jsontext
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.base import Source
from foldline.dialects.claude_code import ClaudeCode
from foldline.dialects.convert import REQUESTS, api_of, as_request, convert
from foldline.errors import UnknownDialect
from foldline.model import (
    Conversation,
    Head,
    Media,
    Message,
    Opaque,
    Origin,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from foldline.validators import check

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 24).decode()
IMAGE = Media("image", "image/png", PNG)
words = st.text("abc äß中\n", min_size=1, max_size=20).filter(str.strip)
names = st.sampled_from(["read", "bash", "functions.exec", "мир"])
arguments = st.one_of(
    st.dictionaries(words, st.one_of(words, st.integers(-9, 9)), max_size=2).map(json.dumps), st.just("*** patch ***")
)


@st.composite
def steps(draw, number: int) -> list[Message]:
    """A user message, a model step with some calls, and all their results."""
    ids = [
        f"call|{number}-{n}" if draw(st.booleans()) else f"call_{number}_{n}" for n in range(draw(st.integers(0, 3)))
    ]
    thought = (Thinking("hm", "seal"),) if draw(st.booleans()) else ()
    own = (Opaque("own", {"type": "own"}),) if draw(st.booleans()) else ()
    calls = tuple(ToolCall(id_, draw(names), draw(arguments)) for id_ in ids)
    picture = (IMAGE,) if draw(st.booleans()) else ()
    results = [
        ToolResult(id_, (Text(draw(words)), *picture), is_error=draw(st.booleans()), extra={"cache_control": {}})
        for id_ in ids
    ]
    step = Message("assistant", Origin.ASSISTANT, (*thought, Text(draw(words)), *own, *calls), extra={"id": "x"})
    answer = [Message("user", Origin.TOOL, tuple(results))] if results else []
    return [Message("user", Origin.USER, (Text(draw(words)),), form="string", extra={"uuid": "u"}), step, *answer]


@st.composite
def conversations(draw) -> Conversation:
    """In Anthropic's grammar, which joins results; the user has the last word."""
    messages = [message for number in range(draw(st.integers(1, 4))) for message in draw(steps(number))]
    last = Message("user", Origin.USER, (Text("and now?"),))
    head = Head(system=(Text("be brief"),) if draw(st.booleans()) else ())
    return Conversation("somewhere", (*messages, last), head, Anthropic.grammar)


def written(conversation: Conversation):
    return jsontext.decode(REQUESTS[conversation.dialect].write(conversation))


def read_back(conversation: Conversation) -> Conversation:
    data = REQUESTS[conversation.dialect].write(conversation)
    return REQUESTS[conversation.dialect].read(Source(data), jsontext.decode(data))


def listed(conversation: Conversation):
    """The list alone: without tool definitions, which are not carried, a whole request would be incomplete."""
    value = written(conversation)
    return value[REQUESTS[conversation.dialect].slot] if isinstance(value, dict) else value


def said(conversation: Conversation, role: str) -> list[str]:
    texts = [part.text for m in conversation.messages if m.role == role for part in m.parts if isinstance(part, Text)]
    return [text for text in texts if not text.startswith("[from the tool")]


@pytest.mark.parametrize("to", sorted(REQUESTS))
@settings(max_examples=60, deadline=None)
@given(conversation=conversations())
def test_every_provider_accepts_what_is_carried_to_it(to, conversation):
    assert check(listed(convert(conversation, to)), to) == []


@pytest.mark.parametrize("to", sorted(REQUESTS))
@settings(max_examples=40, deadline=None)
@given(conversation=conversations())
def test_texts_calls_results_and_pictures_arrive(to, conversation):
    there = read_back(convert(conversation, to))
    assert said(there, "user") == said(conversation, "user")
    assert said(there, "assistant") == said(conversation, "assistant")
    assert len([c for m in there.messages for c in m.calls]) == len([c for m in conversation.messages for c in m.calls])
    for message in conversation.messages:
        for result in message.results:
            assert any(result.text in found.text for m in there.messages for found in m.results)
    assert pictures(there) == pictures(conversation)


def pictures(conversation: Conversation) -> int:
    inner = [part for m in conversation.messages for r in m.results for part in r.content]
    own = [part for m in conversation.messages for part in m.parts]
    return sum(isinstance(part, Media) and part.data == PNG for part in (*inner, *own))


@pytest.mark.parametrize("to", sorted(REQUESTS))
@settings(max_examples=40, deadline=None)
@given(conversation=conversations())
def test_results_still_answer_their_calls(to, conversation):
    there = read_back(convert(conversation, to))
    calls = [call.id for message in there.messages for call in message.calls]
    answers = [result.call_id for message in there.messages for result in message.results]
    assert sorted(calls) == sorted(answers)
    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize("over", sorted(REQUESTS))
@pytest.mark.parametrize("to", sorted(REQUESTS))
@settings(max_examples=15, deadline=None)
@given(conversation=conversations())
def test_a_way_through_two_dialects_is_valid_too(over, to, conversation):
    assert check(listed(convert(read_back(convert(conversation, over)), to)), to) == []


@pytest.mark.parametrize("to", sorted(REQUESTS))
@settings(max_examples=30, deadline=None)
@given(conversation=conversations())
def test_no_field_of_the_old_dialect_leaks(to, conversation):
    text = json.dumps(written(convert(conversation, to)))
    for foreign in ("uuid", "cache_control", '"own"', "seal"):
        assert foreign not in text


@settings(max_examples=30, deadline=None)
@given(conversation=conversations())
def test_what_stays_behind_is_counted(conversation):
    parts = [part for message in conversation.messages for part in message.parts]
    texts = [notice.text for notice in convert(conversation, "openai-chat").notices]
    for kind, words_ in ((Thinking, "× thinking"), (Opaque, "blocks of the provider's own")):
        number = sum(isinstance(part, kind) for part in parts)
        assert any(text.startswith(f"{number} ") and words_ in text for text in texts) == bool(number)


@settings(max_examples=30, deadline=None)
@given(conversation=conversations())
def test_trust_never_rises(conversation):
    """A tool's picture that has to stand beside its result is still the tool's."""
    for to in REQUESTS:
        for message in convert(conversation, to).messages:
            if any(isinstance(part, Media) for part in message.parts):
                assert message.origin is Origin.TOOL


@pytest.mark.parametrize("to", sorted(REQUESTS))
def test_the_same_dialect_is_left_alone(to):
    conversation = Conversation(to, (Message("user", Origin.USER, (Thinking("x"),)),))
    assert convert(conversation, to) is conversation


def test_the_system_prompt_goes_where_the_provider_wants_it():
    system = Message("system", Origin.SYSTEM, (Text("rules"),))
    user = Message("user", Origin.USER, (Text("hi"),))
    conversation = Conversation("somewhere", (system, user), Head(system=(Text("top"),)))
    assert written(convert(conversation, "anthropic"))["system"] == "top\n\nrules"
    assert written(convert(conversation, "gemini"))["systemInstruction"] == {"parts": [{"text": "top\n\nrules"}]}
    assert [m["content"] for m in written(convert(conversation, "openai-chat"))] == ["top", "rules", "hi"]
    assert convert(conversation, "anthropic").head.system == (Text("top\n\nrules"),)


def test_a_system_message_in_the_middle_is_moved_and_said():
    messages = [Message(role, Origin(role), (Text(role),)) for role in ("user", "assistant", "system", "user")]
    there = convert(Conversation("somewhere", tuple(messages)), "anthropic")
    assert [m.role for m in there.messages] == ["user", "assistant", "user", "user"]
    assert there.messages[2].origin is Origin.PROGRAM
    assert [notice.code for notice in there.notices] == ["system-moved"]


def test_tool_definitions_stay_behind_and_are_said():
    conversation = Conversation("somewhere", (), Head(tools=(Tool("read", "{}"), Tool("write", "{}"))))
    assert "2 × tool definitions" in convert(conversation, "gemini").notices[0].text


def test_media_the_provider_does_not_take_stays_behind_and_is_said():
    sound, elsewhere = Media("audio", "audio/wav", "AAAA"), Media("image", extra={"file_id": "f"})
    user = Message("user", Origin.USER, (Text("hear"), sound, elsewhere))
    there = convert(Conversation("somewhere", (user,)), "anthropic")
    assert there.messages[0].parts == (Text("hear"),)
    assert "2 × media" in there.notices[0].text


def test_an_error_is_told_where_it_cannot_be_marked():
    messages = (
        Message("assistant", Origin.ASSISTANT, (ToolCall("c", "t", "{}"),)),
        Message("user", Origin.TOOL, (ToolResult("c", (Text("no such file"),), is_error=True),)),
    )
    there = convert(Conversation("somewhere", messages), "openai-chat")
    assert module.FAILED in there.messages[1].results[0].text


def test_parallel_results_stay_together_before_their_pictures():
    call = Message("assistant", Origin.ASSISTANT, (ToolCall("a", "t", "{}"), ToolCall("b", "t", "{}")))
    apart = [Message("tool", Origin.TOOL, (ToolResult(id_, (IMAGE,)),)) for id_ in "ab"]
    there = convert(Conversation("openai-responses", (call, *apart)), "openai-chat")
    assert [m.role for m in there.messages] == ["assistant", "tool", "tool", "user", "user"]


def test_arguments_that_are_no_object_are_wrapped():
    call = Message("assistant", Origin.ASSISTANT, (ToolCall("c", "patch", "*** Begin"),))
    found = convert(Conversation("somewhere", (call,)), "openai-chat").messages[0].calls[0]
    assert json.loads(found.arguments) == {"arguments": "*** Begin"}


def test_names_no_provider_takes_are_changed_and_said():
    call = Message("assistant", Origin.ASSISTANT, (ToolCall("a|b", "functions.exec", "{}"),))
    there = convert(Conversation("somewhere", (call,)), "anthropic")
    assert there.messages[0].calls[0].name == "functions_exec"
    assert there.messages[0].calls[0].id.startswith("call_")
    assert [notice.code for notice in there.notices] == ["changed"]


def test_an_unknown_dialect_is_named_with_the_known_ones():
    with pytest.raises(UnknownDialect, match="anthropic, openai-chat, openai-responses, gemini"):
        convert(Conversation("anthropic", ()), "latin")


def test_a_request_is_its_own_request():
    data = b'{"model":"claude-x","messages":[{"role":"user","content":"hi","odd":1}]}'
    assert as_request(Anthropic().read(Source(data), json.loads(data))) == json.loads(data)


def test_a_transcript_is_what_its_agent_would_send():
    rows = [
        {
            "type": "user",
            "uuid": "u1",
            "parentUuid": None,
            "sessionId": "s",
            "message": {"role": "user", "content": "hi"},
        },
        {
            "type": "assistant",
            "uuid": "u2",
            "parentUuid": "u1",
            "sessionId": "s",
            "message": {
                "id": "m",
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "ho", "citations": None},
                ],
                "usage": {"input_tokens": 3},
            },
        },
    ]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    conversation = ClaudeCode().read_lines(Source(b"".join(lines)), lines)
    assert api_of(conversation.dialect) == "anthropic"
    assert as_request(conversation) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": rows[1]["message"]["content"]},
    ]
