"""Calls and their outputs in OpenAI Responses: the items that pair by `call_id`.

Calls that the provider's servers answer inside the same item (web search, file search, MCP …) are not among them.
A part's `extra` keeps `type` where it is not function_call or function_call_output, and `output` of a shell as the
further fields of its chunks. Items are in `openai_responses`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldline.dialects import jsontext
from foldline.dialects.base import argument_text, is_str, opaque, plain_text, rest
from foldline.dialects.responses_content import read_block, write_block
from foldline.model import EMPTY, VOID, Media, Opaque, Text, ToolCall, ToolResult

CALLS: Mapping[str, tuple[str, str]] = {
    "function_call": ("", "arguments"),
    "custom_tool_call": ("", "input"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", "action"),
    "tool_search_call": ("tool_search", "arguments"),
}
"""The tool's name for each type of call ("": the item says it), and the field with what it is called with."""
OUTPUTS = frozenset({"tool_search_output"} | {f"{kind}_output" for kind in CALLS if kind != "tool_search_call"})
BY_ITEM_ID = "by-item-id"
"""The form of a local shell's output that names the item of its call instead of the call."""
_SHELL = "shell_call_output"
_ENDED_WELL = {"outcome": {"type": "exit", "exit_code": 0}}
_MANY = "actions"
"""A computer call may hold a list of actions under this name instead of one."""


def read_call(kind: str, value: Mapping[str, Any]) -> ToolCall | Opaque:
    name, field = CALLS[kind]
    if kind == "computer_call" and isinstance(value.get(_MANY), list) and field not in value:
        field = _MANY
    if not is_str(value, "call_id") or field not in value or not (name or is_str(value, "name", field)):
        return opaque(value)
    given, taken = value[field], ("type", "call_id", field, *(() if name else ("name",)))
    if name and field != "arguments" and not isinstance(given, list if field == _MANY else dict):
        return opaque(value)
    extra = {**rest(value, *taken), **({} if kind == "function_call" else {"type": kind})} or EMPTY
    return ToolCall(value["call_id"], name or value["name"], argument_text(given) if name else given, extra)


def write_call(call: ToolCall) -> dict[str, Any]:
    kind = call.extra.get("type", "function_call")
    name, field = CALLS[kind]
    given = jsontext.decode(jsontext.bytes_of(call.arguments)) if name else call.arguments
    if kind == "computer_call" and isinstance(given, list):
        field = _MANY
    named = {} if name else {"name": call.name}
    return {"type": kind, "call_id": call.id, **named, field: given, **rest(call.extra, "type")}


def read_output(kind: str, value: Mapping[str, Any]) -> ToolResult | Opaque:
    if not is_str(value, "call_id"):
        return _read_by_item(value) if kind == "local_shell_call_output" else opaque(value)
    output = value.get("output")
    form, content = _read_shell(output) if kind == _SHELL else _read_content(output)
    is_void = form == "other" and kind == "function_call_output" and output is None
    extra = dict(rest(value, "type", "call_id") if form == "other" else rest(value, "type", "call_id", "output"))
    if form == "shell":
        extra["output"] = [rest(chunk, "stdout", "stderr") for chunk in value["output"]]
    if kind != "function_call_output":
        extra["type"] = kind
    return ToolResult(
        value["call_id"], content, value.get("status") == "failed", form=VOID if is_void else form, extra=extra or EMPTY
    )


def write_output(result: ToolResult) -> dict[str, Any]:
    kind = result.extra.get("type", "function_call_output")
    paired = {} if result.form == BY_ITEM_ID else {"call_id": result.call_id}
    output = {"output": _write_shell(result)} if kind == _SHELL else _write_content(result)
    if result.form in ("other", VOID) and not result.content:
        output = {}
    return {"type": kind, **paired, **output, **rest(result.extra, "type"), **output}


def answer(result: ToolResult, call: ToolCall) -> ToolResult:
    """A result made here, as the output that its type of call demands."""
    kind = call.extra.get("type")
    if kind == "tool_search_call":  # it answers with definitions of tools, never with text
        found = {"type": "tool_search_output", "tools": [], "execution": "client", "status": "completed"}
        return replace(result, content=(), form="other", extra=found)
    if kind not in ("custom_tool_call", "shell_call", "apply_patch_call"):
        return result
    status = {"status": "failed" if result.is_error else "completed"} if kind == "apply_patch_call" else {}
    return replace(result, extra={"type": f"{kind}_output", **status, **result.extra})


def _read_by_item(value: Mapping[str, Any]) -> ToolResult | Opaque:
    if not is_str(value, "id", "output"):
        return opaque(value)
    return ToolResult(value["id"], (Text(value["output"]),), form=BY_ITEM_ID, extra=rest(value, "output"))


def _read_content(output: Any) -> tuple[str, tuple[Text | Media | Opaque, ...]]:
    """How the output was written, and its parts. Anything that cannot be told apart later stays in the extra fields."""
    if isinstance(output, str):
        return "string", (Text(output),)
    if isinstance(output, list) and output:
        return "blocks", tuple(read_block(block, "tool") for block in output)
    if isinstance(output, dict):
        part = read_block(output, "tool")
        return "single", (opaque(output) if isinstance(part, Text) else part,)
    return "other", ()


def _write_content(result: ToolResult) -> dict[str, Any]:
    text = plain_text(result.content)
    if text is not None and result.form != "blocks":
        return {"output": text}
    if result.form == "single" and len(result.content) == 1:
        return {"output": write_block(result.content[0], "tool")}
    return {"output": [write_block(part, "tool") for part in result.content] or ""}


def _read_shell(output: Any) -> tuple[str, tuple[Text, ...]]:
    """For each chunk of a shell's output what it wrote to stdout, then to stderr."""
    if not isinstance(output, list) or not output:
        return "other", ()
    if not all(isinstance(chunk, dict) and is_str(chunk, "stdout", "stderr") for chunk in output):
        return "other", ()
    return "shell", tuple(Text(chunk[stream]) for chunk in output for stream in ("stdout", "stderr"))


def _write_shell(result: ToolResult) -> list[dict[str, Any]]:
    texts = [part.text for part in result.content if isinstance(part, Text)]
    further: Sequence[Mapping[str, Any]] = result.extra["output"] if result.form == "shell" else (_ENDED_WELL,)
    if len(texts) == 2 * len(further):
        pairs = zip(texts[::2], texts[1::2], further, strict=True)
        return [{"stdout": out, "stderr": err, **others} for out, err, others in pairs]
    return [{"stdout": "\n".join(texts), "stderr": "", **further[0]}]
