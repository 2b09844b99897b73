"""inspect-ai: compaction() with its trim, edit and summary strategies."""

from __future__ import annotations

import itertools
import json

from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    CompactionSummary,
    CompactionTrim,
    ModelOutput,
    compaction,
    get_model,
)
from inspect_ai.tool import ToolCall
from wire import SUMMARY, Ask, Chat, Part, serve, wait

NUMBERS = itertools.count()
SPOKEN = {"system": ChatMessageSystem, "user": ChatMessageUser}


def model():
    outputs = (ModelOutput.from_content("mockllm/model", SUMMARY) for _ in itertools.count())
    return get_model("mockllm/model", custom_outputs=outputs, memoize=False)


def read(messages: Chat):
    return [one(message, f"m{next(NUMBERS)}") for message in messages]


def one(message, name):
    if message["role"] == "tool":
        return ChatMessageTool(id=name, content=message["content"], tool_call_id=message["tool_call_id"])
    if message["role"] == "assistant":
        calls = [
            ToolCall(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in message.get("tool_calls") or []
        ]
        return ChatMessageAssistant(id=name, content=message.get("content") or "", tool_calls=calls or None)
    return SPOKEN[message["role"]](id=name, content=message["content"])


def write(messages) -> Chat:
    return [row(message) for message in messages]


def row(message):
    base = {"role": message.role, "content": message.text}
    if message.role == "tool":
        return {**base, "tool_call_id": message.tool_call_id}
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.function, "arguments": json.dumps(c.arguments)}}
        for c in (message.role == "assistant" and message.tool_calls) or []
    ]
    return {**base, "tool_calls": calls} if calls else base


def using(make):
    """The handler is made with the prompt and the task, as its agents make it."""

    def begin(ask: Ask):
        handler = None

        def turn(messages):
            nonlocal handler
            if handler is None:
                task = next((n for n, m in enumerate(messages) if m.role == "user"), 0)
                handler = compaction(make(ask), messages[: task + 1], model=model())
            return wait(handler.compact_input(list(messages)))[0]

        return turn

    return begin


def edits(_: Ask):
    """The strategy by itself: the handler raises where the edited history is still above a threshold."""
    strategy, target = CompactionEdit(), model()
    return lambda messages: wait(strategy.compact(target, list(messages), []))[0]


def trimming(ask: Ask):
    return CompactionTrim(threshold=ask.tokens, preserve=ask.share)


FORM = {"read": read, "write": write}
serve(
    {
        "CompactionTrim": Part(using(trimming), "threshold=size, preserve=share", **FORM),
        "CompactionEdit": Part(edits, "keep_tool_uses=3 (its default); the strategy's compact()", asked="", **FORM),
        "CompactionSummary": Part(
            using(lambda ask: CompactionSummary(threshold=ask.tokens)), "threshold=size", scripted=True, **FORM
        ),
    }
)
