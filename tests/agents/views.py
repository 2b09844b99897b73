"""What a transcript says, and what its agent then sends: both as plain values that can be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foldline import dialects
from foldline.dialects.base import Source
from foldline.model import Text, Thinking, ToolCall, ToolResult


def of_file(path: Path) -> list[tuple[str, ...]]:
    return _said(path.read_bytes(), None)


def of_request(body: Any, dialect: str) -> list[tuple[str, ...]]:
    return _said(json.dumps(body).encode(), dialect)


def _said(data: bytes, dialect: str | None) -> list[tuple[str, ...]]:
    """The parts in their order. What a system prompt says is left out: transcripts of these agents have none."""
    messages = dialects.read(Source(data), dialect=dialect).messages
    return [_part(message.role, part) for message in messages if message.role != "system" for part in message.parts]


def _part(role: str, part: Any) -> tuple[str, ...]:
    match part:
        case ToolResult():
            return "result", part.call_id, part.text.strip()
        case ToolCall(id_, name, arguments):
            return "call", id_, name, json.dumps(json.loads(arguments), sort_keys=True)
        case Thinking(text) | Text(text):
            return type(part).__name__, role, text.strip()
    return type(part).__name__, role
