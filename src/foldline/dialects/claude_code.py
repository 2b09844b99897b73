"""Claude Code's transcripts (`~/.claude/projects/…/<session>.jsonl`): reading them, and writing changed ones.

The blocks are those of the Anthropic dialect. One message may be spread over several rows, each with one of its
blocks: `Message.rows[i]` is the row that holds `parts[i]`. Which rows belong together is `claude_rows`' matter, how
changed messages go back into rows is `claude_write`'s.

`Conversation.compactions` speaks of the whole history: its indices point into the messages of `history="all"`, also
when only the live ones were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from foldline.dialects import anthropic, claude_write, lines, mending
from foldline.dialects.base import Lined, Source
from foldline.dialects.claude_record import PEEK, Record
from foldline.dialects.claude_rows import Boundary, Outline, Records, group_at, kept_groups, live, once, outline
from foldline.dialects.lined import History, LineDialect
from foldline.model import Compaction, Conversation, Head, Message, Notice, Origin, Part, ToolResult

_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress", "summary", "file-history-snapshot"})
_SYNTHETIC = "<synthetic>"
"""The model named in rows the client wrote in the model's place."""


class ClaudeCode(LineDialect):
    name = "claude-code"
    api = "anthropic"
    grammar = anthropic.GRAMMAR

    def fits(self, value: Any) -> int:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return 0
        linked = sum(key in value for key in ("uuid", "parentUuid", "sessionId", "isSidechain"))
        if linked >= 3:
            return 100
        if value["type"] == "summary" and "leafUuid" in value:
            return 90
        if value["type"] == "file-history-snapshot" and "snapshot" in value:
            return 90
        return 60 if linked and value["type"] in _TYPES else 0

    def read_lines(self, source: Source, lines_: Iterable[bytes], history: History = "live") -> Conversation:
        split = lines.split(lines_, PEEK)
        every = {row: record for row, record in enumerate(split.values) if record is not None}
        records = once(every)
        again = len(every) - len(records)
        repeated = (Notice("repeated", f"rows that repeat an earlier one, and count once: {again:,}"),) if again else ()
        whole = outline(records)
        chosen, notices = live(records, whole) if history == "live" else (range(len(whole.groups)), ())
        messages = tuple(_message(split, whole.groups[n]) for n in chosen)
        return Conversation(
            self.name,
            messages,
            Head(model=_model(records)),
            self.grammar,
            Lined(source, split.rows, messages),
            (*split.notices, *repeated, *whole.notices, *notices),
            tuple(_compaction(split, whole, boundary) for boundary in whole.boundaries),
        )

    def rewrite(self, layout: Lined, messages: Sequence[Message]) -> bytes:
        return claude_write.rewrite(layout, messages)


def _model(records: Records) -> str:
    named = (r.message.model for r in reversed(list(records.values())) if r.message and r.type == "assistant")
    return next((model for model in named if model and model != _SYNTHETIC), "")


def _message(split: lines.Rows[Record], group: tuple[int, ...]) -> Message:
    """One message from its rows."""
    rows, record = split.rows, _record(split, group[0])
    pieces = [(row, part) for row in group for part in _parts(split, row)]
    if record.type != "assistant":
        pieces = _results_first(pieces)
    parts = tuple(part for _, part in pieces)
    held = tuple(row for row, _ in pieces)
    empty = tuple(row for row in group if row not in held)  # rows without a block stand last, so that rows fit parts
    return Message(
        "assistant" if record.type == "assistant" else "user",
        _origin(rows[group[0]], record, parts),
        parts,
        id=(record.message.id if record.message else None) or record.uuid or "",
        form="string" if len(group) == 1 and _is_string(record) else "blocks",
        raw=rows[group[0]] if len(group) == 1 else b"".join(rows[row] for row in group),
        rows=held + empty,
    )


def _is_string(record: Record) -> bool:
    return record.message is not None and bytes(memoryview(record.message.content)[:1]) == b'"'


def _record(split: lines.Rows[Record], row: int) -> Record:
    record = split.values[row]
    assert record is not None  # only rows that hold a record speak
    return record


def _parts(split: lines.Rows[Record], row: int) -> tuple[Part, ...]:
    record = _record(split, row)
    if record.message is None:
        return claude_write.read_told(claude_write.content(mending.decode(split.rows[row])))
    if row in split.odd:
        return anthropic.read_blocks(claude_write.content(mending.decode(split.rows[row])))
    return anthropic.read_blocks(mending.decode_raw(record.message.content))


def _results_first(pieces: list[tuple[int, Part]]) -> list[tuple[int, Part]]:
    """The provider wants results before text; a row that has it otherwise keeps its own order."""
    ordered = sorted(pieces, key=lambda piece: type(piece[1]) is not ToolResult)
    in_rows = [sorted(order, key=lambda piece: piece[0]) for order in (pieces, ordered)]
    return ordered if all(a is b for a, b in zip(*in_rows, strict=True)) else pieces


def _origin(row: bytes, record: Record, parts: tuple[Part, ...]) -> Origin:
    if record.type == "assistant":
        return Origin.ASSISTANT
    if record.is_compact_summary:
        return Origin.SUMMARY
    if record.is_meta or (record.attachment is not None and not claude_write.typed(mending.decode(row))):
        return Origin.PROGRAM
    return claude_write.bare_origin(parts)


def _compaction(split: lines.Rows[Record], whole: Outline, boundary: Boundary) -> Compaction:
    at = group_at(whole, boundary.row)
    summary = ""
    if at < len(whole.groups) and _record(split, whole.groups[at][0]).is_compact_summary:
        summary = _message(split, whole.groups[at]).text
    before, after = boundary.metadata.get("preTokens"), boundary.metadata.get("postTokens")
    return Compaction(
        at,
        summary,
        str(boundary.metadata.get("trigger", "")),
        before if isinstance(before, int) else None,
        after if isinstance(after, int) else None,
        tuple(kept_groups(whole, boundary)),
    )
