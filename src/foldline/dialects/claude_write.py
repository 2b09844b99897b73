"""How changed messages go back into Claude Code's rows, and what new rows look like.

A row keeps everything but its content and, where its parent is gone, the name of its parent. Nothing here reads a
transcript; `claude_code` does.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foldline.dialects import anthropic, jsontext, lines, mending
from foldline.dialects.base import Lined, plain_text
from foldline.dialects.claude_record import PEEK, TOLD, Record, speaks
from foldline.dialects.claude_rows import NO_BOUNDARY, Boundary, Records, boundaries, is_kept, once
from foldline.dialects.lined import Links, Made, assemble, first_change, line_end, owners, plan, share, unsized
from foldline.model import Message, Origin, Part, Text, ToolResult, digest

_COPIED = ("userType", "cwd", "sessionId", "version", "gitBranch", "timestamp")
"""What a new row takes over from the row before it, so that the agent takes it for its own."""
_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""What the agent takes the size of its context from; it sets them to nothing itself in messages that it keeps."""
_KEPT = ("preservedMessages", "preservedSegment")
"""Where a boundary says what it kept."""
_NOBODY = Record()
"""In the place of a row that is no record, or repeats one."""
_FRAMES: Mapping[str, Origin] = {
    "<bash-stdout>": Origin.TOOL,  # what a command printed, run by the user from the prompt
    "<bash-stderr>": Origin.TOOL,
    "<task-notification>": Origin.TOOL,  # what a background task reported
    "<local-command-": Origin.PROGRAM,  # what a slash command printed, and the caveat before it
    "<system-reminder>": Origin.PROGRAM,
    "[Request interrupted by user": Origin.PROGRAM,
}
"""How user rows begin that the user did not type. A user who types such a thing only loses trust, never gains it."""


def rewrite(layout: Lined, messages: Sequence[Message]) -> bytes:
    """The transcript with other messages in it. Rows that repeat another go: they would speak against what changed."""
    every = {row: record for row, record in enumerate(map(_peek, layout.rows)) if record is not None}
    records = once(every)
    repeats = every.keys() - records.keys()
    fold = next(reversed(boundaries(records)), NO_BOUNDARY)
    messages = _in_order(messages, fold)
    todo = plan(layout, messages, fold.row)
    built, emptied = _built(layout, todo.changed)
    first = first_change(layout.rows, todo.gone | emptied, built, todo.made)
    changes = first < len(layout.rows) or bool(todo.made)
    gone = todo.gone | emptied | (repeats if changes else set())
    tree = _tree(layout, records, fold, messages)
    gone |= tree.dead if changes else set()
    tree, rehung = _rehung(tree) if changes else (tree, {})
    added, parents = _added(layout.rows, tree, gone, todo.made)
    for row, parent in {**rehung, **tree.links.under(parents).mended(gone), **parents}.items():
        if row not in gone:
            built[row] = _with_parent(built.get(row, layout.rows[row]), parent)
    for row in tree.way:
        if row >= first and row not in gone and records[row].type == "assistant":
            built[row] = unsized(built.get(row, layout.rows[row]), ("message", "usage"), _COUNTS)
    if any(row in fold.kept for row in gone) or (fold.kept and changes and tree.top != fold.anchor):
        built[fold.row] = _with_kept(layout.rows[fold.row], _left(records, fold, gone), tree.top)
    return assemble(layout.rows, gone, built, added)


@dataclass(frozen=True, slots=True)
class _Tree:
    """The rows and what they hang on."""

    records: Records
    fold: Boundary
    links: Links
    way: Sequence[int]
    """The last compaction, and the rows of all messages behind it."""
    side: bool
    """The conversation is a subagent's own."""
    top: str
    """The name of the row that everything live will hang on: the summary before what was kept, or else the boundary."""
    dead: frozenset[int]
    """Rows on branches that were left behind, after all that remains: the agent would take them for the last word."""
    end: int
    """The last row that says something: what is said last has to stand behind it."""

    def name(self, row: int) -> str:
        return self.links.ids[row] if row >= 0 else ""


