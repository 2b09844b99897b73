"""strands: the conversation managers."""

from __future__ import annotations

import json
from types import SimpleNamespace

from strands.agent.conversation_manager import SlidingWindowConversationManager, SummarizingConversationManager
from wire import SUMMARY, Ask, Chat, Part, serve


class Scripted:
    """A model that streams one text."""

    async def stream(self, *_, **__):
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": SUMMARY}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def read(messages: Chat):
    """Results stand in one user message; the system prompt is the agent's and kept beside, as its first row."""
    found = []
    for message in messages:
        if message["role"] == "tool":
            result = {
                "toolUseId": message["tool_call_id"], "status": "success", "content": [{"text": message["content"]}]
            }  # fmt: skip
            if found and "toolResult" in found[-1]["content"][-1]:
                found[-1]["content"].append({"toolResult": result})
            else:
                found.append({"role": "user", "content": [{"toolResult": result}]})
        else:
            found.append({"role": message["role"], "content": blocks(message)})
    return found


def blocks(message):
    texts = [{"text": message["content"]}] if message.get("content") else []
    return [*texts, *({"toolUse": use(call)} for call in message.get("tool_calls") or [])]


def use(call):
    function = call["function"]
    return {"toolUseId": call["id"], "name": function["name"], "input": json.loads(function["arguments"])}


def write(messages) -> Chat:
    return [row for message in messages for row in rows(message)]


def rows(message):
    content = message["content"]
    found = [
        {"role": "tool", "tool_call_id": b["toolResult"]["toolUseId"], "content": text(b["toolResult"]["content"])}
        for b in content
        if "toolResult" in b
    ]
    uses = [b["toolUse"] for b in content if "toolUse" in b]
    calls = [
        {"id": u["toolUseId"], "type": "function", "function": {"name": u["name"], "arguments": json.dumps(u["input"])}}
        for u in uses
    ]
    said = text(content)
    if calls:
        found.append({"role": message["role"], "content": said or None, "tool_calls": calls})
    elif said or not found:
        found.append({"role": message["role"], "content": said})
    return found


def text(content) -> str:
    return "\n".join(block["text"] for block in content if "text" in block)


def using(make, work):
    def begin(ask: Ask):
        manager, agent = make(ask), SimpleNamespace(messages=[], aux_model=Scripted(), model=Scripted())

        def turn(messages):
            head = 1 if messages[0]["role"] == "system" else 0
            agent.messages = messages[head:]
            work(manager, agent, ask)
            return [*messages[:head], *agent.messages]

        return turn

    return begin


def slide(manager, agent, _):
    manager.apply_management(agent)


def summarize(manager, agent, ask):
    """It is called when the window is full; until the messages are as few as were asked for."""
    while len(agent.messages) > ask.messages:
        before = len(agent.messages)
        manager.reduce_context(agent, OverflowError("the window is full"))
        if len(agent.messages) >= before:
            break


def sliding(ask: Ask):
    return SlidingWindowConversationManager(window_size=ask.messages)


def summarizing(ask: Ask):
    recent = max(1, min(10, ask.messages - 1))
    return SummarizingConversationManager(summary_ratio=1 - ask.share, preserve_recent_messages=recent)


FORM = {"read": read, "write": write, "asked": "messages", "carries": True}
serve(
    {
        "SlidingWindowConversationManager": Part(using(sliding, slide), "window_size=share of messages", **FORM),
        "SummarizingConversationManager": Part(
            using(summarizing, summarize), "summary_ratio=1 - share, until the share is reached", scripted=True, **FORM
        ),
    }
)
