"""What pi's entries say: put into words as pi itself puts them to the model, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldline.dialects.base import argument_object, argument_text, is_str, opaque, plain_text, rest, unopaque
from foldline.dialects.pi_entries import MADE
from foldline.model import Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall, ToolResult

COUNTS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
"""What pi takes the size of its context from, in the last answer."""


def read_entry(value: Mapping[str, Any]) -> tuple[Part, ...]:
    if is_str(value, "summary"):
        return (Text(value["summary"]),)
    message = value["message"] if value["type"] == "message" else value
    if message.get("role") == "bashExecution":
        return (Text(_ran(message)),)
    content = message.get("content")
    if message.get("role") == "toolResult" and is_str(message, "toolCallId"):
        plain = [part if isinstance(part, (Text, Media, Opaque)) else opaque(part) for part in _parts(content)]
        name = message["toolName"] if is_str(message, "toolName") else ""
        form = "string" if isinstance(content, str) else "blocks"
        return (ToolResult(message["toolCallId"], tuple(plain), message.get("isError") is True, name, form),)
    return _parts(content)


def write_entry(value: Mapping[str, Any], parts: Sequence[Part]) -> Mapping[str, Any]:
    """The entry saying something else; equal to the old one when it says the same."""
    if is_str(value, "summary"):
        return {**value, "summary": "\n".join(part.text for part in parts if isinstance(part, Text))}
    if value.get("type") != "message":
        return {**value, "content": _content(value.get("content"), parts)}
    message = value["message"]
    if message.get("role") == "bashExecution":
        if tuple(parts) == read_entry(value):
            return value
        kept = {key: message[key] for key in ("timestamp",) if key in message}
        return {**value, "message": {"role": "user", "content": [write_part(part) for part in parts], **kept}}
    result = parts[0] if len(parts) == 1 and isinstance(parts[0], ToolResult) else None
    if message.get("role") == "toolResult" and result is not None:
        made = _result(result, message.get("content"))
        unsaid = {"isError"} - message.keys() if not result.is_error else set()
        return {**value, "message": {**message, **{k: v for k, v in made.items() if k not in unsaid}}}
    return {**value, "message": {**message, "content": _content(message.get("content"), parts)}}


def new_message(message: Message) -> list[Mapping[str, Any]]:
    """Entries, without their ids, for a message made here."""
    others = [part for part in message.parts if not isinstance(part, ToolResult)]
    entries: list[Mapping[str, Any]] = [
        {"type": "message", "message": {"role": "toolResult", **_result(part, [])}} for part in message.results
    ]
    if not others:
        return entries
    content = [write_part(part) for part in others]
    if message.origin in (Origin.SUMMARY, Origin.PROGRAM, Origin.TOOL):
        details = {"origin": message.origin.value}
        made = {"type": "custom_message", "customType": MADE, "content": content, "display": True, "details": details}
        return [*entries, made]
    if message.role != "assistant":
        return [*entries, {"type": "message", "message": {"role": "user", "content": content}}]
    about = {name: message.extra[name] for name in _ABOUT if name in message.extra}
    ended = {"stopReason": "toolUse" if message.calls else "stop", "usage": _NO_USAGE}
    return [*entries, {"type": "message", "message": {"role": "assistant", "content": content, **ended, **about}}]


_ABOUT = ("api", "provider", "model", "usage", "stopReason", "timestamp")
"""What an answer says about itself: its thinking is sent as such only to the model that is named."""
_NO_USAGE = {**dict.fromkeys(COUNTS, 0), "cost": dict.fromkeys((*COUNTS[:4], "total"), 0)}
"""pi adds up what all answers cost, and ends with an error at one that does not say it."""


def _result(result: ToolResult, old: Any) -> dict[str, Any]:
    content = _content(old, result.content)
    named = {"toolName": result.name} if result.name else {}
    return {"toolCallId": result.call_id, **named, "content": content, "isError": result.is_error}


def _content(old: Any, parts: Sequence[Part]) -> Any:
    text = plain_text(parts)
    return text if isinstance(old, str) and text is not None else [write_part(part) for part in parts]


def _parts(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(map(read_part, content)) if isinstance(content, list) else ()


def read_part(block: Any) -> Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text, rest(block, "type", "text"))
        case {"type": "thinking", "thinking": str(text), "thinkingSignature": str(seal)} if seal:
            return Thinking(text, seal, rest(block, "type", "thinking", "thinkingSignature"))
        case {"type": "thinking", "thinking": str(text)}:
            return Thinking(text, "", rest(block, "type", "thinking"))
        case {"type": "toolCall", "id": str(id_), "name": str(name), "arguments": dict(arguments)}:
            return ToolCall(id_, name, argument_text(arguments), rest(block, "type", "id", "name", "arguments"))
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            return Media("image", mime, data, extra=rest(block, "type", "data", "mimeType"))
    return opaque(block)


def write_part(part: Part) -> Any:
    match part:
        case Text(text, extra):
            return {"type": "text", "text": text, **extra}
        case Thinking(text, seal, extra):
            sealed = {"thinkingSignature": seal} if seal else {}
            return {"type": "thinking", "thinking": text, **sealed, **extra}
        case ToolCall(id_, name, arguments, extra):
            return {"type": "toolCall", "id": id_, "name": name, "arguments": argument_object(arguments), **extra}
        case Media(kind, mime, data, url, extra):
            place = {"data": data, "mimeType": mime} if data else {"url": url, "mimeType": mime}
            return {"type": kind, **place, **extra}
        case ToolResult():
            return {"type": "text", "text": part.text}
    return unopaque(part)


def _ran(message: Mapping[str, Any]) -> str:
    """A command the user ran, in the words in which pi tells the model of it."""
    output, code = message.get("output"), message.get("exitCode")
    said = [f"Ran `{message.get('command', '')}`", f"```\n{output}\n```" if output else "(no output)"]
    text = "\n".join(said)
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text
