"""llama-index: ChatMemoryBuffer, ChatSummaryMemoryBuffer, Memory."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage, CompletionResponse, LLMMetadata, MessageRole
from llama_index.core.llms import CustomLLM
from llama_index.core.memory import ChatMemoryBuffer, ChatSummaryMemoryBuffer, Memory
from wire import SUMMARY, Ask, Chat, Part, serve, wait


class Scripted(CustomLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted", context_window=10_000_000)

    def complete(self, *_, **__):
        return CompletionResponse(text=SUMMARY)

    def stream_complete(self, *_, **__):
        yield CompletionResponse(text=SUMMARY)


def read(messages: Chat):
    return [
        ChatMessage(
            role=MessageRole(message["role"]),
            content=message.get("content"),
            additional_kwargs={key: message[key] for key in ("tool_calls", "tool_call_id") if key in message},
        )
        for message in messages
    ]


def write(messages) -> Chat:
    return [
        {"role": message.role.value, "content": message.content, **message.additional_kwargs} for message in messages
    ]


def using(make):
    """The system prompt is the agent's, not the memory's."""

    def begin(ask: Ask):
        memory = make(ask)

        def turn(messages):
            head = 1 if messages[0].role is MessageRole.SYSTEM else 0
            memory.set(messages[head:])
            return [*messages[:head], *memory.get()]

        return turn

    return begin


def buffer(ask: Ask):
    return ChatMemoryBuffer.from_defaults(token_limit=ask.tokens)


def summary_buffer(ask: Ask):
    return ChatSummaryMemoryBuffer.from_defaults(llm=Scripted(), token_limit=ask.tokens, count_initial_tokens=False)


def queued(ask: Ask):
    """The new memory is a queue: it is told what came, and holds what it kept."""
    memory = Memory.from_defaults(
        session_id="bench",
        token_limit=ask.tokens,
        chat_history_token_ratio=1.0,
        token_flush_size=max(1, ask.tokens // 10),
    )
    seen = 0

    def turn(messages):
        nonlocal seen
        head = 1 if messages[0].role is MessageRole.SYSTEM else 0
        wait(memory.aput_messages(messages[max(seen, head) :]))
        seen = len(messages)
        return [*messages[:head], *wait(memory.aget())]

    return turn


FORM = {"read": read, "write": write}
serve(
    {
        "ChatMemoryBuffer": Part(using(buffer), "token_limit=size", **FORM),
        "Memory": Part(queued, "token_limit=size, chat_history_token_ratio=1, token_flush_size=size/10", **FORM),
        "ChatSummaryMemoryBuffer": Part(using(summary_buffer), "token_limit=size", scripted=True, **FORM),
    }
)
