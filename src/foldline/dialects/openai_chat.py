"""OpenAI Chat Completions requests, and the many servers that speak the same: `messages` with roles.

Calls lie beside the content in `tool_calls`, results in messages of role tool; the older `function_call` with its role
function has no ids and is given some. Reasoning comes in fields of its own, whose names differ by server.
The calls are in `chat_calls`, the content blocks in `chat_content`. What a server accepts is the validator's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldline.dialects import ids, jsontext
from foldline.dialects.anthropic import block_words, read_tools
from foldline.dialects.base import argument_text, is_str, opaque, plain_text, rest
from foldline.dialects.chat_calls import (
    LEGACY,
    is_legacy,
    read_call,
    read_legacy,
    stands_in_calls,
    write_call,
    write_legacy,
)
from foldline.dialects.chat_content import read_block, write_block
from foldline.dialects.shaped import OPAQUE, ShapedDialect, one, whole
from foldline.model import (
    EMPTY,
    VOID,
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
    ToolCall,
    ToolResult,
)

GRAMMAR = Grammar(step="message", results="apart", results_role="tool", texts_beside_results=False, adjacent=True)
_ROLES: Mapping[str, tuple[Role, Origin]] = {
    "system": ("system", Origin.SYSTEM),
    "developer": ("system", Origin.SYSTEM),
    "user": ("user", Origin.USER),
    "assistant": ("assistant", Origin.ASSISTANT),
    "tool": ("tool", Origin.TOOL),
    "function": ("tool", Origin.TOOL),
}
_REASONING = ("reasoning_content", "reasoning")
"""Fields with the model's reasoning: DeepSeek and vLLM write the first, OpenRouter and newer vLLM the second."""
_DETAILS = "reasoning_details"
"""OpenRouter's signed or encrypted reasoning, which the provider checks: it is the seal."""
_REFUSAL, _AUDIO = "message.refusal", "message.audio"
"""The `type` noted on a part that is a field of the message; no content block keeps its type there."""
_BLOCK_WORDS = frozenset({"image_url", "input_audio", "file", "refusal"})
_FOREIGN_WORDS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_REQUEST_WORDS = frozenset({"max_completion_tokens", "reasoning_effort", "response_format", "functions", "logprobs"})


class OpenAIChat(ShapedDialect):
    name = "openai-chat"
    api = "openai-chat"
    slot = "messages"
    grammar = GRAMMAR

    def fits(self, value: Any) -> int:
        messages = value.get("messages") if isinstance(value, dict) else value
        if not isinstance(messages, list) or not all(isinstance(m, dict) and _known_role(m) for m in messages):
            return 0
        if any(block_words(m.get("content")) or has_words(m.get("content"), _FOREIGN_WORDS) for m in messages):
            return 0
        if any(_signs(m) for m in messages):
            return 95
        asked = isinstance(value, dict) and (value.keys() & _REQUEST_WORDS or _function_tools(value.get("tools")))
        return 75 if asked or any(m["role"] == "system" for m in messages) else 40

    def parse(self, value: Mapping[str, Any]) -> Message:
        return read_message(value)

    def build(self, message: Message) -> Mapping[str, Any]:
        return write_message(message)

    def messages(self, values: Sequence[Any], rows: Sequence[bytes], name: str) -> tuple[Message, ...]:
        return ids.assign(super().messages(values, rows, name))

    def split(self, message: Message) -> tuple[Message, ...]:
        return split(message)

    def head(self, request: Mapping[str, Any]) -> Head:
        limits = (request.get("max_completion_tokens"), request.get("max_tokens"))
        return Head(
            model=request["model"] if is_str(request, "model") else "",
            tools=read_tools(request.get("tools")) + read_tools(request.get("functions")),
            max_output=next((limit for limit in limits if isinstance(limit, int)), None),
            thinking=request.get("reasoning_effort") not in (None, "none"),
        )


def read_message(value: Mapping[str, Any]) -> Message:
    """One message, typed. One with an unknown role, or a result that names no call, stays whole and opaque."""
    if not _known_role(value):
        return Message("user", Origin.PROGRAM, (opaque(value),), form=OPAQUE)
    role, origin = _ROLES[value["role"]]
    if role == "tool":
        return _read_result(value)
    form, content = _read_content(value.get("content"))
    before, after, used = _read_beside(value) if role == "assistant" else ((), (), ())
    extra = rest(value, *used, *(("role",) if value["role"] == role else ()), *_content_key(form))
    id_ = value["id"] if is_str(value, "id") else ""
    return Message(role, origin, (*before, *content, *after), id=id_, form=form, extra=extra)


def write_message(message: Message) -> dict[str, Any]:
    """The message again, from its parts alone."""
    block = whole(message)
    if block is not None:
        return dict(block.extra)
    message = one(split(message), OpenAIChat.name)
    if message.results:
        return _write_result(message, message.results[0])
    content = [part for part in message.parts if _is_content(part)]
    made = {**_write_content(content, message.form, empty=None if message.calls else ""), **_write_beside(message)}
    return {"role": message.role, **made, **message.extra, **made}


def split(message: Message) -> tuple[Message, ...]:
    """Each result in a message of its own, then whatever else was said beside them."""
    others = tuple(part for part in message.parts if type(part) is not ToolResult)
    if len(message.results) + bool(others) < 2:
        return (message,)
    apart = [Message("tool", Origin.TOOL, (part,)) for part in message.results]
    role: Role = "user" if message.role == "tool" else message.role
    return (*apart, *([replace(message, role=role, parts=others)] if others else []))


