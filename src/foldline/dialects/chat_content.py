"""The content blocks of OpenAI's Chat Completions: text, refusal, image_url, input_audio, file.

A part's `extra` keeps a key that its typed fields used up only as a note: `type` when it is not the usual one, and
`image_url`, `input_audio` or `file` for the further fields inside that object. Messages are in `openai_chat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldline.dialects.base import is_str, opaque, rest, unopaque
from foldline.model import EMPTY, Media, Opaque, Part, Text

_SCHEME, _BASE64 = "data:", ";base64,"


def read_block(block: Any) -> Text | Media | Opaque:
    kind = block.get("type") if isinstance(block, dict) else None
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return reader(block) if reader else opaque(block)


def write_block(part: Part) -> Any:
    match part:
        case Text(text, extra):
            kind = "refusal" if extra.get("type") == "refusal" else "text"
            return {"type": kind, kind: text, **rest(extra, "type")}
        case Media():
            return _WRITERS.get(part.kind, _write_file)(part)
        case Opaque():
            return unopaque(part)
    raise TypeError(f"{type(part).__name__} is no content of a chat message")


def data_uri(mime: str, data: str) -> str:
    return f"{_SCHEME}{mime}{_BASE64}{data}"


def split_uri(url: str) -> tuple[str, str, str]:
    """The mime type and data of a base64 data URI and no url; or neither, and the url as it is."""
    head, found, data = url.partition(_BASE64)
    mime = head.removeprefix(_SCHEME)
    return (mime, data, "") if found and data and mime and head != mime else ("", "", url)


def nested(block: Mapping[str, Any], key: str, *taken: str) -> dict[str, Any]:
    """The further fields of a block, and of the object at `key` inside it."""
    inner = rest(block[key], *taken)
    return {**rest(block, "type", key), **({key: inner} if inner else {})}


def _read_text(block: Mapping[str, Any]) -> Text | Opaque:
    return Text(block["text"], rest(block, "type", "text")) if is_str(block, "text") else opaque(block)


def _read_refusal(block: Mapping[str, Any]) -> Text | Opaque:
    return Text(block["refusal"], rest(block, "refusal")) if is_str(block, "refusal") else opaque(block)


def _read_image(block: Mapping[str, Any]) -> Media | Opaque:
    inner = block.get("image_url")
    if isinstance(inner, str):  # some servers take the address itself; the note is that string, emptied
        return Media("image", *split_uri(inner), extra={**rest(block, "type"), "image_url": ""})
    if not isinstance(inner, dict) or not is_str(inner, "url"):
        return opaque(block)
    return Media("image", *split_uri(inner["url"]), extra=nested(block, "image_url", "url") or EMPTY)


def _write_image(part: Media) -> Mapping[str, Any]:
    url, inner = data_uri(part.mime, part.data) if part.data else part.url, part.extra.get("image_url", EMPTY)
    written = url if isinstance(inner, str) else {"url": url, **inner}
    return {"type": "image_url", **part.extra, "image_url": written}


def _read_audio(block: Mapping[str, Any]) -> Media | Opaque:
    inner = block.get("input_audio")
    if not isinstance(inner, dict) or not is_str(inner, "data"):
        return opaque(block)
    mime = f"audio/{inner['format']}" if is_str(inner, "format") else ""
    return Media("audio", mime, inner["data"], extra={**rest(block, "type"), "input_audio": rest(inner, "data")})


def _write_audio(part: Media) -> Mapping[str, Any]:
    inner = part.extra.get("input_audio", {"format": part.mime.rpartition("/")[2] or "wav"})
    return {"type": "input_audio", **part.extra, "input_audio": {"data": part.data, **inner}}


def _read_file(block: Mapping[str, Any]) -> Media | Opaque:
    inner = block.get("file")
    if not isinstance(inner, dict):
        return opaque(block)
    if not is_str(inner, "file_data") or not inner["file_data"]:
        return Media("document", extra={**rest(block, "type"), "file": inner})
    mime, data, plain = split_uri(inner["file_data"])
    return Media("document", mime, data or plain, extra=nested(block, "file", "file_data") or EMPTY)


def _write_file(part: Media) -> Mapping[str, Any]:
    data = data_uri(part.mime, part.data) if part.data and part.mime else part.data or part.url
    written = {**({"file_data": data} if data else {}), **part.extra.get("file", EMPTY)}
    return {"type": "file", **part.extra, "file": written}


_READERS: Mapping[str, Any] = {
    "text": _read_text,
    "refusal": _read_refusal,
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}
_WRITERS: Mapping[str, Any] = {"image": _write_image, "audio": _write_audio}
