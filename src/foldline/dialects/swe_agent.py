"""SWE-agent's `.traj` files: a JSON object whose `history` is the list of Chat Completions messages as they were sent.

Older ones are plain text throughout: the environment answers as the user. Newer ones have calls and results, where a
result lists the calls it answers. The `trajectory` beside it tells the same again, step by step, and is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldline.dialects.openai_chat import OpenAIChat, read_message, write_message
from foldline.model import Head, Message, Origin

_KIND = "message_type"
"""Where SWE-agent says what a message is: a summary says so there, since no command's output can."""


class SweAgent(OpenAIChat):
    name = "swe-agent"
    api = "openai-chat"
    slot = "history"

    def fits(self, value: Any) -> int:
        if not isinstance(value, dict) or not isinstance(value.get("history"), list):
            return 0
        return 100 if "trajectory" in value or "environment" in value else 60

    def parse(self, value: Mapping[str, Any]) -> Message:
        answered = value.get("tool_call_ids")
        if value.get("role") == "tool" and "tool_call_id" not in value and isinstance(answered, list) and answered:
            value = {**value, "tool_call_id": answered[0]}
        message = read_message(value)
        if value.get("is_demo"):
            return replace(message, origin=Origin.PROGRAM)
        return retold(message, value.get(_KIND))

    def build(self, message: Message) -> Mapping[str, Any]:
        value = write_message(message)
        if retells(message):
            return {**value, _KIND: Origin.SUMMARY.value}
        if value.get("role") != "tool" or "tool_call_id" not in value or message.extra.get("tool_call_id"):
            return value
        named = value.pop("tool_call_id")
        return value if "tool_call_ids" in value else {**value, "tool_call_ids": [named]}

    def messages(self, values: Sequence[Any], rows: Sequence[bytes], name: str) -> tuple[Message, ...]:
        return observed(super().messages(values, rows, name))

    def head(self, request: Mapping[str, Any]) -> Head:  # noqa: ARG002 - the file does not say which model it was
        return Head()


def retells(message: Message) -> bool:
    """The message is a summary that stands under the user's name, where what follows a step is a tool's word."""
    return message.origin is Origin.SUMMARY and message.role == "user"


def retold(message: Message, told: Any) -> Message:
    """The message as the summary that it is told to be, if it is."""
    summary = told == Origin.SUMMARY.value and message.origin is Origin.USER
    return replace(message, origin=Origin.SUMMARY) if summary else message


def observed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What comes after the model's first step under the user's name is the environment's answer: a tool's word."""
    start = next((n for n, message in enumerate(messages) if message.role == "assistant"), len(messages))
    return tuple(
        replace(message, origin=Origin.TOOL) if n > start and message.origin is Origin.USER else message
        for n, message in enumerate(messages)
    )
