"""Anthropic Messages requests: `messages` of user and assistant, content as a string or as blocks.

Tool results ride in the user message after the step that called; thinking carries a signature. The blocks are shared
with Claude Code's transcripts, whose rows hold the same objects. What the provider accepts is the validator's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldline.dialects.base import (
    RequestDialect,
    argument_object,
    argument_text,
    is_str,
    opaque,
    plain_text,
    rest,
    unopaque,
)
from foldline.model import (
    Grammar,
    Head,
    Media,
    Message,
    Opaque,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)

GRAMMAR = Grammar(
    thinking_opens=True,
    step="run",
    merges=True,
    results="joined",
    results_role="user",
    texts_beside_results=True,
    adjacent=True,
    unique_ids=True,
    user_first=True,
    empty_text=False,
    bare_end=True,
)
_ROLES: Mapping[str, tuple[Role, Origin]] = {
    "user": ("user", Origin.USER),
    "assistant": ("assistant", Origin.ASSISTANT),
    "system": ("system", Origin.SYSTEM),
}
_MEDIA = frozenset({"image", "document"})
_BLOCK_WORDS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"})


class Anthropic(RequestDialect):
    name = "anthropic"
    api = "anthropic"
    slot = "messages"
    grammar = GRAMMAR

    def fits(self, value: Any) -> int:
        messages = value.get("messages") if isinstance(value, dict) else value
        if not isinstance(messages, list) or not all(isinstance(m, dict) and "role" in m for m in messages):
            return 0
        if any(m["role"] not in ("user", "assistant", "system") or "tool_calls" in m for m in messages):
            return 0
        if any(block_words(m.get("content")) for m in messages):
            return 95
        if any(m["role"] == "system" for m in messages):
            return 0
        return 70 if isinstance(value, dict) and _signs(value) else 30

    def parse(self, value: Mapping[str, Any]) -> Message:
        said = value.get("role")
        if not isinstance(said, str) or said not in _ROLES:
            return Message("user", Origin.PROGRAM, (opaque(value),), form="opaque")
        role, origin = _ROLES[said]
        form, parts = read_content(value)
        if role == "user" and parts and all(type(part) is ToolResult for part in parts):
            origin = Origin.TOOL
        extra = rest(value, "role") if form == "other" else rest(value, "role", "content")
        return Message(role, origin, parts, id=value["id"] if is_str(value, "id") else "", form=form, extra=extra)

    def build(self, message: Message) -> Mapping[str, Any]:
        if message.form == "opaque" and len(message.parts) == 1 and isinstance(message.parts[0], Opaque):
            return dict(message.parts[0].extra)
        content = write_content(message)
        return {"role": "user" if message.role == "tool" else message.role, **content, **message.extra, **content}

    def head(self, request: Mapping[str, Any]) -> Head:
        thinking, limit = request.get("thinking"), request.get("max_tokens")
        return Head(
            model=request["model"] if is_str(request, "model") else "",
            system=read_blocks(request.get("system")),
            tools=read_tools(request.get("tools")),
            max_output=limit if isinstance(limit, int) else None,
            thinking=isinstance(thinking, dict) and thinking.get("type") not in (None, "disabled"),
            thinks_first=isinstance(thinking, dict) and thinking.get("type") == "enabled",
        )


def read_content(value: Mapping[str, Any]) -> tuple[str, tuple[Part, ...]]:
    """How the content was written, and its parts. Content that is neither string nor list stays in the extra fields."""
    content = value.get("content")
    if isinstance(content, str):
        return "string", (Text(content),)
    if isinstance(content, list):
        return "blocks", tuple(map(read_block, content))
    return "other", ()


def write_content(message: Message) -> Mapping[str, Any]:
    if message.form == "other" and not message.parts:
        return {}
    text = plain_text(message.parts)
    if message.form == "string" and text is not None:
        return {"content": text}
    return {"content": [write_block(part) for part in message.parts]}


def read_blocks(content: Any) -> tuple[Part, ...]:
    """Parts of something that may be a string, a list of blocks, or nothing."""
    if isinstance(content, str):
        return (Text(content),)
    return tuple(map(read_block, content)) if isinstance(content, list) else ()


def read_block(block: Any) -> Part:
    if not isinstance(block, dict):
        return opaque(block)
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return reader(block) if reader else opaque(block)


def write_block(part: Part) -> Any:
    match part:
        case Text(text, extra):
            return {"type": "text", "text": text, **extra}
        case Thinking(text, seal, extra):
            if extra.get("type") == "redacted_thinking":
                return {**extra, "data": seal}
            return {"type": "thinking", "thinking": text, **({"signature": seal} if seal else {}), **extra}
        case ToolCall(id_, name, arguments, extra):
            return {"type": "tool_use", "id": id_, "name": name, "input": argument_object(arguments), **extra}
        case ToolResult():
            return _write_result(part)
        case Media():
            return _write_media(part)
        case Opaque():
            return unopaque(part)


def _read_text(block: Mapping[str, Any]) -> Part:
    return Text(block["text"], rest(block, "type", "text")) if is_str(block, "text") else opaque(block)


def _read_thinking(block: Mapping[str, Any]) -> Part:
    if not is_str(block, "thinking"):
        return opaque(block)
    seal = block["signature"] if is_str(block, "signature") else ""
    taken = ("type", "thinking", "signature") if seal else ("type", "thinking")
    return Thinking(block["thinking"], seal, rest(block, *taken))


def _read_redacted(block: Mapping[str, Any]) -> Part:
    return Thinking("", block["data"], rest(block, "data")) if is_str(block, "data") else opaque(block)


def _read_call(block: Mapping[str, Any]) -> Part:
    if not is_str(block, "id", "name") or not isinstance(block.get("input"), dict):
        return opaque(block)
    return ToolCall(
        block["id"], block["name"], argument_text(block["input"]), rest(block, "type", "id", "name", "input")
    )


def _read_result(block: Mapping[str, Any]) -> Part:
    if not is_str(block, "tool_use_id"):
        return opaque(block)
    content, failed = block.get("content"), block.get("is_error") is True
    taken = ["type", "tool_use_id", *(["is_error"] if failed else [])]
    if not isinstance(content, (str, list)):
        return ToolResult(block["tool_use_id"], (), failed, form="other", extra=rest(block, *taken))
    form = "string" if isinstance(content, str) else "blocks"
    return ToolResult(
        block["tool_use_id"], _plain_parts(content), failed, form=form, extra=rest(block, *taken, "content")
    )


def _plain_parts(content: str | Sequence[Any]) -> tuple[Text | Media | Opaque, ...]:
    """A result's content: text and media; anything else stays opaque."""
    if isinstance(content, str):
        return (Text(content),)
    parts = ((block, read_block(block)) for block in content)
    return tuple(part if isinstance(part, (Text, Media, Opaque)) else opaque(block) for block, part in parts)


