"""autogen: the model contexts."""

from __future__ import annotations

from autogen_core import FunctionCall
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    HeadAndTailChatCompletionContext,
    TokenLimitedChatCompletionContext,
)
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from autogen_ext.models.openai import OpenAIChatCompletionClient
from wire import Ask, Chat, Part, serve, wait

CLIENT = OpenAIChatCompletionClient(model="gpt-4o", api_key="none")
"""It is asked to count, and nothing else."""


def read(messages: Chat):
    found = []
    for message in messages:
        if message["role"] == "tool":
            result = FunctionExecutionResult(
                content=message["content"], call_id=message["tool_call_id"], name="tool", is_error=False
            )
            if found and isinstance(found[-1], FunctionExecutionResultMessage):
                found[-1].content.append(result)
            else:
                found.append(FunctionExecutionResultMessage(content=[result]))
        else:
            found.append(spoken(message))
    return found


def spoken(message):
    if message["role"] == "assistant":
        calls = [
            FunctionCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
            for call in message.get("tool_calls") or []
        ]
        text = message.get("content")
        if calls:
            return AssistantMessage(content=calls, thought=text or None, source="assistant")
        return AssistantMessage(content=text, source="assistant")
    if message["role"] == "system":
        return SystemMessage(content=message["content"])
    return UserMessage(content=message["content"], source="user")


def write(messages) -> Chat:
    return [row for message in messages for row in rows(message)]


def rows(message):
    if isinstance(message, FunctionExecutionResultMessage):
        return [{"role": "tool", "tool_call_id": r.call_id, "content": r.content} for r in message.content]
    if isinstance(message, AssistantMessage) and isinstance(message.content, list):
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in message.content
        ]
        return [{"role": "assistant", "content": message.thought, "tool_calls": calls}]
    role = {"SystemMessage": "system", "UserMessage": "user"}.get(type(message).__name__, "assistant")
    return [{"role": role, "content": message.content}]


async def told(context, messages):
    """One run of the loop for all of it: starting the loop for each message would be timed as the peer's."""
    for message in messages:
        await context.add_message(message)
    return await context.get_messages()


def using(make):
    def begin(ask: Ask):
        context, seen = make(ask), 0

        def turn(messages):
            nonlocal seen
            new, seen = messages[seen:], len(messages)
            return wait(told(context, new))

        return turn

    return begin


def limited(ask: Ask):
    return TokenLimitedChatCompletionContext(CLIENT, token_limit=ask.tokens)


def head_and_tail(ask: Ask):
    return HeadAndTailChatCompletionContext(head_size=2, tail_size=max(1, ask.messages - 2))


def buffered(ask: Ask):
    return BufferedChatCompletionContext(buffer_size=ask.messages)


FORM = {"read": read, "write": write}
serve(
    {
        "BufferedChatCompletionContext": Part(
            using(buffered), "buffer_size=share of messages", asked="messages", **FORM
        ),
        "HeadAndTailChatCompletionContext": Part(
            using(head_and_tail), "head_size=2, tail_size=the rest of the share", asked="messages", **FORM
        ),
        "TokenLimitedChatCompletionContext": Part(
            using(limited), "token_limit=size, counted by its OpenAI client", **FORM
        ),
    }
)
