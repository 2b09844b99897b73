"""langmem: summarize_messages."""

from __future__ import annotations

import itertools

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import convert_to_messages, convert_to_openai_messages
from langmem.short_term import summarize_messages
from wire import SUMMARY, SUMMARY_ROOM, Ask, Chat, Part, serve

MODEL = FakeListChatModel(responses=[SUMMARY])
NUMBERS = itertools.count()


def read(messages: Chat):
    """It wants an id on every message."""
    found = convert_to_messages(messages)
    for message in found:
        message.id = f"m{next(NUMBERS)}"
    return found


def summarizing(ask: Ask):
    running = None

    def turn(messages):
        nonlocal running
        done = summarize_messages(
            messages,
            running_summary=running,
            model=MODEL,
            max_tokens=ask.tokens,
            max_summary_tokens=min(SUMMARY_ROOM, ask.tokens // 2),
        )
        running = done.running_summary or running
        return done.messages

    return turn


serve(
    {
        "summarize_messages": Part(
            summarizing, "max_tokens=size, max_summary_tokens=256", read, convert_to_openai_messages, scripted=True
        )
    }
)
