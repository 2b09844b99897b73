"""The rows of a Codex rollout, and how changed messages go back: into their own rows, or into their compaction.

Nothing here reads a rollout; `codex` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from foldline.dialects import jsontext, lines, mending, openai_responses, responses_content
from foldline.dialects.base import Lined
from foldline.dialects.lined import START, assemble, first_change, line_end, owners, plan, unsized
from foldline.dialects.shaped import OPAQUE
from foldline.errors import MalformedInput
from foldline.model import Message, Origin, Text

TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
_HISTORY = ("payload", "replacement_history")
_USAGE = ("payload", "info", "last_token_usage")
_COUNTS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)
"""What Codex takes the size of its context from, in the last event that counts tokens. What all requests together have
used stands beside it, and stays."""


class Record(msgspec.Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    payload: msgspec.Raw = msgspec.Raw(b"null")


PEEK = lines.Peek(Record, lambda record: record.type in TYPES and record.timestamp is not None)


def rewrite(layout: Lined, messages: Sequence[Message]) -> bytes:
    """The rollout with other messages in it. The rows of compactions always stay: without them, what they replaced
    would come back."""
    records = [lines.split((row,), PEEK).values[0] for row in layout.rows]
    shared = {row for row, record in enumerate(records) if record is not None and record.type == "compacted"}
    floor = max(shared, default=START)
    todo = plan(layout, _joined(_in_order(messages), floor), floor)
    before = owners(layout.messages)
    built = {row: _compaction(layout.rows[row], before[row], ()) for row in todo.gone & shared}
    for row, held in todo.changed.items():
        known = before.get(row, ())
        changed = _compaction(layout.rows[row], known, held) if row in shared else _row(layout.rows[row], held[0])
        built[row] = changed
    added = {
        run.after: [_new(_stamp(records, run.after), item) for message in run.messages for item in _items(message)]
        for run in todo.made
    }
    first = first_change(layout.rows, todo.gone, built, todo.made)
    for row, record in enumerate(records):
        if row >= first and record is not None and record.type == "event_msg":
            built[row] = unsized(layout.rows[row], _USAGE, _COUNTS)
    return assemble(layout.rows, todo.gone - shared, built, added)


def replacement(row: bytes) -> list[bytes]:
    """The items of a compaction, each with its own bytes."""
    try:
        return jsontext.elements(jsontext.dig(mending.clean(row), _HISTORY))
    except (KeyError, MalformedInput):  # no list there
        return []


def _in_order(messages: Sequence[Message]) -> list[Message]:
    """A message that stands behind one of a later row has to move: it is written anew, at its place."""
    ordered: list[Message] = []
    reached = START
    for message in messages:
        moved = bool(message.rows) and min(message.rows) < reached
        ordered.append(replace(message.with_parts(message.parts), rows=()) if moved else message)
        reached = max(reached, *ordered[-1].rows, START)
    return ordered


def _joined(messages: Sequence[Message], floor: int) -> list[Message]:
    """New messages that stand before or between those of the last compaction become part of it."""
    last = max((n for n, message in enumerate(messages) if message.rows == (floor,)), default=-1)
    return [replace(m, rows=(floor,)) if n < last and not m.rows else m for n, m in enumerate(messages)]


def _items(message: Message) -> list[dict[str, Any]]:
    return [_loadable(piece) for piece in openai_responses.split(message)]


def _loadable(message: Message) -> dict[str, Any]:
    """The item as Codex loads it: a message has its type, and its words in a list. A row with another form is passed
    over without a word, though the provider takes it."""
    item = openai_responses.write_item(message)
    if item.get("type", "message") != "message" or message.form == OPAQUE:
        return item
    content = item.get("content", "")
    if isinstance(content, str):
        content = [responses_content.write_block(Text(content), message.role)]
    return {"type": "message", **item, "content": content}


def _row(row: bytes, message: Message) -> bytes:
    """The row of a changed item: several rows when it became several items."""
    value = mending.decode(row)
    items = _items(message)
    if items == [value["payload"]]:
        return row
    return b"".join(jsontext.encode({**value, "payload": item}) + (line_end(row) or b"\n") for item in items)


def _compaction(row: bytes, before: Sequence[Message], now: Sequence[Message]) -> bytes:
    """A compaction whose messages changed. Items that are no messages here, since they only repeat some, stay."""
    items = replacement(row)
    if not items and before and before[0].raw == row:
        return _listed(row, before, now)
    places = _places(items, before)
    put: list[tuple[int, bytes]] = [(n, item) for n, item in enumerate(items) if n not in places.values()]
    at = min(places.values(), default=0)
    for message in now:
        at = max(at, places.get(id(message), at))  # in the order of the view, whatever stood where before
        put += [(at, raw) for raw in _raws(message)]
    data = jsontext.join_list([raw for _, raw in sorted(put, key=lambda pair: pair[0])])
    return jsontext.splice(mending.clean(row.rstrip()), _HISTORY, data) + line_end(row)


def _places(items: Sequence[bytes], messages: Sequence[Message]) -> dict[int, int]:
    """Where in the list each message stood."""
    places, at = {}, 0
    for message in messages:
        while at < len(items) and items[at] != message.raw:
            at += 1
        places[id(message)] = at
        at += 1
    return places


def _raws(message: Message) -> list[bytes]:
    return [message.raw] if message.raw is not None else [jsontext.encode(item) for item in _items(message)]


def _listed(row: bytes, before: Sequence[Message], now: Sequence[Message]) -> bytes:
    """A compaction that was its summary alone, with what it stands for as a list: without one, Codex itself loads the
    user's older messages beside the summary, and an empty summary would still be a message."""
    if [message.parts for message in now] == [message.parts for message in before]:
        return row
    value = mending.decode(row)
    told = next((message.text for message in now if message.origin is Origin.SUMMARY), "")
    items = [item for message in now for item in _items(message)]
    listed = {**value["payload"], "message": told, "replacement_history": items}
    return jsontext.encode({**value, "payload": listed}) + line_end(row)


def _stamp(records: Sequence[Record | None], after: int) -> str:
    """The time of the row after which something is put."""
    return next((r.timestamp for r in reversed(records[: after + 1]) if r is not None and r.timestamp), "")


def _new(timestamp: str, item: dict[str, Any]) -> bytes:
    return jsontext.encode({"timestamp": timestamp, "type": "response_item", "payload": item}) + b"\n"
