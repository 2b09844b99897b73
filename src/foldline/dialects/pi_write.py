"""How a pi session file is written again after its messages changed.

A compaction entry stays even when its summary is gone, since without it everything it stood for would come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldline.dialects import jsontext, mending
from foldline.dialects.base import Lined, plain_text
from foldline.dialects.lined import START, Links, Made, assemble, behind, line_end, owners, plan, share, unsized
from foldline.dialects.pi_entries import MADE, Branch, Entry, torn_off
from foldline.dialects.pi_words import COUNTS, new_message, write_entry
from foldline.model import Message, Origin, digest

_USAGE = ("message", "usage")
_ID_LENGTH = 8
"""pi names its entries by eight hex digits."""


def rewrite(layout: Lined, messages: Sequence[Message], entries: Mapping[int, Entry], branch: Branch) -> bytes:
    """The session with other messages in it."""
    homes = _homes(layout, entries, branch.path)
    branch = _at_home(branch, homes)
    fold = branch.fold
    todo = plan(layout, _in_order(layout, _taking_over(messages, fold), fold), START if fold is None else fold)
    todo = replace(todo, made=tuple(_at_the_end(run, branch.path) for run in todo.made))
    built, emptied = _built(layout, todo.changed)
    if fold in todo.gone:
        built[fold] = _changed(layout.rows[fold], {"summary": ""})
    gone = (todo.gone | emptied) - {fold}
    changed = gone | {row for row, new in built.items() if new != layout.rows[row]}
    if changed or todo.made:
        gone |= {row for row, home in homes.items() if row != home}
        entries = {row: entry for row, entry in entries.items() if row == homes[row]}
        for row in behind(branch.live(), changed, todo.made):
            built[row] = unsized(built.get(row, layout.rows[row]), _USAGE, COUNTS)
    links = _links(len(layout.rows), entries)
    torn = {row: links.ids[before] for row, before in torn_off(entries).items()} if gone or todo.made else {}
    links = links.under(torn)
    added, parents = _added(links, branch.path, gone, todo.made, entries)
    added |= _leading_back(links, branch.path, gone, added, entries)
    for row, parent in {**torn, **links.mended(gone), **parents}.items():
        built[row] = _changed(built.get(row, layout.rows[row]), {"parentId": parent or None})
    if fold is not None and branch.kept in branch.path:
        kept = branch.path[branch.path.index(branch.kept) :]
        first = next((row for row in kept if row not in gone), fold)
        place = _place(entries, links.ids[first], first, gone, added)
        built[fold] = _changed(built.get(fold, layout.rows[fold]), place)
    return assemble(layout.rows, gone, built, added)


def _homes(layout: Lined, entries: Mapping[int, Entry], way: Sequence[int]) -> dict[int, int]:
    """For the row of each entry, the one that it is taken from: where an entry stands several times, that of its
    message, or the one on the way, or else the last, as pi itself does."""
    names = {row: row if entry.type == "session" else entry.id or row for row, entry in entries.items()}
    homes = {names[row]: row for row in (*entries, *way, *owners(layout.messages))}
    return {row: homes[name] for row, name in names.items()}


def _at_home(branch: Branch, homes: Mapping[int, int]) -> Branch:
    fold, kept = (None if row is None else homes[row] for row in (branch.fold, branch.kept))
    return Branch([homes[row] for row in branch.path], fold, kept)


def _built(layout: Lined, changed: Mapping[int, tuple[Message, ...]]) -> tuple[dict[int, bytes], frozenset[int]]:
    """The rows of changed messages, and those of them that hold nothing any more."""
    originals = owners(layout.messages)
    built: dict[int, bytes] = {}
    emptied = set()
    for row, (message, *_) in changed.items():
        mine = share(message, originals[row][0] if row in originals else message).get(row, ())
        if message.parts and not mine:
            emptied.add(row)
        else:
            built[row] = _changed(layout.rows[row], write_entry(mending.decode(layout.rows[row]), mine))
    return built, frozenset(emptied)


def _taking_over(messages: Sequence[Message], fold: int | None) -> Sequence[Message]:
    """A new first message in plain words takes the place of a compaction's summary that is gone."""
    if fold is None or not messages or any(fold in message.rows for message in messages):
        return messages
    first = messages[0]
    if first.rows or plain_text(first.parts) is None:
        return messages
    return (replace(first, rows=(fold,)), *messages[1:])


