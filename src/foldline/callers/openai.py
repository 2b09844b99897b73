"""OpenAI's Chat Completions, which many servers speak, and its Responses: how to ask, how to read the reply. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foldline.callers.base import items, words
from foldline.core.asking import Ask, Reply, Stop
from foldline.usage import usage_from

_STOPS: Mapping[str, Stop] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "refusal",
    "model_length": "length",  # Mistral
    "max_tokens": "length",
    "error": "length",  # OpenRouter, Mistral: it broke off on the way
    "abort": "length",  # vLLM
    "model_context_window_exceeded": "overflow",  # z.ai
}
_INCOMPLETE: Mapping[str, Stop] = {"max_output_tokens": "length", "content_filter": "refusal"}

_THOUGHT = re.compile(
    r"\s*(?:<(?P<tag>think|thought|seed:think)>.*?(?:</(?P=tag)>\s*|\Z)|\[THINK\].*?(?:\[/THINK\]\s*|\Z)|"
    r"◁think▷.*?(?:◁/think▷\s*|\Z))",
    re.DOTALL,
)
"""A model's reasoning at the head of its text, where local servers leave it."""
_CHANNEL = re.compile(r"\s*(?:<\|start\|>\w*)?<\|channel\|>(?P<name>\w+)[^<]*<\|message\|>")
_FINAL = re.compile(r"<\|channel\|>final[^<]*<\|message\|>")
"""The channels that gpt-oss writes: reasoning in the first, and in the final one what is meant to be read."""
_FIRST = re.compile(r"(?:\s*<\|\w{1,40}\|>)+")
_LAST = re.compile(r"(?:<\|\w{1,40}\|>|</s>|<end_of_turn>)\Z")
"""Marks of a template that parts turns, as local servers leave them before and behind a text."""
LONGEST_MARK = 44
"""Characters of such a mark."""


@dataclass(frozen=True, slots=True)
class ChatWire:
    """POST /chat/completions. `limit` names the output limit: OpenAI renamed it, its imitators did not."""

    model: str
    limit: str = "max_tokens"
    key_header: str = "authorization"
    key_prefix: str = "Bearer "

    def request(self, ask: Ask) -> tuple[str, dict[str, str], dict[str, Any]]:
        messages = [{"role": "system", "content": ask.system}] if ask.system else []
        messages.append({"role": "user", "content": ask.prompt})
        return "/chat/completions", {}, {"model": self.model, "messages": messages, self.limit: ask.max_tokens}

    def reply(self, said: Mapping[str, Any]) -> Reply | None:
        if not isinstance(said.get("choices"), list):
            return None
        choice = next(iter(items(said["choices"])), {})
        message = choice.get("message")
        message = message if isinstance(message, Mapping) else {}
        usage = usage_from("openai-chat", said)
        return Reply(
            text=without_thought(_chat_text(message.get("content"))),
            stop=_chat_stop(message, words(choice.get("finish_reason"))),
            model=words(said.get("model")),
            input_tokens=usage.input if usage else None,
            output_tokens=usage.output if usage else None,
        )


@dataclass(frozen=True, slots=True)
class ResponsesWire:
    """POST /responses. Nothing is stored at the provider's."""

    model: str
    key_header: str = "authorization"
    key_prefix: str = "Bearer "

    def request(self, ask: Ask) -> tuple[str, dict[str, str], dict[str, Any]]:
        fields: dict[str, Any] = {"model": self.model, "store": False, "max_output_tokens": ask.max_tokens}
        if ask.system:
            fields["instructions"] = ask.system
        fields["input"] = ask.prompt
        return "/responses", {}, fields

    def reply(self, said: Mapping[str, Any]) -> Reply | None:
        if not isinstance(said.get("output"), list):
            return None
        outputs = items(said["output"])
        parts = [part for output in outputs if output.get("type") == "message" for part in items(output.get("content"))]
        usage = usage_from("openai-responses", said)
        return Reply(
            text="".join(words(part.get("text")) for part in parts if part.get("type") == "output_text"),
            stop=_responses_stop(said, [words(item.get("type")) for item in (*outputs, *parts)]),
            model=words(said.get("model")),
            input_tokens=usage.input if usage else None,
            output_tokens=usage.output if usage else None,
        )


def without_thought(text: str) -> str:
    """A reply without the reasoning at its head, and without its template's marks. Reasoning that never ends leaves
    nothing."""
    channel = _CHANNEL.match(text)
    if channel:
        final = channel if channel["name"] == "final" else _FINAL.search(text, channel.end())
        text = text[final.end() :] if final else ""
    text = _unmarked(text)
    return _THOUGHT.sub("", text, count=1) if _THOUGHT.match(text) else text


def _unmarked(text: str) -> str:
    """Without marks at its ends."""
    first = _FIRST.match(text)
    start, end = first.end() if first else 0, len(text.rstrip())
    while mark := _LAST.search(text, max(end - LONGEST_MARK, start), end):
        end = mark.start()
        while end > start and text[end - 1].isspace():
            end -= 1
    return text[start:end] if first or end < len(text.rstrip()) else text


def _chat_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(words(part.get("text")) for part in items(content) if part.get("type") == "text")


def _chat_stop(message: Mapping[str, Any], reason: str) -> Stop:
    if message.get("refusal"):
        return "refusal"
    if message.get("tool_calls") or message.get("function_call"):
        return "tool"
    return _STOPS.get(reason, "other")


def _responses_stop(said: Mapping[str, Any], types: list[str]) -> Stop:
    if "refusal" in types:
        return "refusal"
    if any(kind.endswith("_call") for kind in types):
        return "tool"
    if said.get("status") == "incomplete":
        details = said.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else ""
        return _INCOMPLETE.get(words(reason), "other")
    return "end" if said.get("status") == "completed" else "other"
