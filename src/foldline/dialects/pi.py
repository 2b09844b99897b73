"""pi's session files (`~/.pi/agent/sessions/…/*.jsonl`): a header, then entries that form a tree.

The live branch is the way from the last entry back to the root; older files have no ids and are one line of entries.
A `compaction` entry stands for everything before its first kept entry. The results of one step are separate entries,
and one message here. How entries are put into words and back is `pi_words`' matter.

`Conversation.compactions` speaks of the whole history: its indices point into the messages of `history="all"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldline.dialects import anthropic, lines, mending, pi_write
from foldline.dialects.base import Lined, Source
from foldline.dialects.lined import History, LineDialect
from foldline.dialects.pi_entries import PEEK, Branch, Entry, broken_off, first_kept, origin, speaks, torn_off, way
from foldline.dialects.pi_words import read_entry
from foldline.model import Compaction, Conversation, Head, Message, Notice, Part

_TYPES = frozenset({"message", "compaction", "branch_summary", "custom_message", "model_change", "custom", "label"})


class Pi(LineDialect):
    name = "pi"
    api = "anthropic"
    grammar = anthropic.GRAMMAR

    def fits(self, value: Any) -> int:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return 0
        kind, message = value["type"], value.get("message")
        if kind == "session" and {"id", "cwd", "timestamp"} <= value.keys():
            return 100
        if kind == "message" and isinstance(message, dict) and "role" in message and "timestamp" in value:
            return 95
        return 70 if kind in _TYPES and "timestamp" in value and "payload" not in value else 0

    def read_lines(self, source: Source, lines_: Iterable[bytes], history: History = "live") -> Conversation:
        split = lines.split(lines_, PEEK)
        entries = {row: entry for row, entry in enumerate(split.values) if entry is not None}
        branch = way(entries)
        whole = _groups(entries, _once(entries))
        live = [row for row in branch.live() if not (broken_off(entries[row]) or branch.replaced(entries, row))]
        chosen = _groups(entries, live) if history == "live" else whole
        messages = tuple(_message(split.rows, entries, group) for group in chosen)
        aside = sum(speaks(entries[row]) for row in entries.keys() - set(branch.path))
        left = [Notice("left-behind", f"{aside} entries lie on other branches")] if aside and history == "live" else []
        return Conversation(
            self.name,
            messages,
            Head(model=_model(entries, branch.path)),
            self.grammar,
            Lined(source, split.rows, messages),
            (*split.notices, *_torn(entries, branch), *left, *_unsent(entries, branch, history)),
            tuple(_compactions(entries, whole)),
        )

    def rewrite(self, layout: Lined, messages: Sequence[Message]) -> bytes:
        entries = {row: e for row, e in enumerate(lines.split(layout.rows, PEEK).values) if e is not None}
        branch = way(entries)
        return pi_write.rewrite(layout, messages, entries, branch)


def _torn(entries: Mapping[int, Entry], branch: Branch) -> Iterable[Notice]:
    number = len(torn_off(entries).keys() & set(branch.path))
    if number:
        text = f"{number} entries name a parent that is not there; each is taken for a child of the entry before it"
        yield Notice("torn-off", text)


def _unsent(entries: Mapping[int, Entry], branch: Branch, history: History) -> Iterable[Notice]:
    number = sum(speaks(entries[row]) and broken_off(entries[row]) for row in branch.live())
    if number and history == "live":
        yield Notice("broken-off", f"{number} answers failed or were cut off; the model never sees them")


def _once(entries: Mapping[int, Entry]) -> list[int]:
    """The rows without those that repeat the id of an earlier one."""
    first = {entry.id or f"row {row}": row for row, entry in reversed(list(entries.items()))}
    return sorted(first.values())


def _groups(entries: Mapping[int, Entry], chosen: Iterable[int]) -> list[tuple[int, ...]]:
    """Entries joined to messages: the results that follow one answer are one message."""
    groups: list[list[int]] = []
    open_ = False
    for row in chosen:
        entry = entries[row]
        if not speaks(entry):
            continue
        result = entry.role == "toolResult"
        if result and open_:
            groups[-1].append(row)
        else:
            groups.append([row])
        open_ = result
    return [tuple(group) for group in groups]


def _message(rows: Sequence[bytes], entries: Mapping[int, Entry], group: tuple[int, ...]) -> Message:
    first = entries[group[0]]
    pieces: list[tuple[int, Part]] = [(row, part) for row in group for part in read_entry(mending.decode(rows[row]))]
    held = tuple(row for row, _ in pieces)
    return Message(
        "assistant" if first.role == "assistant" else "user",
        origin(first, mending.decode(rows[group[0]])),
        tuple(part for _, part in pieces),
        id=first.id or "",
        form="blocks",
        raw=rows[group[0]] if len(group) == 1 else b"".join(rows[row] for row in group),
        rows=held + tuple(row for row in group if row not in held),
    )


def _model(entries: Mapping[int, Entry], path: Sequence[int]) -> str:
    for row in reversed(path):
        entry = entries[row]
        named = entry.model_id if entry.type == "model_change" else entry.message.model if entry.message else None
        if named:
            return named
    return next((e.model_id for e in entries.values() if e.type == "session" and e.model_id), "") or ""


def _compactions(entries: Mapping[int, Entry], whole: Sequence[tuple[int, ...]]) -> Iterable[Compaction]:
    for row, entry in entries.items():
        if entry.type != "compaction":
            continue
        kept = first_kept(entries, row)
        yield Compaction(
            next((n for n, group in enumerate(whole) if group[0] >= row), len(whole)),
            entry.summary or "",
            tokens_before=entry.tokens_before,
            kept=tuple(n for n, group in enumerate(whole) if kept is not None and kept <= group[0] < row),
        )
