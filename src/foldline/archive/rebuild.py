"""Messages out of what was stored: read again from their bytes by their dialect, or put together from their parts.

rereadable(dialect, message, place)   the bytes alone give this message back
dump(message) · load(data)            its parts as JSON, for those of which that is not so: lines of transcripts,
                                      messages made in Python
reread(dialect, kept)                 a history from its beginning, so that ids that depend on place come out right
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from foldline import dialects
from foldline.dialects import ids, jsontext
from foldline.dialects.base import RequestDialect
from foldline.dialects.convert import REQUESTS
from foldline.errors import Corrupt, InputError
from foldline.model import EMPTY, Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall, ToolResult

DAMAGED = (LookupError, TypeError, ValueError, AttributeError, AssertionError)
"""What it may end in to read values that are not what was written, beside errors of ours."""
_KINDS: Mapping[str, type[Any]] = {
    kind.__name__: kind for kind in (Text, Thinking, ToolCall, ToolResult, Media, Opaque)
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A message as it lies in an archive: its bytes, its parts where they were stored, and its place."""

    raw: bytes
    parts: bytes | None = None
    position: int = 0


def rereadable(dialect: str, message: Message, place: int) -> bool:
    """The dialect makes the same message of these bytes, at this place of a list."""
    raw = message.raw
    if message.origin is Origin.TOOL and message.role == "user" and not message.results:
        return False  # whose word it is depends on what stands before it
    return dialect in REQUESTS and raw is not None and raw[:1] == b"{" and message.rows == (place,)


def bytes_of(message: Message) -> bytes:
    """What its identity is the hash of: its bytes as they came, or its parts as Python writes them."""
    if message.raw is not None:
        return message.raw
    return repr((message.role, message.parts)).encode("utf-8", "replace")


def said(message: Message) -> bytes:
    """Its bytes as they came; its parts as JSON when it was made here and never had any."""
    return message.raw if message.raw is not None else dump(message)


def dump(message: Message) -> bytes:
    return jsontext.encode(
        {
            "role": message.role,
            "origin": message.origin.value,
            "parts": [_flat(part) for part in message.parts],
            "id": message.id,
            "form": message.form,
            "extra": message.extra,
            "rows": message.rows,
            "made": message.raw is None,
        }
    )


def load(data: bytes, raw: bytes | None = None) -> Message:
    """The message again. `raw` is left out of one that never had bytes of its own. Raises Corrupt."""
    try:
        return _loaded(jsontext.decode(data), raw)
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise Corrupt(f"the parts of a message cannot be read; run verify to see which ({error})") from error


def _loaded(found: Mapping[str, Any], raw: bytes | None) -> Message:
    return Message(
        found["role"],
        Origin(found["origin"]),
        tuple(map(_part, found["parts"])),
        found["id"],
        found["form"],
        found["extra"] or EMPTY,
        None if found["made"] else raw,
        tuple(found["rows"]),
    )


def noted(role: Any, origin: str, why: str) -> Message:
    """What stands in the place of a message whose bytes are not there any more."""
    return Message(role, Origin(origin), (Text(f"[{why}]"),))


def _flat(part: Part) -> dict[str, Any]:
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    if isinstance(part, ToolResult):
        values["content"] = [_flat(inner) for inner in part.content]
    return {"kind_of_part": type(part).__name__, **{name: value for name, value in values.items() if value}}


def _part(saved: Mapping[str, Any]) -> Any:
    """A part of a message. What was left out when it was flattened was empty."""
    values = {name: value for name, value in saved.items() if name != "kind_of_part"}
    kind = _KINDS[saved["kind_of_part"]]
    if kind is ToolResult:
        values["content"] = tuple(map(_part, values.get("content", ())))
    needed = {field.name: "" for field in fields(kind) if field.name in _NEEDED}
    return kind(**{**needed, **values})


_NEEDED = frozenset({"text", "id", "name", "arguments", "kind", "call_id"})
"""Fields that have no default, or whose default is the empty text."""


def reread(dialect: str, kept: Sequence[Kept]) -> tuple[Message, ...]:
    """The messages of a history, in their order from its beginning."""
    values = [load(one.parts, one.raw) if one.parts is not None else None for one in kept]
    spoken = dialects.named(dialect) if dialect in REQUESTS else None
    if not isinstance(spoken, RequestDialect):
        return tuple(value for value in values if value is not None)
    read = [jsontext.decode(one.raw) if value is None else value for one, value in zip(kept, values, strict=True)]
    return spoken.messages(read, [one.raw for one in kept], "")


def alone(dialect: str, kept: Kept) -> Message:
    """One message by itself: all but the ids that depend on what stands before it. See `placed`."""
    if kept.parts is not None:
        return load(kept.parts, kept.raw)
    spoken = dialects.named(dialect)
    assert isinstance(spoken, RequestDialect)  # nothing else is stored without its parts
    return spoken.message(jsontext.decode(kept.raw), kept.raw, kept.position, "")


def depends_on_place(message: Message) -> bool:
    """Some id in it was made here, by counting."""
    return any(map(ids.is_made, _names(message)))


def _names(message: Message) -> Iterable[str]:
    yield from (call.id for call in message.calls)
    yield from (result.call_id for result in message.results)
