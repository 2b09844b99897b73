"""OpenAI Responses requests: `input` is a string, or a list of items, each one Message here.

An item is a message, a call, the output of a call, reasoning, or something of the provider's own, which stays whole:
calls that its servers answer themselves, compactions, references. The calls and outputs are in `responses_tools`,
the blocks of messages in `responses_content`. What the provider accepts is the validator's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldline.dialects.anthropic import read_tools
from foldline.dialects.base import is_str, opaque, plain_text, rest
from foldline.dialects.openai_chat import has_words
from foldline.dialects.responses_content import read_block, write_block
from foldline.dialects.responses_tools import (
    BY_ITEM_ID,
    CALLS,
    OUTPUTS,
    answer,
    read_call,
    read_output,
    write_call,
    write_output,
)
from foldline.dialects.shaped import OPAQUE, ShapedDialect, one, whole
from foldline.model import (
    Grammar,
    Head,
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

GRAMMAR = Grammar(
    step="run",
    results="apart",
    results_role="tool",
    texts_beside_results=False,
    adjacent=False,
    unique_ids=True,
)
_ROLES: Mapping[str, tuple[Role, Origin]] = {
    "system": ("system", Origin.SYSTEM),
    "developer": ("system", Origin.SYSTEM),
    "user": ("user", Origin.USER),
    "assistant": ("assistant", Origin.ASSISTANT),
}
_SPEAKERS: Mapping[str, tuple[Role, Origin]] = {
    "message": ("user", Origin.PROGRAM),
    "compaction": ("assistant", Origin.SUMMARY),
    "compaction_summary": ("assistant", Origin.SUMMARY),
    "context_compaction": ("assistant", Origin.SUMMARY),
    "compaction_trigger": ("user", Origin.PROGRAM),
    "mcp_approval_response": ("user", Origin.USER),
    "additional_tools": ("system", Origin.SYSTEM),
    "configuration_update": ("system", Origin.SYSTEM),
}
"""Who speaks in an item that stays whole, where it is not the model. A message stays whole when its role is unknown."""
_COMPACTED = frozenset({"compaction", "compaction_summary", "context_compaction"})
_BLOCK_WORDS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_EASY = "easy-"
"""Begins the form of a message item that does not say that it is one."""


class OpenAIResponses(ShapedDialect):
    name = "openai-responses"
    api = "openai-responses"
    slot = "input"
    grammar = GRAMMAR

    def fits(self, value: Any) -> int:
        items = value.get("input") if isinstance(value, dict) else value
        if isinstance(items, str) and isinstance(value, dict):
            return 60
        if not isinstance(items, list) or not all(isinstance(i, dict) and ("type" in i or "role" in i) for i in items):
            return 0
        if any(_signs(item) for item in items):
            return 95
        return 80 if isinstance(value, dict) else 0

    def parse(self, value: Mapping[str, Any]) -> Message:
        return read_item(value)

    def build(self, message: Message) -> Mapping[str, Any]:
        return write_item(message)

    def messages(self, values: Sequence[Any], rows: Sequence[bytes], name: str) -> tuple[Message, ...]:
        return pair(super().messages(values, rows, name))

    def split(self, message: Message) -> tuple[Message, ...]:
        return split(message)

    def settle(self, result: ToolResult, call: ToolCall) -> ToolResult:
        return answer(result, call)

    def head(self, request: Mapping[str, Any]) -> Head:
        limit, reasoning = request.get("max_output_tokens"), request.get("reasoning")
        return Head(
            model=request["model"] if is_str(request, "model") else "",
            system=(Text(request["instructions"]),) if is_str(request, "instructions") else (),
            tools=read_tools(request.get("tools")),
            max_output=limit if isinstance(limit, int) else None,
            thinking=isinstance(reasoning, dict) and reasoning.get("effort") not in (None, "none"),
            remote=bool(request.get("previous_response_id") or request.get("conversation")),
        )


def read_item(value: Mapping[str, Any]) -> Message:
    """One item, typed. Whatever is not understood stays whole and opaque."""
    kind = value.get("type", "message")
    id_ = value["id"] if is_str(value, "id") else ""
    if kind == "message" and is_str(value, "role") and value["role"] in _ROLES:
        return _read_message(value, id_)
    part = _read_part(kind, value) if isinstance(kind, str) else opaque(value)
    role, origin = _speaker(kind, part) if isinstance(kind, str) else _SPEAKERS["message"]
    if isinstance(kind, str) and _sealed(kind, value):
        role, origin = "system", Origin.SUMMARY if origin is Origin.SUMMARY else Origin.PROGRAM
    return Message(role, origin, (part,), id=id_, form=OPAQUE if isinstance(part, Opaque) else "")


def write_item(message: Message) -> dict[str, Any]:
    """The item again, from its parts alone."""
    block = whole(message)
    if block is not None:
        return dict(block.extra)
    message = one(split(message), OpenAIResponses.name)
    match message.parts:
        case (ToolCall() as call,):
            return write_call(call)
        case (ToolResult() as result,):
            return write_output(result)
        case (Thinking() as thought,):
            return _write_reasoning(thought)
    return _write_message(message)


def split(message: Message) -> tuple[Message, ...]:
    """Each call, result and thought an item of its own; what is said between them, message items."""
    runs: list[list[Part]] = []
    for part in message.parts:
        if isinstance(part, (ToolCall, ToolResult, Thinking)):
            runs.append([part])
        elif runs and not isinstance(runs[-1][-1], (ToolCall, ToolResult, Thinking)):
            runs[-1].append(part)
        else:
            runs.append([part])
    return tuple(replace(message, parts=tuple(run)) for run in runs) if len(runs) > 1 else (message,)


def pair(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Outputs that name the item of their call, not the call, get the call's id too."""
    if not any(result.form == BY_ITEM_ID for message in messages for result in message.results):
        return tuple(messages)
    calls = {message.id: message.calls[0].id for message in messages if message.calls and message.id}
    return tuple(_paired(message, calls) for message in messages)


