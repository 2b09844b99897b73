"""How changed messages go back into Claude Code's rows, and what new rows look like.

A row keeps everything but its content and, where its parent is gone, the name of its parent. Nothing here reads a
transcript; `claude_code` does.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from foldline.dialects import anthropic, jsontext, lines, mending
from foldline.dialects.base import Lined, plain_text
from foldline.dialects.claude_record import PEEK, TOLD, Record
from foldline.dialects.claude_rows import Records, boundaries, once
from foldline.dialects.lined import START, Links, Made, assemble, first_change, line_end, owners, plan, share, unsized
from foldline.model import Message, Origin, Part, Text, digest

_COPIED = ("userType", "cwd", "sessionId", "version", "gitBranch", "timestamp")
"""What a new row takes over from the row before it, so that the agent takes it for its own."""
_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""What the agent takes the size of its context from; it sets them to nothing itself in messages that it keeps."""
_NOBODY = Record()
"""In the place of a row that is no record, or repeats one."""


def rewrite(layout: Lined, messages: Sequence[Message]) -> bytes:
    """The transcript with other messages in it. Rows that repeat another go: they would speak against what changed."""
    every = {row: record for row, record in enumerate(map(_peek, layout.rows)) if record is not None}
    records = once(every)
    repeats = every.keys() - records.keys()
    folds = boundaries(records)
    floor = folds[-1].row if folds else START
    todo = plan(layout, messages, floor)
    built, emptied = _built(layout, todo.changed)
    first = first_change(layout.rows, todo.gone | emptied, built, todo.made)
    changes = first < len(layout.rows) or bool(todo.made)
    gone = todo.gone | emptied | (repeats if changes else set())
    links = _links(records, len(layout.rows))
    way = [row for row in (floor, *sorted(owners(layout.messages))) if row >= max(floor, 0)]
    torn = _torn(records, links, way, floor) if changes else {}
    links = links.under(torn)
    added, parents = _added(layout.rows, links, way, gone, todo.made)
    for row, parent in {**torn, **links.under(parents).mended(gone), **parents}.items():
        if row not in gone:
            built[row] = _with_parent(built.get(row, layout.rows[row]), parent)
    for row in way:
        if row >= first and row not in gone and records[row].type == "assistant":
            built[row] = unsized(built.get(row, layout.rows[row]), ("message", "usage"), _COUNTS)
    if folds and folds[-1].kept & gone:
        left = [links.ids[row] for row in sorted(folds[-1].kept - gone) if links.ids[row]]
        built[folds[-1].row] = _with_kept(layout.rows[folds[-1].row], left)
    return assemble(layout.rows, gone, built, added)


def _links(records: Records, count: int) -> Links:
    named = [records.get(row, _NOBODY) for row in range(count)]
    return Links([record.uuid or "" for record in named], [record.parent_uuid or "" for record in named])


def _torn(records: Records, links: Links, way: Sequence[int], floor: int) -> dict[int, str]:
    """Rows whose parent is not in the file, and the message before each: the agent goes from child to parent, and would
    not get past them to what a fold put before."""
    names = {*links.ids, ""}
    lost = (row for row, parent in enumerate(links.parents) if row > floor and parent not in names)
    torn = [row for row in lost if links.ids[row] and not records[row].is_sidechain]
    return {row: links.ids[way[bisect_left(way, row) - 1]] for row in torn if way and way[0] < row}


def _built(layout: Lined, changed: Mapping[int, tuple[Message, ...]]) -> tuple[dict[int, bytes], frozenset[int]]:
    """The rows of changed messages, and those of them that hold nothing any more."""
    originals = owners(layout.messages)
    built: dict[int, bytes] = {}
    emptied = set()
    for row, (message, *_) in changed.items():
        mine = share(message, originals[row][0]).get(row)
        if mine is None and message.parts:
            emptied.add(row)
        else:
            built[row] = with_parts(layout.rows[row], mine or ())
    return built, frozenset(emptied)


def _peek(row: bytes) -> Record | None:
    return lines.split((row,), PEEK).values[0]


def with_parts(row: bytes, parts: Sequence[Part]) -> bytes:
    """The row saying something else; the same bytes when it says the same."""
    value = mending.decode(row)
    path = _path(value)
    old = content(value)
    new: Any = [anthropic.write_block(part) for part in parts]
    if path[0] == "attachment" and isinstance(old, list) and all(isinstance(item, str) for item in old):
        new = [part.text if isinstance(part, Text) else anthropic.write_block(part) for part in parts]
    text = plain_text(parts)
    if isinstance(old, str) and text is not None:
        new = text
    if new == old or (not parts and not isinstance(old, (str, list))):
        return row
    return jsontext.encode(_put(value, path, new)) + line_end(row)


