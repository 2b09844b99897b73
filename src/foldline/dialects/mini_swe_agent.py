"""mini-swe-agent's trajectories: {info, messages, trajectory_format}, the messages those of Chat Completions.

Each answer keeps the provider's whole response in `extra`, which the model is never sent; it stays where it is, and a
summary says there that it is one. The shell's output comes back under the user's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldline.dialects.openai_chat import OpenAIChat, read_message, write_message
from foldline.dialects.swe_agent import observed, retells, retold
from foldline.model import Head, Message, Origin

_EXTRA, _ORIGIN = "extra", "origin"


class MiniSweAgent(OpenAIChat):
    name = "mini-swe-agent"
    api = "openai-chat"
    slot = "messages"

    def fits(self, value: Any) -> int:
        if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
            return 0
        info = value.get("info")
        return 100 if "trajectory_format" in value or (isinstance(info, dict) and "mini_version" in info) else 0

    def parse(self, value: Mapping[str, Any]) -> Message:
        told = value.get(_EXTRA)
        return retold(read_message(value), told.get(_ORIGIN) if isinstance(told, dict) else None)

    def build(self, message: Message) -> Mapping[str, Any]:
        value = write_message(message)
        if not retells(message):
            return value
        told = value.get(_EXTRA)
        return {**value, _EXTRA: {**(told if isinstance(told, dict) else {}), _ORIGIN: Origin.SUMMARY.value}}

    def messages(self, values: Sequence[Any], rows: Sequence[bytes], name: str) -> tuple[Message, ...]:
        return observed(super().messages(values, rows, name))

    def head(self, request: Mapping[str, Any]) -> Head:
        found: Any = request
        for step in ("info", "config", "model", "model_name"):
            found = found.get(step) if isinstance(found, dict) else None
        return Head(model=found if isinstance(found, str) else "")