def _paired(message: Message, calls: Mapping[str, str]) -> Message:
    result = message.results[0] if message.results else None
    if result is None or result.form != BY_ITEM_ID or result.call_id not in calls:
        return message
    return replace(message, parts=(replace(result, call_id=calls[result.call_id]),))


def _read_part(kind: str, value: Mapping[str, Any]) -> Part:
    if kind in CALLS:
        return read_call(kind, value)
    if kind in OUTPUTS:
        return read_output(kind, value)
    return _read_reasoning(value) if kind == "reasoning" else opaque(value)


def _speaker(kind: str, part: Part) -> tuple[Role, Origin]:
    if isinstance(part, ToolResult) or kind.endswith("_output"):
        return "tool", Origin.TOOL
    return _SPEAKERS.get(kind, ("assistant", Origin.ASSISTANT))


def _sealed(kind: str, value: Mapping[str, Any]) -> bool:
    """Only the provider can read what it says: a history that it compacted, the task another agent was given.

    No words can stand for such an item, so it stays as the system's messages do.
    """
    content = value.get("content")
    blocks = content if kind == "agent_message" and isinstance(content, list) else ()
    inside = any(isinstance(block, dict) and "encrypted_content" in block for block in blocks)
    return inside or (kind in _COMPACTED and is_str(value, "encrypted_content"))


def _read_message(value: Mapping[str, Any], id_: str) -> Message:
    role, origin = _ROLES[value["role"]]
    content, form = value.get("content"), "other"
    parts: tuple[Part, ...] = ()
    if isinstance(content, str):
        form, parts = "string", (Text(content),)
    elif isinstance(content, list) and content:
        form, parts = "blocks", tuple(read_block(block, role) for block in content)
    extra = rest(
        value, "type", *(() if form == "other" else ("content",)), *(("role",) if value["role"] == role else ())
    )
    return Message(role, origin, parts, id=id_, form=form if "type" in value else _EASY + form, extra=extra)


def _write_message(message: Message) -> dict[str, Any]:
    role = "user" if message.role == "tool" else message.role
    content = _write_content(message, role)
    kind = {} if message.form.startswith(_EASY) else {"type": "message"}
    return {**kind, "role": role, **content, **message.extra, **content}


def _write_content(message: Message, role: Role) -> dict[str, Any]:
    text, form = plain_text(message.parts), message.form.removeprefix(_EASY)
    if text is not None and form != "blocks":
        return {"content": text}
    if message.parts:
        return {"content": [write_block(part, role) for part in message.parts]}
    return {} if form == "other" else {"content": ""}


def _read_reasoning(value: Mapping[str, Any]) -> Part:
    seal = value["encrypted_content"] if is_str(value, "encrypted_content") else ""
    extra = rest(value, "type", "encrypted_content") if seal else rest(value, "type")
    return Thinking(_reasoning_text(extra), seal, extra)


def _write_reasoning(part: Thinking) -> dict[str, Any]:
    """Summary and content lie in the extra fields; a text that no longer comes from them replaces them."""
    item: dict[str, Any] = {"type": "reasoning", **part.extra}
    if part.text != _reasoning_text(part.extra):
        item = {**rest(item, "content"), "summary": [{"type": "summary_text", "text": part.text}] if part.text else []}
    return {**item, **({"encrypted_content": part.seal} if part.seal else {})}


def _reasoning_text(item: Mapping[str, Any]) -> str:
    blocks = [block for key in ("summary", "content") if isinstance(item.get(key), list) for block in item[key]]
    return "\n\n".join(block["text"] for block in blocks if isinstance(block, dict) and is_str(block, "text"))


def _signs(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    known = isinstance(kind, str) and (kind in CALLS or kind in OUTPUTS or kind in _SPEAKERS or kind in _OWN)
    return known or has_words(item.get("content"), _BLOCK_WORDS)


_OWN = frozenset({"reasoning", "item_reference", "web_search_call", "file_search_call", "mcp_call"})
