"""Anthropic's Messages: how to ask, and how to read the reply. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foldline.callers.base import items, words
from foldline.core.asking import Ask, Reply, Stop
from foldline.usage import usage_from

_STOPS: Mapping[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "tool_use": "tool",
    "refusal": "refusal",
    "model_context_window_exceeded": "overflow",
}


@dataclass(frozen=True, slots=True)
class AnthropicWire:
    """POST /v1/messages."""

    model: str
    key_header: str = "x-api-key"
    key_prefix: str = ""

    def request(self, ask: Ask) -> tuple[str, dict[str, str], dict[str, Any]]:
        fields: dict[str, Any] = {"model": self.model, "max_tokens": ask.max_tokens}
        if ask.system:
            fields["system"] = ask.system
        fields["messages"] = [{"role": "user", "content": ask.prompt}]
        return "/v1/messages", {"anthropic-version": "2023-06-01"}, fields

    def reply(self, said: Mapping[str, Any]) -> Reply | None:
        if not isinstance(said.get("content"), list):
            return None
        blocks = items(said["content"])
        usage = usage_from("anthropic", said)
        called = any(words(block.get("type")).endswith("tool_use") for block in blocks)
        return Reply(
            text="".join(words(block.get("text")) for block in blocks if block.get("type") == "text"),
            stop="tool" if called else _STOPS.get(words(said.get("stop_reason")), "other"),
            model=words(said.get("model")),
            input_tokens=usage.input if usage else None,
            output_tokens=usage.output if usage else None,
        )
