"""Gemini requests: `contents` of user and model, each a list of parts; Google's own spelling or Python's.

Calls seldom have ids, so they are given some. The parts are in `gemini_parts`. What the provider accepts is the
validator's matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldline.dialects import ids
from foldline.dialects.base import Placing, argument_text, is_str, opaque, rest
from foldline.dialects.gemini_parts import KINDS, read_part, write_part
from foldline.dialects.shaped import OPAQUE, ShapedDialect, whole
from foldline.model import Grammar, Head, Message, Origin, Part, Role, Text, Tool, ToolResult

GRAMMAR = Grammar(
    step="message",
    results="joined",
    results_role="user",
    texts_beside_results=False,
    adjacent=True,
    user_first=True,
    empty_text=False,
)
"""Vertex refuses a turn in which function responses and text stand together, newer models misread it; apart is safe."""
_ROLES: Mapping[str, tuple[Role, Origin]] = {
    "user": ("user", Origin.USER),
    "model": ("assistant", Origin.ASSISTANT),
    "function": ("user", Origin.TOOL),
    "tool": ("user", Origin.TOOL),
}
_USUAL: Mapping[Role, str] = {"assistant": "model"}
_NO_ROLE = "bare-"
"""Begins the form of a content without a role, which is the user's."""
_SINGLE = "single"
"""Ends the form of a content whose `parts` is one part instead of a list, as Google's own examples write it."""
_INSTRUCTION = ("systemInstruction", "system_instruction")
_CONFIGS = ("generationConfig", "generation_config", "config")


class Gemini(ShapedDialect):
    name = "gemini"
    api = "gemini"
    slot = "contents"
    grammar = GRAMMAR

    def fits(self, value: Any) -> int:
        contents = value.get("contents") if isinstance(value, dict) else value
        if isinstance(value, dict) and isinstance(contents, str):
            return 60
        if isinstance(value, dict) and isinstance(contents, dict):
            contents = [contents]
        if not isinstance(contents, list) or not all(isinstance(c, dict) and "parts" in c for c in contents):
            return 0
        if isinstance(value, dict):
            return 95
        return 90 if any(_signs(content) for content in contents) else 0

    def parse(self, value: Mapping[str, Any]) -> Message:
        return read_content(value)

    def build(self, message: Message) -> Mapping[str, Any]:
        return write_content(message)

    def messages(self, values: Sequence[Any], rows: Sequence[bytes], name: str) -> tuple[Message, ...]:
        return ids.assign(super().messages(values, rows, name), by_name=True)

    def placing(self) -> Placing:
        numbers, plain = ids.Numbers(by_name=True), super().messages
        return lambda alone, rows: numbers.assign(plain(alone, rows, ""))

    def head(self, request: Mapping[str, Any]) -> Head:
        configs = [request[key] for key in _CONFIGS if isinstance(request.get(key), dict)]
        limit = _first(configs, "maxOutputTokens", "max_output_tokens")
        thinking = _first(configs, "thinkingConfig", "thinking_config")
        return Head(
            model=request["model"] if is_str(request, "model") else "",
            system=_instruction(_first([request, *configs], *_INSTRUCTION)),
            tools=tuple(_tools(_first([request, *configs], "tools"))),
            max_output=limit if isinstance(limit, int) else None,
            thinking=isinstance(thinking, dict) and _first([thinking], "thinkingBudget", "thinking_budget") != 0,
        )


def read_content(value: Mapping[str, Any]) -> Message:
    """One content, typed. One with an unknown role stays whole and opaque."""
    said = value.get("role", "user")
    if not isinstance(said, str) or said not in _ROLES:
        return Message("user", Origin.PROGRAM, (opaque(value),), form=OPAQUE)
    role, origin = _ROLES[said]
    given = value.get("parts")
    listed, single = isinstance(given, list), isinstance(given, dict)
    blocks: list[Any] = given if isinstance(given, list) else [given] if single else []
    parts: tuple[Part, ...] = tuple(map(read_part, blocks))
    if role == "user" and parts and all(type(part) is ToolResult for part in parts):
        origin = Origin.TOOL
    form = ("" if "role" in value else _NO_ROLE) + ("parts" if listed else _SINGLE if single else "other")
    taken = (*(("parts",) if listed or single else ()), *(("role",) if said == _USUAL.get(role, role) else ()))
    return Message(role, origin, parts, form=form, extra=rest(value, *taken))


def write_content(message: Message) -> dict[str, Any]:
    """The content again, from its parts alone."""
    block = whole(message)
    if block is not None:
        return dict(block.extra)
    made: dict[str, Any] = {"parts": [write_part(part) for part in message.parts]}
    if message.form.endswith(_SINGLE) and len(message.parts) == 1:
        made = {"parts": write_part(message.parts[0])}
    if message.form.endswith("other") and not message.parts:
        made = {}
    role = {} if message.form.startswith(_NO_ROLE) else {"role": "model" if message.role == "assistant" else "user"}
    return {**role, **made, **message.extra, **made}


def _first(places: Sequence[Mapping[str, Any]], *names: str) -> Any:
    """The first of these fields that is there and not null."""
    found = (place[name] for place in places for name in names if place.get(name) is not None)
    return next(found, None)


def _instruction(value: Any) -> tuple[Part, ...]:
    if isinstance(value, str):
        return (Text(value),)
    if isinstance(value, dict):
        parts = value.get("parts", [value] if "text" in value else None)
        return _instruction([parts] if isinstance(parts, dict) else parts)
    if not isinstance(value, list):
        return ()
    return tuple(Text(part) if isinstance(part, str) else read_part(part) for part in value)


def _tools(value: Any) -> Iterator[Tool]:
    """Each declared function; a tool of the provider's own under its key."""
    for tool in value if isinstance(value, list) else ():
        declared = _first([tool], "functionDeclarations", "function_declarations") if isinstance(tool, dict) else None
        if isinstance(declared, list):
            yield from (Tool(_tool_name(function), argument_text(function)) for function in declared)
        else:
            yield Tool(next(iter(tool), "") if isinstance(tool, dict) else "", argument_text(tool))


def _tool_name(function: Any) -> str:
    return function["name"] if isinstance(function, dict) and is_str(function, "name") else ""


def _signs(content: Mapping[str, Any]) -> bool:
    parts = content["parts"]
    return isinstance(parts, list) and any(isinstance(part, dict) and part.keys() & KINDS.keys() for part in parts)
