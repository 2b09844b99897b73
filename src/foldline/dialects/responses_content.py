"""Blocks inside OpenAI Responses messages and tool outputs: input_text, output_text, refusal, input_image, input_file.

A part's `extra` keeps `type` only where it is not the usual one of its speaker. Items are in `openai_responses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldline.dialects.base import is_str, opaque, rest, unopaque
from foldline.dialects.chat_content import data_uri, split_uri
from foldline.model import Media, Opaque, Part, Role, Text

_TEXTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_IMAGES = frozenset({"input_image", "computer_screenshot"})


def read_block(block: Any, role: Role) -> Text | Media | Opaque:
    """A block of a message with that role, or of a tool's output."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        return opaque(block)
    if kind in _TEXTS and is_str(block, "text"):
        return Text(block["text"], _noted(rest(block, "type", "text"), kind, _usual_text(role)))
    if kind == "refusal" and is_str(block, "refusal"):
        return Text(block["refusal"], rest(block, "refusal"))
    if kind in _IMAGES:
        return _read_image(block, kind)
    return _read_file(block) if kind == "input_file" else opaque(block)


def write_block(part: Part, role: Role) -> Any:
    match part:
        case Text(text, extra):
            kind = extra.get("type", _usual_text(role))
            return {"type": kind, "refusal" if kind == "refusal" else "text": text, **rest(extra, "type")}
        case Media(kind="image", mime=mime, data=data, url=url, extra=extra):
            return {"type": "input_image", **_filled("image_url", data_uri(mime, data) if data else url), **extra}
        case Media(mime=mime, data=data, url=url, extra=extra):
            whole = data_uri(mime, data) if mime and data else data
            return {"type": "input_file", **_filled("file_data", whole), **_filled("file_url", url), **extra}
        case Opaque():
            return unopaque(part)
    raise TypeError(f"{type(part).__name__} is no content of a Responses message")


def _usual_text(role: Role) -> str:
    return "output_text" if role == "assistant" else "input_text"


def _noted(extra: Mapping[str, Any], kind: str, usual: str) -> Mapping[str, Any]:
    return extra if kind == usual else {"type": kind, **extra}


def _filled(key: str, value: str) -> Mapping[str, str]:
    return {key: value} if value else {}


def _read_image(block: Mapping[str, Any], kind: str) -> Media:
    url = block["image_url"] if is_str(block, "image_url") else ""
    extra = rest(block, "type", "image_url") if url else rest(block, "type")
    return Media("image", *split_uri(url), extra=_noted(extra, kind, "input_image"))


def _read_file(block: Mapping[str, Any]) -> Media:
    data, url = (block[key] if is_str(block, key) else "" for key in ("file_data", "file_url"))
    mime, inner, plain = split_uri(data)
    taken = ("type", *_filled("file_data", data), *_filled("file_url", url))
    return Media("document", mime, inner or plain, url, extra=rest(block, *taken))
