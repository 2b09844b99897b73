"""Ollama's own chat: how to ask, and how to read the reply. Pure.

Its OpenAI-like endpoint drops the head of a long prompt and says nothing. Here it can be told not to: then a prompt
that is too long is an error, which can be dealt with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foldline.callers.base import words
from foldline.callers.openai import without_thought
from foldline.core.asking import Ask, Reply, Stop

_STOPS: Mapping[str, Stop] = {"stop": "end", "length": "length"}


@dataclass(frozen=True, slots=True)
class OllamaWire:
    """POST /api/chat. `window` is the context to load the model with; None: the server's own, which is small."""

    model: str
    window: int | None = None
    key_header: str = "authorization"
    key_prefix: str = "Bearer "

    def request(self, ask: Ask) -> tuple[str, dict[str, str], dict[str, Any]]:
        messages = [{"role": "system", "content": ask.system}] if ask.system else []
        messages.append({"role": "user", "content": ask.prompt})
        options = {"num_predict": ask.max_tokens, **({"num_ctx": self.window} if self.window else {})}
        whole = {"truncate": False, "shift": False}
        return (
            "/api/chat",
            {},
            {"model": self.model, "messages": messages, "stream": False, **whole, "options": options},
        )

    def reply(self, said: Mapping[str, Any]) -> Reply | None:
        message = said.get("message")
        if not isinstance(message, Mapping):
            return None
        return Reply(
            text=without_thought(words(message.get("content"))),
            stop="tool" if message.get("tool_calls") else _STOPS.get(words(said.get("done_reason")), "other"),
            model=words(said.get("model")),
            input_tokens=_count(said.get("prompt_eval_count")),
            output_tokens=_count(said.get("eval_count")),
        )


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
