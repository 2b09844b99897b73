"""agent-framework: its compaction strategies, applied as its clients do."""

from __future__ import annotations

from types import SimpleNamespace

from agent_framework import (
    CharacterEstimatorTokenizer,
    Content,
    ContextWindowCompactionStrategy,
    Message,
    SummarizationStrategy,
    TruncationStrategy,
    apply_compaction,
)
from wire import SUMMARY, Ask, Chat, Part, serve, wait

TOKENIZER = CharacterEstimatorTokenizer()


class Scripted:
    async def get_response(self, *_, **__):
        return SimpleNamespace(text=SUMMARY)


def read(messages: Chat):
    return [one(message) for message in messages]


def one(message):
    if message["role"] == "tool":
        return Message("tool", [Content.from_function_result(message["tool_call_id"], result=message["content"])])
    contents = [message["content"]] if message.get("content") else []
    for call in message.get("tool_calls") or []:
        function = call["function"]
        contents.append(Content.from_function_call(call["id"], function["name"], arguments=function["arguments"]))
    return Message(message["role"], contents)


def write(messages) -> Chat:
    return [row for message in messages for row in rows(message)]


def rows(message):
    results = [c for c in message.contents if c.type == "function_result"]
    if results:
        return [{"role": "tool", "tool_call_id": c.call_id, "content": c.result or ""} for c in results]
    calls = [
        {"id": c.call_id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in message.contents
        if c.type == "function_call"
    ]
    base = {"role": str(message.role), "content": message.text}
    return [{**base, "tool_calls": calls} if calls else base]


def using(make):
    """The strategies mark the messages of the list itself, and the next turn finds the marks."""

    def begin(ask: Ask):
        strategy = make(ask)
        held = []

        def turn(messages):
            known = {id(message) for message in held}
            held.extend(message for message in messages if id(message) not in known)
            return wait(apply_compaction(held, strategy=strategy, tokenizer=TOKENIZER))

        return turn

    return begin


def truncating(ask: Ask):
    return TruncationStrategy(max_n=ask.tokens, compact_to=ask.tokens, tokenizer=TOKENIZER)


def window(ask: Ask):
    return ContextWindowCompactionStrategy(max_context_window_tokens=ask.tokens, max_output_tokens=0)


def summarizing(ask: Ask):
    return SummarizationStrategy(client=Scripted(), target_count=ask.messages, max_summary_input_tokens=None)


FORM = {"read": read, "write": write}
serve(
    {
        "TruncationStrategy": Part(using(truncating), "max_n=compact_to=size, its character tokenizer", **FORM),
        "ContextWindowCompactionStrategy": Part(
            using(window), "max_context_window_tokens=size, max_output_tokens=0", **FORM
        ),
        "SummarizationStrategy": Part(
            using(summarizing),
            "target_count=share of messages, max_summary_input_tokens=None",
            scripted=True,
            asked="messages",
            **FORM,
        ),
    }
)
