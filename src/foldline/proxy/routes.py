"""Which request is what: dialect and operation by path, and what is to be left alone by its body. Pure.

    …/messages                 anthropic          generate
    …/messages/count_tokens    anthropic          count
    …/chat/completions         openai-chat        generate
    …/responses                openai-responses   generate
    …:generateContent          gemini             generate      (…:streamGenerateContent too)
    …:countTokens              gemini             count

Every other path passes through. So do requests whose history lies with the provider, and those that ask the provider to
compact by itself. Where the agent works is looked for in what agents say of it to the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from foldline.model import Conversation, Part, Text
from foldline.proxy.headers import BYPASS, Pairs, value

Operation = Literal["generate", "count", "pass"]
SLOTS: Mapping[str, str] = {
    "anthropic": "messages",
    "openai-chat": "messages",
    "openai-responses": "input",
    "gemini": "contents",
}
"""Where each dialect's request keeps its messages."""
_PATHS: tuple[tuple[re.Pattern[bytes], str, Operation], ...] = (
    (re.compile(rb".*/messages"), "anthropic", "generate"),
    (re.compile(rb".*/messages/count_tokens"), "anthropic", "count"),
    (re.compile(rb".*/chat/completions"), "openai-chat", "generate"),
    (re.compile(rb".*/responses"), "openai-responses", "generate"),
    (re.compile(rb".*/models/([^/:]+):(?:generateContent|streamGenerateContent)"), "gemini", "generate"),
    (re.compile(rb".*/models/([^/:]+):countTokens"), "gemini", "count"),
)
_THREADS = re.compile(rb".*/threads/[^/]+/messages")
"""Messages of the Assistants API, whose history lies with the provider."""

_THINKING = "clear_thinking_"
"""Begins the name of the edit that drops thinking of earlier turns and nothing else."""

_FIRST = 8
"""Messages among which an agent says where it works, if it does so in messages."""
_FOLDER = re.compile(r"^[ \t]*(?:[-*][ \t]+)?(?:primary |current )?working directory:([^\n]*)", re.I | re.M)
"""A line of a system prompt, as Claude Code, opencode and pi write it. Blanks are taken off later: a pattern that does
so tries each of them."""
_CODEX = ("<environment_context>", "<cwd>", "</cwd>")
"""How a message begins, as Codex writes it, and what stands around the folder."""
_LONGEST = 4_096
"""Characters of a folder's path, as the system allows them."""


@dataclass(frozen=True, slots=True)
class Route:
    """What a request is. `model` is that of the path, where the dialect has it there."""

    dialect: str
    operation: Operation
    model: str = ""
    framed: bool = False
    """A stream of one JSON array, as Gemini sends it to whoever does not ask for events."""


def find(method: str, path: bytes, query: bytes, headers: Pairs, dialect: str) -> Route:
    """The route of a request to a provider of `dialect`."""
    aside = Route(dialect, "pass")
    if method != "POST" or value(headers, BYPASS) not in (b"", b"0") or _THREADS.fullmatch(path):
        return aside
    plain = unquote_to_bytes(path)
    for pattern, spoken, operation in _PATHS:
        if match := pattern.fullmatch(plain):
            model = match[1].decode("utf-8", "replace") if match.groups() else ""
            framed = plain.endswith(b":streamGenerateContent") and b"alt=sse" not in query
            return Route(spoken, operation, model, framed)
    return aside


def folder(conversation: Conversation) -> str:
    """The folder in which the agent works, as it tells the model; nothing where it does not."""
    for found in filter(None, map(_in_system, _texts(conversation.head.system))):
        return found
    for message in conversation.messages[:_FIRST]:
        look = _in_system if message.role == "system" else _in_message if message.role == "user" else None
        for found in filter(None, map(look, _texts(message.parts)) if look else ()):
            return found
    return ""


def _texts(parts: tuple[Part, ...]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Text)]


@lru_cache(maxsize=64)
def _in_system(text: str) -> str:
    """The same long prompt comes with every request."""
    named = (found[1].strip(" \t\r") for found in _FOLDER.finditer(text))
    return next(filter(None, named), "").strip("`'\"")


def _in_message(text: str) -> str:
    begins, before, behind = _CODEX
    if not text[:_LONGEST].lstrip().startswith(begins):
        return ""
    start = text.find(before) + len(before)
    end = text.find(behind, start, start + _LONGEST) if start >= len(before) else -1
    return text[start:end].strip() if end >= 0 else ""


def left_alone(dialect: str, request: Mapping[str, Any]) -> str:
    """Why this request is not ours to change; nothing when it is."""
    if dialect == "openai-responses" and (request.get("previous_response_id") or request.get("conversation")):
        return "history-elsewhere"
    if _compacts(request.get("context_management")):
        return "native-compaction"
    if dialect == "openai-responses" and request.get("truncation") == "auto":
        return "native-truncation"
    if dialect == "gemini" and (request.get("cachedContent") or request.get("cached_content")):
        return "history-elsewhere"
    return ""


def _compacts(wish: Any) -> bool:
    """Whether the provider is asked to take away more than old thinking, which Claude Code asks of every request."""
    edits = wish.get("edits") if isinstance(wish, dict) else wish
    if not isinstance(edits, list):
        return bool(edits)
    return not all(isinstance(edit, dict) and str(edit.get("type")).startswith(_THINKING) for edit in edits)
