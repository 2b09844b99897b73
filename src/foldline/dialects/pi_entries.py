"""pi's entries: what has to be known of each, which of them speak, who does, and which are on the live branch.

What an entry says is `pi_words`' matter; how files are written again, `pi_write`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from foldline.dialects.lines import Peek
from foldline.model import Origin

MADE = "foldline"
"""The `customType` of messages made here; who speaks in them is noted in their `details`, which pi keeps to itself."""


class Spoken(msgspec.Struct, rename="camel", gc=False):
    role: str | None = None
    model: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    exclude_from_context: bool | None = None
    stop_reason: str | None = None


class Entry(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | int | None = None
    message: Spoken | None = None
    summary: str | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    tokens_before: int | None = None
    model_id: str | None = None

    @property
    def role(self) -> str:
        return (self.message.role or "") if self.message else ""


PEEK = Peek(Entry, lambda entry: bool(entry.type and entry.timestamp is not None))


def speaks(entry: Entry) -> bool:
    """The entry is part of what is said to the model or by it. An answer cut off before its first word says nothing."""
    if entry.type == "message" and entry.message is not None:
        return not entry.message.exclude_from_context and bytes(entry.message.content) != b"[]"
    return entry.type == "custom_message" or (entry.type in ("compaction", "branch_summary") and bool(entry.summary))


def broken_off(entry: Entry) -> bool:
    """An answer that failed or was cut off: it stays in the file, and pi leaves it out of what it sends."""
    return entry.role == "assistant" and entry.message is not None and entry.message.stop_reason in _BROKEN


_BROKEN = ("error", "aborted")


def origin(entry: Entry, value: Mapping[str, Any]) -> Origin:
    """Who speaks. What a command printed is a tool's word, though the user ran it and pi says it as the user."""
    if entry.type in ("compaction", "branch_summary"):
        return Origin.SUMMARY
    if entry.type == "custom_message":
        details = value.get("details")
        told = details.get("origin") if value.get("customType") == MADE and isinstance(details, dict) else None
        return next((one for one in (Origin.SUMMARY, Origin.TOOL) if told == one.value), Origin.PROGRAM)
    return _ORIGINS.get(entry.role, Origin.PROGRAM)


_ORIGINS = {
    "user": Origin.USER,
    "assistant": Origin.ASSISTANT,
    "toolResult": Origin.TOOL,
    "bashExecution": Origin.TOOL,
}


@dataclass(frozen=True, slots=True)
class Branch:
    """The way from the root to the last entry, and where its last compaction stands on it."""

    path: Sequence[int]
    fold: int | None
    kept: int | None

    def live(self) -> list[int]:
        """The rows the agent would send next, in the order in which it would."""
        if self.fold is None:
            return list(self.path)
        at = self.path.index(self.fold)
        first = self.path.index(self.kept) if self.kept in self.path[:at] else at
        return [self.fold, *self.path[first:at], *self.path[at + 1 :]]

    def replaced(self, entries: Mapping[int, Entry], row: int) -> bool:
        """An earlier compaction: what the last one kept may begin before it, and its summary is not sent again."""
        return entries[row].type == "compaction" and row != self.fold


def way(entries: Mapping[int, Entry]) -> Branch:
    """From the last entry back to the root, over what was torn; the whole file where entries have no ids."""
    rows = [row for row, entry in entries.items() if entry.type != "session"]
    if not any(entries[row].id for row in rows):
        return _branch(entries, rows)
    places = {entries[row].id: row for row in rows if entries[row].id}
    torn = torn_off(entries)
    path, at = dict[int, None](), rows[-1] if rows else None
    while at is not None and at not in path:
        path[at] = None
        at = places.get(entries[at].parent_id or None, torn.get(at))
    return _branch(entries, list(path)[::-1])


def torn_off(entries: Mapping[int, Entry]) -> dict[int, int]:
    """Entries whose parent is not in the file, as when its line was damaged, and the one before each: it stands in for
    the parent, or all that was said before would be lost."""
    rows = [row for row, entry in entries.items() if entry.type != "session"]
    names = {entries[row].id for row in rows} | {None, ""}
    return {row: before for before, row in pairwise(rows) if entries[row].parent_id not in names and entries[before].id}


def _branch(entries: Mapping[int, Entry], path: Sequence[int]) -> Branch:
    fold = next((row for row in reversed(path) if entries[row].type == "compaction"), None)
    return Branch(path, fold, first_kept(entries, fold) if fold is not None else None)


def first_kept(entries: Mapping[int, Entry], fold: int) -> int | None:
    """The row of the first entry a compaction kept: named by its id, or counted from the header in older files."""
    name, index = entries[fold].first_kept_entry_id, entries[fold].first_kept_entry_index
    if name:
        return next((row for row, entry in entries.items() if entry.id == name), None)
    rows = list(entries)
    return rows[index] if index is not None and 0 <= index < len(rows) else None