def _tree(layout: Lined, records: Records, fold: Boundary, messages: Sequence[Message]) -> _Tree:
    owned = owners(layout.messages)
    way = [row for row in (fold.row, *sorted(owned)) if row >= max(fold.row, 0)]
    said = [records[row] for row in owned]
    side = bool(said) and all(record.is_sidechain for record in said)
    spoken = [row for row, r in records.items() if row > fold.row and speaks(r) and bool(r.is_sidechain) == side]
    last = max((row for message in messages for row in message.rows), default=fold.row)
    closed = any(message.rows for message in messages) and not messages[-1].rows
    dead = frozenset(row for row in spoken if row > last and row not in owned and not closed)
    links = _links(records, len(layout.rows))
    tree = _Tree(records, fold, links, way, side, "", dead, max(spoken, default=fold.row))
    return replace(tree, top=_top(messages, tree)) if fold.row >= 0 else tree


def _in_order(messages: Sequence[Message], fold: Boundary) -> Sequence[Message]:
    """What a compaction kept stands before all other rows but a summary that it hangs on. Of it, what follows new rows
    and more than such a summary has to move: it is written anew."""
    made = next((n for n, message in enumerate(messages) if not message.rows), len(messages))
    opens = messages[:1] and messages[0].origin is Origin.SUMMARY
    past = next((n for n, m in enumerate(messages) if not is_kept(m.rows, fold) and not (n == 0 and opens)), made)
    return [_anew(m) if n > max(made, past) and is_kept(m.rows, fold) else m for n, m in enumerate(messages)]


def _anew(message: Message) -> Message:
    return replace(message, id="", raw=None, rows=())


def _top(messages: Sequence[Message], tree: _Tree) -> str:
    fold, boundary = tree.fold, tree.name(tree.fold.row)
    opening = next((row for row in tree.way if row > fold.row), fold.row)
    if tree.records[opening].is_compact_summary and not fold.kept_first and opening in owners(messages):
        return tree.name(opening)
    holds = any(is_kept(message.rows, fold) for message in messages)
    return _name(messages[0], boundary) if holds and not messages[0].rows else boundary


def _rehung(tree: _Tree) -> tuple[_Tree, dict[int, str]]:
    """The tree with all that hung on nothing live hung anew, and the rows of the live ones with their new parents."""
    torn = _torn(tree)
    tree = replace(tree, links=tree.links.under(torn))
    hung = _hung(tree)
    live = {row: name for row, name in hung.items() if row > tree.fold.row}
    return replace(tree, links=tree.links.under(hung)), {**torn, **live}


def _hung(tree: _Tree) -> dict[int, str]:
    """Where the live rows hang that hung on nothing live: on the new summary, if what was kept hangs on that."""
    links, fold = tree.links, tree.fold
    if fold.row < 0:
        return {}
    names, boundary = {links.ids[row] for row in fold.kept}, tree.name(fold.row)
    hung = {row: tree.top for row in fold.kept if links.parents[row] not in names}
    if boundary and tree.top not in links.ids:
        hung |= {row: tree.top for row, name in enumerate(links.parents) if row > fold.row and name == boundary}
    return hung


def _left(records: Records, fold: Boundary, gone: Container[int]) -> list[str]:
    """The names of what remains of the rows a compaction kept."""
    rows = (records.get(row, _NOBODY) for row in sorted(fold.kept) if row not in gone)
    return [record.uuid for record in rows if record.uuid and not record.is_sidechain]


def _links(records: Records, count: int) -> Links:
    named = [records.get(row, _NOBODY) for row in range(count)]
    parents = ("" if record.parent_uuid == record.uuid else record.parent_uuid for record in named)
    return Links([record.uuid or "" for record in named], [name or "" for name in parents])


