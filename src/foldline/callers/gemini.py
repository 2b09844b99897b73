"""Gemini's generateContent: how to ask, and how to read the reply. Pure. The key goes in a header, not in the URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from foldline.callers.base import items, words
from foldline.core.asking import Ask, Reply, Stop
from foldline.usage import usage_from

_STOPS: Mapping[str, Stop] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "MALFORMED_FUNCTION_CALL": "tool",
    "UNEXPECTED_TOOL_CALL": "tool",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"), "refusal"),
}


@dataclass(frozen=True, slots=True)
class GeminiWire:
    """POST /models/…:generateContent."""

    model: str
    key_header: str = "x-goog-api-key"
    key_prefix: str = ""

    def request(self, ask: Ask) -> tuple[str, dict[str, str], dict[str, Any]]:
        fields: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": ask.prompt}]}]}
        if ask.system:
            fields["systemInstruction"] = {"parts": [{"text": ask.system}]}
        fields["generationConfig"] = {"maxOutputTokens": ask.max_tokens}
        return f"/models/{quote(self.model.removeprefix('models/'), safe='')}:generateContent", {}, fields

    def reply(self, said: Mapping[str, Any]) -> Reply | None:
        if not isinstance(said.get("candidates"), list) and not said.get("promptFeedback"):
            return None
        candidate = next(iter(items(said.get("candidates"))), {})
        content = candidate.get("content")
        parts = items(content.get("parts")) if isinstance(content, Mapping) else ()
        usage = usage_from("gemini", said)
        return Reply(
            text="".join(words(part.get("text")) for part in parts if not part.get("thought")),
            stop=_stop(said, candidate, parts),
            model=words(said.get("modelVersion")),
            input_tokens=usage.input if usage else None,
            output_tokens=usage.output if usage else None,
        )


def _stop(said: Mapping[str, Any], candidate: Mapping[str, Any], parts: tuple[Mapping[str, Any], ...]) -> Stop:
    feedback = said.get("promptFeedback")
    if isinstance(feedback, Mapping) and feedback.get("blockReason"):
        return "refusal"
    if any("functionCall" in part for part in parts):
        return "tool"
    return _STOPS.get(words(candidate.get("finishReason")), "other")
