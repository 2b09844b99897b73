"""Calls in OpenAI's Chat Completions: the entries of `tool_calls`, and the older single `function_call`.

A call's `extra` keeps a key that its typed fields used up only as a note: `type` when it is not "function" ("" when
there was none), `function` or `custom` for the further fields inside that object, and there `arguments` or `input`
when they were no string. Messages are in `openai_chat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldline.dialects import ids, jsontext
from foldline.dialects.base import argument_text, is_str, rest
from foldline.model import EMPTY, Opaque, Part, ToolCall

LEGACY = "function_call"
_IN_CALLS = "tool_calls"
"""The kind of an Opaque that stands among the calls."""
_FIELDS = {"function": ("function", "arguments"), "custom": ("custom", "input"), "": ("function", "arguments")}
"""For each type of call the object that describes it, and what the arguments are called in there."""
_ABSENT, _JSON = "absent", "json"


def read_call(call: Any) -> Part:
    kind = _kind(call)
    key, field = _FIELDS.get(kind or "", ("", ""))
    found = None if kind is None else _read_inner(call.get(key), field)
    if found is None:
        return Opaque(_IN_CALLS, {"value": call})
    name, arguments, inner = found
    notes = {**({} if kind == "function" else {"type": kind}), **({key: inner} if inner else {})}
    return ToolCall(call["id"], name, arguments, {**rest(call, "id", "type", key), **notes} or EMPTY)


def write_call(part: Part) -> Any:
    if not isinstance(part, ToolCall):
        return part.extra["value"]
    kind = part.extra.get("type", "function")
    key, field = _FIELDS[kind]
    inner = _write_inner(part, field, part.extra.get(key, EMPTY))
    return {"id": part.id, **({"type": kind} if kind else {}), key: inner, **rest(part.extra, "type", key)}


def stands_in_calls(part: Part) -> bool:
    if isinstance(part, Opaque):
        return part.kind == _IN_CALLS and "type" not in part.extra
    return isinstance(part, ToolCall) and not is_legacy(part)


def read_legacy(inner: Any) -> ToolCall | None:
    found = _read_inner(inner, "arguments")
    if found is None:
        return None
    name, arguments, further = found
    return ToolCall(ids.made_id(name), name, arguments, {"type": LEGACY, "function": further})


def write_legacy(call: ToolCall) -> dict[str, Any]:
    return _write_inner(call, "arguments", call.extra["function"])


def is_legacy(call: ToolCall) -> bool:
    return call.extra.get("type") == LEGACY


def _kind(call: Any) -> str | None:
    """The type of a call that has an id of its own; None when it is not one we know."""
    if not isinstance(call, dict) or not is_str(call, "id") or ids.is_made(call["id"]):
        return None
    if "type" not in call:  # some servers leave it out
        return ""
    return call["type"] if call["type"] in ("function", "custom") else None


def _read_inner(inner: Any, field: str) -> tuple[str, str, Mapping[str, Any]] | None:
    """Name, arguments and further fields. Arguments that are no string (Ollama sends objects) are noted as such."""
    if not isinstance(inner, dict) or not is_str(inner, "name"):
        return None
    further = rest(inner, "name", field)
    if is_str(inner, field):
        return inner["name"], inner[field], further
    if field not in inner:
        return inner["name"], "", {**further, field: _ABSENT}
    return inner["name"], argument_text(inner[field]), {**further, field: _JSON}


def _write_inner(call: ToolCall, field: str, further: Mapping[str, Any]) -> dict[str, Any]:
    note, others = further.get(field), rest(further, field)
    if note == _ABSENT and not call.arguments:
        return {"name": call.name, **others}
    arguments = jsontext.decode(jsontext.bytes_of(call.arguments)) if note == _JSON else call.arguments
    return {"name": call.name, field: arguments, **others}
