"""What a provider said a request cost, in one form: `usage_from(dialect, response) -> Usage | None`.

Reads plain dicts and the SDKs' objects alike, whole responses and stream events that carry usage. It counts nothing.

    Anthropic          input_tokens leaves the cache out: reads and writes are added
    OpenAI chat        prompt_tokens is the whole; prompt_tokens_details.cached_tokens is part of it
    OpenAI responses   input_tokens is the whole; input_tokens_details.cached_tokens is part of it
    Gemini             promptTokenCount is the whole; cachedContentTokenCount is part of it

Where the provider ran tools on its own servers, it reports the sum of all it sent to the model meanwhile: of that, only
what is reported for the first step is about the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldline.core.counting.meter import Usage

_HOLDERS = ("usage", "usageMetadata", "usage_metadata")
_WRAPPERS = ("message", "response")
"""Where stream events keep the response they speak of: `message_start`, `response.completed`."""

_WHOLE_INPUT = frozenset({"openai-responses", "codex"})
"""Dialects whose `input_tokens` includes the cache even when no details say so."""

_REQUESTS = ("web_search_requests", "web_fetch_requests")
"""Anthropic's counts of its own tools' requests. After each request the model was sent another prompt."""
_SERVED = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
)
"""Items in the output of the Responses API that show that its servers ran tools."""


def usage_from(dialect: str, response: Any) -> Usage | None:
    """The usage that a response reports; None if it reports none, or only what was written, or only a sum over
    several prompts."""
    holder, usage = _find(response)
    if usage is None or any(_get(item, "type") in _SERVED for item in _list(_get(holder, "output"))):
        return None
    if _number(usage, "prompt_tokens") is not None:
        return _chat(usage)
    if _number(usage, "promptTokenCount", "prompt_token_count") is not None:
        return _gemini(usage)
    if _number(usage, "input_tokens") is None:
        return None
    if dialect in _WHOLE_INPUT or _get(usage, "input_tokens_details") is not None:
        return _responses(usage)
    return _anthropic_step(usage)


def _anthropic_step(usage: Any) -> Usage | None:
    """The usage of the prompt as it was sent; None if it is only known for a prompt that the servers compacted or
    added to."""
    steps = _list(_get(usage, "iterations"))
    if steps and _get(steps[0], "type") == "compaction":
        return None
    asked = next((step for step in steps if _get(step, "type") == "message"), None)
    served = _get(usage, "server_tool_use")
    if asked is None and any(_number(served, name) for name in _REQUESTS):
        return None
    return _anthropic(usage if asked is None else asked)


def _chat(usage: Any) -> Usage:
    details = _get(usage, "prompt_tokens_details")
    return _usage(usage, ("prompt_tokens",), ("completion_tokens",), details, ("cached_tokens",))


def _responses(usage: Any) -> Usage:
    details = _get(usage, "input_tokens_details")
    return _usage(usage, ("input_tokens",), ("output_tokens",), details, ("cached_tokens",))


def _gemini(usage: Any) -> Usage:
    cached = ("cachedContentTokenCount", "cached_content_token_count")
    whole = ("promptTokenCount", "prompt_token_count")
    found = _usage(usage, whole, ("candidatesTokenCount", "candidates_token_count"), usage, cached)
    thoughts = _number(usage, "thoughtsTokenCount", "thoughts_token_count") or 0
    return Usage(found.input, found.output + thoughts, found.cache_read, 0)


def _anthropic(usage: Any) -> Usage:
    read = _number(usage, "cache_read_input_tokens") or 0
    written = _number(usage, "cache_creation_input_tokens") or 0
    fresh = _number(usage, "input_tokens") or 0
    return Usage(fresh + read + written, _number(usage, "output_tokens") or 0, read, written)


def _usage(usage: Any, whole: tuple[str, ...], out: tuple[str, ...], details: Any, cached: tuple[str, ...]) -> Usage:
    read = _number(details, *cached) or 0
    return Usage(_number(usage, *whole) or 0, _number(usage, *out) or 0, read, 0)


def _find(response: Any) -> tuple[Any, Any]:
    """The response without its wrapper, and its usage."""
    for holder in _HOLDERS:
        if (usage := _get(response, holder)) is not None:
            return response, usage
    for wrapper in _WRAPPERS:
        inner = _get(response, wrapper)
        if inner is not None and not isinstance(inner, str):
            return _find(inner)
    return response, None


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _number(holder: Any, *names: str) -> int | None:
    for name in names:
        value = _get(holder, name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
            return int(value)
    return None


def _get(holder: Any, name: str) -> Any:
    """A field by key or by attribute; an object that has neither is asked for its dict."""
    if isinstance(holder, Mapping):
        return holder.get(name)
    value = getattr(holder, name, None)
    if value is None:
        for method in ("model_dump", "to_dict"):
            if callable(dump := getattr(holder, method, None)) and isinstance(fields := dump(), Mapping):
                return fields.get(name)
    return value