def _read_content(content: Any) -> tuple[str, tuple[Text | Media | Opaque, ...]]:
    """How the content was written, and its parts. Neither a string nor a filled list: it stays in the extra fields."""
    if isinstance(content, str):
        return "string", (Text(content),)
    return ("blocks", tuple(map(read_block, content))) if content and isinstance(content, list) else ("other", ())


def _content_key(form: str) -> tuple[str, ...]:
    return () if form in ("other", VOID) else ("content",)


def _write_content(parts: Sequence[Part], form: str, empty: str | None) -> dict[str, Any]:
    text = plain_text(parts)
    if text is not None and form != "blocks":
        return {"content": text}
    if parts:
        return {"content": [write_block(part) for part in parts]}
    return {} if form in ("other", VOID) else {"content": empty}


def _is_content(part: Part) -> bool:
    if isinstance(part, Opaque):
        return not stands_in_calls(part)
    return isinstance(part, (Text, Media)) and part.extra.get("type") not in (_REFUSAL, _AUDIO)


def _read_result(value: Mapping[str, Any]) -> Message:
    legacy, key = value["role"] == "function", "name" if value["role"] == "function" else "tool_call_id"
    if not is_str(value, key) or (not legacy and ids.is_made(value[key])):
        return Message("tool", Origin.TOOL, (opaque(value),), form=OPAQUE)
    form, content = _read_content(value.get("content"))
    form = VOID if form == "other" and not value.get("content") else form
    call_id = ids.made_id(value["name"]) if legacy else value["tool_call_id"]
    name = value["name"] if is_str(value, "name") else ""
    extra = rest(value, *(() if legacy else ("role", "tool_call_id")), *_content_key(form))
    return Message("tool", Origin.TOOL, (ToolResult(call_id, content, name=name, form=form),), extra=extra)


def _write_result(message: Message, result: ToolResult) -> dict[str, Any]:
    content = _write_content(result.content, result.form, empty="")
    if message.extra.get("role") == "function" or ids.is_made(result.call_id):
        made = {"role": "function", "name": result.name or ids.name_in(result.call_id)}
    else:
        made = {"role": "tool", "tool_call_id": result.call_id}
    return {**made, **content, **message.extra, **content}


def _read_beside(value: Mapping[str, Any]) -> tuple[tuple[Part, ...], tuple[Part, ...], tuple[str, ...]]:
    """What an assistant message says in other fields: before its content, after it, and the fields used up."""
    before, used = _read_reasoning(value)
    after: list[Part] = []
    if is_str(value, "refusal") and value["refusal"]:
        after, used = [Text(value["refusal"], {"type": _REFUSAL})], [*used, "refusal"]
    if isinstance(value.get("audio"), dict):
        after, used = [*after, _read_audio(value["audio"])], [*used, "audio"]
    if isinstance(value.get("tool_calls"), list) and value["tool_calls"]:
        after, used = [*after, *map(read_call, value["tool_calls"])], [*used, "tool_calls"]
    legacy = read_legacy(value.get(LEGACY))
    if legacy is not None:
        after, used = [*after, legacy], [*used, LEGACY]
    return tuple(before), tuple(after), tuple(used)


def _write_beside(message: Message) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for part in message.parts:
        match part:
            case Thinking(text, seal, extra):
                field = extra.get("type", _REASONING[0])
                made |= {} if field == _DETAILS else {field: text}
                made |= {_DETAILS: jsontext.decode(seal.encode())} if seal else {}
            case Text(text, extra) if extra.get("type") == _REFUSAL:
                made["refusal"] = text
            case Media(data=data, extra=extra) if extra.get("type") == _AUDIO:
                made["audio"] = {**({"data": data} if data else {}), **extra["audio"]}
            case ToolCall() if is_legacy(part):
                made[LEGACY] = write_legacy(part)
    calls = [write_call(part) for part in message.parts if stands_in_calls(part)]
    return {**made, **({"tool_calls": calls} if calls else {})}


def _read_reasoning(value: Mapping[str, Any]) -> tuple[list[Part], list[str]]:
    used = [field for field in _REASONING if is_str(value, field) and value[field]]
    found = [Thinking(value[field], extra=EMPTY if field == _REASONING[0] else {"type": field}) for field in used]
    details = value.get(_DETAILS)
    if not isinstance(details, list) or not details:
        return [*found], used
    first = found[0] if found else Thinking("", extra={"type": _DETAILS})
    return [replace(first, seal=argument_text(details)), *found[1:]], [*used, _DETAILS]


def _read_audio(audio: Mapping[str, Any]) -> Media:
    data = audio["data"] if is_str(audio, "data") else ""
    return Media("audio", data=data, extra={"type": _AUDIO, "audio": rest(audio, "data") if data else audio})


def _known_role(value: Mapping[str, Any]) -> bool:
    return is_str(value, "role") and value["role"] in _ROLES


def has_words(content: Any, words: frozenset[str]) -> bool:
    """The content has a block of one of these types."""
    return isinstance(content, list) and any(
        isinstance(block, dict) and is_str(block, "type") and block["type"] in words for block in content
    )


def _signs(message: Mapping[str, Any]) -> bool:
    said = message["role"] in ("tool", "function", "developer") or "tool_calls" in message or LEGACY in message
    return said or has_words(message.get("content"), _BLOCK_WORDS)


def _function_tools(tools: Any) -> bool:
    return isinstance(tools, list) and any(isinstance(t, dict) and isinstance(t.get("function"), dict) for t in tools)
