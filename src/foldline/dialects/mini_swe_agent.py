"""mini-swe-agent's trajectories: {info, messages, trajectory_format}, the messages those of Chat Completions.

Each answer keeps the provider's whole response in `extra`, which the model is never sent; it stays where it is. The
shell's output comes back under the user's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldline.dialects.openai_chat import OpenAIChat
from foldline.dialects.swe_agent import observed
from foldline.model import Head, Message


class MiniSweAgent(OpenAIChat):
    name = "mini-swe-agent"
    api = "openai-chat"
    slot = "messages"

    def fits(self, value: Any) -> int:
        if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
            return 0
        info = value.get("info")
        return 100 if "trajectory_format" in value or (isinstance(info, dict) and "mini_version" in info) else 0

    def messages(self, values: Sequence[Any], rows: Sequence[bytes], name: str) -> tuple[Message, ...]:
        return observed(super().messages(values, rows, name))

    def head(self, request: Mapping[str, Any]) -> Head:
        found: Any = request
        for step in ("info", "config", "model", "model_name"):
            found = found.get(step) if isinstance(found, dict) else None
        return Head(model=found if isinstance(found, str) else "")