def _torn(tree: _Tree) -> dict[int, str]:
    """Rows whose parent the agent does not find, and the message before each: the agent goes from child to parent, and
    would not get past them to what a fold put before."""
    links, way, start = tree.links, tree.way, tree.fold.row
    live = {name for row, name in enumerate(links.ids) if row >= start or row in tree.fold.kept} - {""}
    roots = {row for row in way if not links.parents[row]}
    lost = (row for row, name in enumerate(links.parents) if row in roots or (name and name not in live))
    torn = [row for row in lost if row > start and links.ids[row] and bool(tree.records[row].is_sidechain) == tree.side]
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


def bare_origin(parts: Sequence[Part]) -> Origin:
    """Who speaks in a user row without a mark."""
    if parts and all(type(part) is ToolResult for part in parts):
        return Origin.TOOL
    said = parts[0].text.lstrip() if parts and type(parts[0]) is Text else ""
    return next((origin for frame, origin in _FRAMES.items() if said.startswith(frame)), Origin.USER)


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


def _with_kept(row: bytes, left: Sequence[str], anchor: str) -> bytes:
    """A boundary that names what is left of the rows it kept, and what they hang on."""
    value = mending.decode(row)
    metadata = {key: said for key, said in value["compactMetadata"].items() if key not in _KEPT}
    kept = {"preservedMessages": {"anchorUuid": anchor, "uuids": left}} if left else {}
    return jsontext.encode({**value, "compactMetadata": {**metadata, **kept}}) + line_end(row)


def _added(
    rows: Sequence[bytes], tree: _Tree, gone: frozenset[int], made: Sequence[Made]
) -> tuple[dict[int, list[bytes]], dict[int, str]]:
    """The new rows by the row they follow, and the rows whose parent is now a new one."""
    added: dict[int, list[bytes]] = {}
    parents: dict[int, str] = {}
    boundary = tree.name(tree.fold.row)
    for run in made:
        parent = tree.links.above(run, tree.way, gone)
        parent = tree.top if added and parent == boundary else parent
        copied = (*_COPIED, "agentId") if tree.side else _COPIED
        neighbour = {"isSidechain": tree.side, **_neighbour(rows, run.after, copied)}
        place = max(run.after, tree.end) if run.before is None else run.after
        for message in run.messages:
            added.setdefault(place, []).append(_new_row(message, parent, neighbour))
            parent = _name(message, parent)
        if run.before is not None and run.before > run.after:
            parents[run.before] = parent
    return added, parents


def _neighbour(rows: Sequence[bytes], at: int, copied: Sequence[str]) -> Mapping[str, Any]:
    """These fields of the nearest row with a session to belong to, looking back, then ahead."""
    for row in (*range(at, -1, -1), *range(at + 1, len(rows))):
        if (record := _peek(rows[row])) is not None and record.session_id:
            value = mending.decode(rows[row])
            return {key: value[key] for key in copied if key in value}
    return {}


def _name(message: Message, parent: str) -> str:
    """The name of a new row. It follows from what it says and where, so the same input gives the same."""
    return str(uuid.UUID(digest(f"{parent} {message.identity}".encode())))


def _new_row(message: Message, parent: str, neighbour: Mapping[str, Any]) -> bytes:
    """A row for a message made here."""
    name = _name(message, parent)
    role = "assistant" if message.role == "assistant" else "user"
    said = {"role": role, **anthropic.write_content(message)}
    if role == "assistant":
        said = {"id": message.id or f"msg_{name}", "type": "message", **said}
    value = {"parentUuid": parent or None, **neighbour, "type": role, "message": said, **_marks(message), "uuid": name}
    return jsontext.encode(value) + b"\n"


def _marks(message: Message) -> Mapping[str, bool]:
    """What tells a new row from the user's own words."""
    if message.origin is Origin.SUMMARY:
        return {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    unsaid = message.origin is Origin.TOOL and bare_origin(message.parts) is Origin.USER
    return {"isMeta": True} if unsaid or message.origin is Origin.PROGRAM else {}
