"""pydantic-ai-harness: ClearToolResults, SlidingWindowCompaction and TieredCompaction, by compact_now."""

from __future__ import annotations

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai_harness.compaction import (
    ClearToolResults,
    SlidingWindowCompaction,
    SummarizingCompaction,
    TieredCompaction,
    compact_now,
)
from wire import SUMMARY, SUMMARY_ROOM, Ask, Chat, Part, serve, wait

MODEL = TestModel(call_tools=[], custom_output_text=SUMMARY)


def read(messages: Chat):
    found, names = [], {}
    for message in messages:
        if message["role"] == "assistant":
            found.append(ModelResponse(parts=said(message, names)))
            continue
        part = given(message, names)
        if found and isinstance(found[-1], ModelRequest):
            found[-1].parts.append(part)
        else:
            found.append(ModelRequest(parts=[part]))
    return found


def said(message, names):
    texts = [TextPart(message["content"])] if message.get("content") else []
    calls = [
        ToolCallPart(c["function"]["name"], c["function"]["arguments"], tool_call_id=c["id"])
        for c in message.get("tool_calls") or []
    ]
    names.update({call.tool_call_id: call.tool_name for call in calls})
    return [*texts, *calls]


def given(message, names):
    if message["role"] == "tool":
        name = message["tool_call_id"]
        return ToolReturnPart(names.get(name, "tool"), message["content"], tool_call_id=name)
    return (SystemPromptPart if message["role"] == "system" else UserPromptPart)(message["content"])


def write(messages) -> Chat:
    return [row for message in messages for row in rows(message)]


def rows(message):
    if isinstance(message, ModelRequest):
        return [request_row(part) for part in message.parts]
    calls = [
        {
            "id": p.tool_call_id,
            "type": "function",
            "function": {"name": p.tool_name, "arguments": p.args_as_json_str()},
        }
        for p in message.parts
        if isinstance(p, ToolCallPart)
    ]
    base = {"role": "assistant", "content": "".join(p.content for p in message.parts if isinstance(p, TextPart))}
    return [{**base, "tool_calls": calls} if calls else base]


def request_row(part):
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    content = part.content if isinstance(part.content, str) else "\n".join(map(str, part.content))
    return {"role": "system" if isinstance(part, SystemPromptPart) else "user", "content": content}


def using(make):
    def begin(ask: Ask):
        strategy = make(ask)
        return lambda messages: wait(compact_now(strategy, messages, model=MODEL))

    return begin


def clearing(ask: Ask):
    return ClearToolResults(max_tokens=ask.tokens)


def windowed(ask: Ask):
    tiers = [ClearToolResults(max_tokens=1), SlidingWindowCompaction(max_messages=1, keep_tokens=ask.tokens)]
    return TieredCompaction(tiers=tiers, target_tokens=ask.tokens)


def summarized(ask: Ask):
    keep = max(ask.tokens - SUMMARY_ROOM, ask.tokens // 2)
    last = SummarizingCompaction(model=MODEL, max_messages=1, keep_tokens=keep)
    return TieredCompaction(tiers=[ClearToolResults(max_tokens=1), last], target_tokens=ask.tokens)


FORM = {"read": read, "write": write, "carries": True}
serve(
    {
        "ClearToolResults": Part(using(clearing), "keep_pairs=3 (its default)", asked="", **FORM),
        "TieredCompaction": Part(using(windowed), "ClearToolResults, SlidingWindowCompaction; size", **FORM),
        "TieredCompaction, model": Part(
            using(summarized), "ClearToolResults, SummarizingCompaction(keep_tokens=size - 256)", scripted=True, **FORM
        ),
    }
)
