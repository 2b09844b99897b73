"""langchain: trim_messages, SummarizationMiddleware, ClearToolUsesEdit in its middleware."""

from __future__ import annotations

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    RemoveMessage,
    SystemMessage,
    convert_to_messages,
    convert_to_openai_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from wire import SUMMARY, SUMMARY_ROOM, Ask, Part, serve

MODEL = FakeListChatModel(responses=[SUMMARY])


def split(messages):
    """The middlewares see the history without the system prompt."""
    head = 1 if messages and isinstance(messages[0], SystemMessage) else 0
    return messages[:head], messages[head:]


def trimming(ask: Ask):
    return lambda messages: trim_messages(
        messages,
        max_tokens=ask.tokens,
        token_counter=count_tokens_approximately,
        strategy="last",
        start_on="human",
        end_on=("human", "tool"),
        include_system=True,
    )


def summarizing(ask: Ask):
    keep = max(ask.tokens - SUMMARY_ROOM, ask.tokens // 2)
    middleware = SummarizationMiddleware(MODEL, trigger=("tokens", ask.tokens), keep=("tokens", keep))

    def turn(messages):
        system, rest = split(messages)
        change = middleware.before_model({"messages": rest}, None)
        kept = rest if change is None else [m for m in change["messages"] if not isinstance(m, RemoveMessage)]
        return [*system, *kept]

    return turn


def clearing(ask: Ask):
    middleware = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=ask.tokens)])

    def turn(messages):
        system, rest = split(messages)
        seen = []

        def model(request):
            seen.extend(request.messages)
            return AIMessage("")

        middleware.wrap_model_call(ModelRequest(model=MODEL, messages=rest), model)
        return [*system, *seen]

    return turn


FORM = {"read": convert_to_messages, "write": convert_to_openai_messages}
serve(
    {
        "trim_messages": Part(
            trimming, "strategy='last', start_on='human', end_on=('human', 'tool'), include_system=True", **FORM
        ),
        "ClearToolUsesEdit": Part(clearing, "trigger=size, keep=3 (its default)", asked="", **FORM),
        "SummarizationMiddleware": Part(
            summarizing, "trigger=size, keep=size - 256 tokens", scripted=True, carries=True, **FORM
        ),
    }
)