def content(value: Mapping[str, Any]) -> Any:
    """What a row says, wherever it stands."""
    found: Any = value
    for step in _path(value):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def read_told(told: Any) -> tuple[Part, ...]:
    """An attachment's text: a string, several, or blocks."""
    if isinstance(told, list):
        return tuple(Text(item) if isinstance(item, str) else anthropic.read_block(item) for item in told)
    return anthropic.read_blocks(told)


def typed(value: Mapping[str, Any]) -> bool:
    """A queued command that a person typed, as far as the row says."""
    attachment = value["attachment"]
    origin = attachment.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else "human"
    mode = attachment.get("commandMode", "prompt")
    return (
        attachment.get("type") == "queued_command"
        and (kind, mode) == ("human", "prompt")
        and not attachment.get("isMeta")
    )


def _path(value: Mapping[str, Any]) -> tuple[str, ...]:
    if value.get("type") == "attachment":
        return ("attachment", *TOLD[value["attachment"]["type"]])
    return ("message", "content")


def _put(value: Any, path: tuple[str, ...], new: Any) -> Any:
    """The value with something else at the end of the path."""
    return {**value, path[0]: _put(value[path[0]], path[1:], new)} if path else new


def _with_parent(row: bytes, parent: str) -> bytes:
    """The row hanging on another parent, its other bytes untouched where the name is written plainly."""
    value = mending.decode(row)
    old, new = jsontext.encode(value.get("parentUuid")), jsontext.encode(parent or None)
    swapped = row.replace(b'"parentUuid":' + old, b'"parentUuid":' + new, 1)
    changed = {**value, "parentUuid": parent or None}
    return swapped if mending.decode(swapped) == changed else jsontext.encode(changed) + line_end(row)


def _with_kept(row: bytes, left: Sequence[str]) -> bytes:
    """A boundary that names what is left of the rows it kept."""
    value = mending.decode(row)
    metadata = dict(value["compactMetadata"])
    segment, listed = metadata.pop("preservedSegment", None) or {}, metadata.get("preservedMessages") or {}
    anchor = listed.get("anchorUuid", segment.get("anchorUuid", segment.get("anchor")))
    metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": left}
    return jsontext.encode({**value, "compactMetadata": metadata}) + line_end(row)


def _added(
    rows: Sequence[bytes], links: Links, way: Sequence[int], gone: frozenset[int], made: Sequence[Made]
) -> tuple[dict[int, list[bytes]], dict[int, str]]:
    """The new rows by the row they follow, and the rows whose parent is now a new one."""
    added: dict[int, list[bytes]] = {}
    parents: dict[int, str] = {}
    for run in made:
        parent = links.above(run, way, gone)
        neighbour = _neighbour(rows, run.after)
        for message in run.messages:
            row, name = _new_row(message, parent, neighbour)
            added.setdefault(run.after, []).append(row)
            parent = name
        if run.before is not None and run.before > run.after:
            parents[run.before] = parent
    return added, parents


def _neighbour(rows: Sequence[bytes], at: int) -> Mapping[str, Any]:
    """The nearest row with a session to belong to, looking back, then ahead."""
    for row in (*range(at, -1, -1), *range(at + 1, len(rows))):
        if (record := _peek(rows[row])) is not None and record.session_id:
            value = mending.decode(rows[row])
            return {key: value[key] for key in _COPIED if key in value}
    return {}


def _new_row(message: Message, parent: str, neighbour: Mapping[str, Any]) -> tuple[bytes, str]:
    """A row for a message made here. Its name follows from what it says and where, so the same input gives the same."""
    name = str(uuid.UUID(digest(f"{parent} {message.identity}".encode())))
    role = "assistant" if message.role == "assistant" else "user"
    flags = {
        Origin.SUMMARY: {"isCompactSummary": True, "isVisibleInTranscriptOnly": True},
        Origin.PROGRAM: {"isMeta": True},
    }.get(message.origin, {})
    said = {"role": role, **anthropic.write_content(message)}
    if role == "assistant":
        said = {"id": message.id or f"msg_{name}", "type": "message", **said}
    links = {"parentUuid": parent or None, "isSidechain": False}
    value = {**links, **neighbour, "type": role, "message": said, **flags, "uuid": name}
    return jsontext.encode(value) + b"\n", name