def _write_result(part: ToolResult) -> Mapping[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": part.call_id}
    text = plain_text(part.content)
    if part.form == "string" and text is not None:
        block["content"] = text
    elif part.content or part.form != "other":
        block["content"] = [write_block(inner) for inner in part.content]
    if part.is_error:
        block["is_error"] = True
    return {**block, **part.extra, **block}


def _read_media(block: Mapping[str, Any]) -> Part:
    source = block.get("source")
    if not isinstance(source, dict):
        return opaque(block)
    mime = source["media_type"] if is_str(source, "media_type") else ""
    key = {"base64": "data", "url": "url"}.get(source["type"] if is_str(source, "type") else "", "")
    if not key or not is_str(source, key) or not source[key]:
        return Media(block["type"], mime, extra=rest(block, "type"))
    extra = {**rest(block, "type"), "source": rest(source, key)}
    return Media(block["type"], mime, **{key: source[key]}, extra=extra)


def _write_media(part: Media) -> Mapping[str, Any]:
    kind = part.kind if part.kind in _MEDIA else "document"
    source = dict(part.extra["source"]) if isinstance(part.extra.get("source"), Mapping) else _source(part)
    if part.data:
        source["data"] = part.data
    elif part.url:
        source["url"] = part.url
    return {"type": kind, **part.extra, "source": source}


def _source(part: Media) -> dict[str, Any]:
    return {"type": "base64", "media_type": part.mime} if part.data else {"type": "url"}


def read_tools(tools: Any) -> tuple[Tool, ...]:
    """Tool definitions, each with its JSON for counting."""
    if not isinstance(tools, list):
        return ()
    return tuple(Tool(tool_name(tool), argument_text(tool)) for tool in tools)


def tool_name(tool: Any) -> str:
    """A definition's name, wherever the dialect puts it."""
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    inner = function if isinstance(function, dict) else tool
    return str(inner.get("name") or tool.get("type") or "")


def block_words(content: Any) -> bool:
    """The content has a block that only this dialect writes."""
    return isinstance(content, list) and any(
        is_str(b, "type") and b["type"] in _BLOCK_WORDS for b in content if isinstance(b, dict)
    )


def _signs(request: Mapping[str, Any]) -> bool:
    model = request.get("model")
    claude = isinstance(model, str) and "claude" in model
    return claude or "system" in request or "anthropic_version" in request


_READERS: Mapping[str, Any] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    "tool_use": _read_call,
    "tool_result": _read_result,
    "image": _read_media,
    "document": _read_media,
}