def _in_order(layout: Lined, messages: Sequence[Message], fold: int | None) -> Sequence[Message]:
    """New entries stand behind the compaction: what it kept and follows one of them is written anew."""
    made = next((n for n, message in enumerate(messages) if not message.rows), len(messages))
    kept = [fold is not None and n > made and min(m.rows, default=fold) < fold for n, m in enumerate(messages)]
    return [_anew(layout, m) if moves else m for m, moves in zip(messages, kept, strict=True)]


def _at_the_end(run: Made, way: Sequence[int]) -> Made:
    """What nothing follows stands behind the entry that is loaded: after the last message may come a label, or an
    answer that was cut off, and what hangs above these alone is on no way."""
    return run if run.before is not None else replace(run, after=max((run.after, *way[-1:])))


def _anew(layout: Lined, message: Message) -> Message:
    """The message without its entries. A tool's words that no call asked for would be the user's in a new entry."""
    unasked = message.origin is Origin.TOOL and not message.results
    origin = Origin.PROGRAM if unasked else message.origin
    about = mending.decode(unsized(layout.rows[message.rows[0]], _USAGE, COUNTS)).get("message")
    extra = about if message.role == "assistant" and isinstance(about, dict) else {}
    return replace(message, origin=origin, extra=extra, raw=None, rows=())


def _changed(row: bytes, fields: Mapping[str, Any]) -> bytes:
    """The row with other values in some fields; the same bytes when they are the same."""
    value = mending.decode(row)
    new = {**value, **fields}
    return row if new == value else jsontext.encode(new) + line_end(row)


def _links(count: int, entries: Mapping[int, Entry]) -> Links:
    def named(field: str) -> list[str]:
        tree = (row in entries and entries[row].type != "session" for row in range(count))
        return [(getattr(entries[row], field) or "") if yes else "" for row, yes in enumerate(tree)]

    return Links(named("id"), named("parent_id"))


def _place(
    entries: Mapping[int, Entry], name: str, first: int, gone: frozenset[int], added: Mapping[int, Sequence[bytes]]
) -> Mapping[str, Any]:
    """How a compaction names its first kept entry: by id, or by its place among the entries as they will be."""
    if name:
        return {"firstKeptEntryId": name}
    left = sum(row not in gone for row in entries if row < first)
    return {"firstKeptEntryIndex": left + sum(len(new) for row, new in added.items() if row < first)}


def _leading_back(
    links: Links,
    way: Sequence[int],
    gone: frozenset[int],
    added: Mapping[int, Sequence[bytes]],
    entries: Mapping[int, Entry],
) -> dict[int, list[bytes]]:
    """An entry that says nothing, at the end of the file, where all that the way had there is gone and that of another
    branch is left: pi loads the way to the last entry."""
    left = [row for row in entries if row not in gone and links.ids[row]]
    mine = [row for row in way if row in left]
    if not mine or left[-1] in way or any(row > left[-1] for row in added):
        return {}
    parent = links.ids[mine[-1]]
    name = digest(jsontext.encode([parent, "back"]))[:_ID_LENGTH]
    back = {
        "type": "custom",
        "id": name,
        "parentId": parent,
        "timestamp": entries[mine[-1]].timestamp,
        "customType": MADE,
    }
    return {left[-1]: [*added.get(left[-1], ()), jsontext.encode(back) + b"\n"]}


def _added(
    links: Links, way: Sequence[int], gone: frozenset[int], made: Sequence[Made], entries: Mapping[int, Entry]
) -> tuple[dict[int, list[bytes]], dict[int, str]]:
    """The new rows by the row they follow, and the rows whose parent is now a new one."""
    added: dict[int, list[bytes]] = {}
    parents: dict[int, str] = {}
    tree = any(links.ids) or not entries
    for run in made:
        stamp = next((entries[row].timestamp for row in range(run.after, -1, -1) if row in entries), "")
        parent = links.above(run, way, gone)
        for number, entry in enumerate(entry for message in run.messages for entry in new_message(message)):
            name = digest(jsontext.encode([parent, number, entry]))[:_ID_LENGTH]
            linked = {"id": name, "parentId": parent or None} if tree else {}
            row = jsontext.encode({**entry, **linked, "timestamp": stamp}) + b"\n"
            added.setdefault(run.after, []).append(row)
            parent = name
        if tree and run.before is not None and run.before > run.after:
            parents[run.before] = parent
    return added, parents
