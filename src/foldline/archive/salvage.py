"""What can be read of a damaged archive, put into a new one: every message whose bytes still match their hash.

    rows that can be read ──> blobs, checked → nodes → sessions → checkpoints and plans that are whole → search index

Where a message is lost, its place is kept and says so, and what stands behind it is still there (regrow.py); should it
be sent again, it is put back. A checkpoint is whole or left out. Files are not known here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldline.archive import blobs, plans, rebuild
from foldline.archive.blobs import LOST
from foldline.archive.index import Index
from foldline.archive.keys import key_of, root_key
from foldline.archive.later import catch_up
from foldline.archive.rebuild import DAMAGED
from foldline.archive.regrow import Haul, regrow
from foldline.archive.wreck import Row, rows, scanned
from foldline.dialects.convert import REQUESTS
from foldline.errors import ArchiveError, FoldlineError
from foldline.model import Message, Origin, Text, ToolResult

MOST = 1 << 33
"""Bytes by which a copy may be longer than the damaged file: a damaged header may say anything."""
_READING = (FoldlineError, *DAMAGED)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What is in the new archive, and what is not: messages of which only the place is left."""

    messages: int = 0
    lost: int = 0
    displaced: int = 0
    sessions: int = 0
    checkpoints: int = 0
    missed: int = 0

    def __str__(self) -> str:
        if not self.messages and not self.lost:
            return "Nothing could be read of it; a new archive was begun."
        sessions = f"{_count(self.messages, 'message')} in {_count(self.sessions, 'session')}"
        text = f"{sessions} and {_count(self.checkpoints, 'checkpoint')} were saved"
        text += f", {_count(self.lost, 'message')} {_were(self.lost)} lost" if self.lost else ""
        text += f", {_count(self.missed, 'checkpoint')} {_were(self.missed)} left out" if self.missed else ""
        return f"{text}{f', the place of {self.displaced:,} is not known' if self.displaced else ''}."


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


NOTHING = Salvaged()


def salvage(damaged: Path, new: sqlite3.Connection) -> Salvaged:
    """Fills a new archive with what can be read of a damaged one. All of it, or none, is in it afterwards."""
    with closing(sqlite3.connect(damaged, isolation_level=None)) as old:
        old.execute("PRAGMA writable_schema = ON")  # tables are read although the list of them is damaged
        new.execute("BEGIN IMMEDIATE")
        try:
            haul = Haul()
            _merge(old)
            strays = scanned(damaged, new, "blobs", "nodes", "parts")
            checkpoints, missed = _tree(old, new, haul, strays)
            catch_up(new, Index())
        except BaseException:
            new.execute("ROLLBACK")
            raise
        new.execute("COMMIT")
    lost = sum(haul.blobs[row["blob"]]["codec"] == LOST for row in haul.nodes.values())
    return Salvaged(len(haul.nodes) - lost, lost, haul.displaced, len(haul.sessions), checkpoints, missed)


def _merge(old: sqlite3.Connection) -> None:
    """The copy holds what was committed beside it, as far as SQLite finds it."""
    try:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):
        return  # then what is in the file itself is all there is


def _tree(
    old: sqlite3.Connection, new: sqlite3.Connection, haul: Haul, strays: dict[str, list[Row]]
) -> tuple[int, int]:
    haul.blobs = {row["id"]: row for row in _blobs(old, new, strays["blobs"])}
    nodes = (*strays["nodes"], *rows(old, new, "nodes"))
    haul.nodes = {row["id"]: row for row in nodes if _makes_sense(row)}
    haul.sessions = {row["id"]: row for row in rows(old, new, "sessions")}
    haul.versions = [row for row in rows(old, new, "versions") if row["node"] in haul.nodes]
    parts = (*strays["parts"], *rows(old, new, "parts"))
    haul.parts = {(row["node"], row["blob"]): row for row in parts if row["node"] in haul.nodes}
    checkpoints, seen = _checkpoints(old, new, haul)
    regrow(haul)
    _mend_parts(haul)
    _put(new, "blobs", haul.blobs.values())
    _put(new, "nodes", haul.nodes.values())
    _put(new, "sessions", haul.sessions.values())
    _put(new, "versions", [row for row in haul.versions if row["blob"] in haul.blobs])
    _put(new, "parts", haul.parts.values())
    _put(new, "checkpoints", checkpoints.values())
    _put(new, "results", _results(haul, rows(old, new, "results")))
    _plans(old, new, checkpoints)
    return len(checkpoints), seen - len(checkpoints)


def _makes_sense(row: Row) -> bool:
    """A row at the edge of what was lost can be half zeros."""
    return bool(row["id"] > row["parent"] >= 0 and row["blob"] > 0 and row["session"] > 0 and len(row["key"]) == 16)


def _blobs(old: sqlite3.Connection, new: sqlite3.Connection, strays: list[Row]) -> Iterator[Row]:
    """Bytes that match their hash; of the others, that they were there."""
    whole = {row["id"]: row for row in strays if _is_whole(row)}
    whole |= {row["id"]: row for row in rows(old, new, "blobs") if row["id"] not in whole}
    named = {row["id"]: row for row in rows(old, new, "blobs", without="data")}
    seen: set[bytes] = set()
    for number in sorted(whole.keys() | named.keys()):
        row = whole.get(number) or named[number]
        if len(row["hash"]) == 16 and row["hash"] not in seen:
            seen.add(row["hash"])
            yield row if _is_whole(row) else {**row, "codec": LOST, "size": 0, "data": b"", "gone": None}


def _is_whole(row: Row) -> bool:
    if row["data"] is None or row["codec"] not in range(LOST):
        return False
    if row["gone"] is not None:
        return not row["data"]
    try:
        return bool(len(blobs.unpacked(row["hash"], row["codec"], row["size"], row["data"], None)) == row["size"])
    except ArchiveError:
        return False


def _checkpoints(old: sqlite3.Connection, new: sqlite3.Connection, haul: Haul) -> tuple[dict[str, Row], int]:
    """Those that are whole and stand on ones that are; and how many there were."""
    found, kept = rows(old, new, "checkpoints"), dict[str, Row]()
    for row in found:
        if (not row["parent"] or row["parent"] in kept) and _stands(row, haul):
            kept[row["ref"]] = row
            haul.last = max(haul.last, row["node"])
            haul.held |= {row["blob"], row["covered"]}
    for row in found:
        if row["covered"] not in haul.held:
            haul.blobs.pop(row["covered"], None)
    return kept, len(found)


def _stands(row: Row, haul: Haul) -> bool:
    said, covered = haul.blobs.get(row["blob"]), haul.blobs.get(row["covered"])
    if said is None or covered is None or LOST in (said["codec"], covered["codec"]):
        return False
    if said["gone"] is not None:
        return True
    try:
        found = plans.read_checkpoint(row["ref"], _bytes(said))
    except _READING:
        return False
    return bool(said["codec"] & blobs.MASKED) or found.ref == row["ref"]


def _bytes(row: Row) -> bytes:
    return blobs.unpacked(row["hash"], row["codec"], row["size"], row["data"], row["gone"])


def _mend_parts(haul: Haul) -> None:
    """A message that its bytes alone do not give, and whose parts are lost, is its bytes as text."""
    for number, row in haul.nodes.items():
        held = haul.blobs[row["blob"]]
        if held["codec"] == LOST or held["gone"] is not None:
            haul.parts.pop((number, row["blob"]), None)
            continue
        found = _read(haul, row, row["blob"])
        if found is not None and not held["codec"] & blobs.MASKED and not rebuild.depends_on_place(found):
            _rename(haul, row, found)
        if found is None:
            raw = _bytes(held)
            said = Message(row["role"], Origin(row["origin"]), (Text(raw.decode("utf-8", "replace")),), raw=raw)
            _rename(haul, row, said)
            packed = blobs.Blobs().pack(rebuild.dump(said))
            haul.parts[number, row["blob"]] = {"node": number, "blob": row["blob"], "data": packed}
    others = [row for row in haul.versions if haul.has(row["blob"])]
    haul.versions = [row for row in others if _read(haul, haul.nodes[row["node"]], row["blob"]) is not None]


def _rename(haul: Haul, row: Row, said: Message) -> None:
    """Its key, from what it says now."""
    whose = haul.sessions[row["session"]]
    own = root_key(whose["scope"], row["dialect"], said, whose["project"])
    if row["parent"] or row["key"] != own:
        row["key"] = key_of(said) if row["parent"] else root_key(whose["scope"], row["dialect"], said)


def _read(haul: Haul, row: Row, blob: int) -> Message | None:
    """The message of a node; None where what is left does not give it."""
    parts = haul.parts.get((row["id"], blob))
    if parts is None and row["dialect"] not in REQUESTS:
        return None
    try:
        kept = rebuild.Kept(_bytes(haul.blobs[blob]), blobs.unpack(parts["data"]) if parts else None, row["position"])
        found = rebuild.alone(row["dialect"], kept)
    except _READING:
        return None
    if (found.role, found.origin.value) != (row["role"], row["origin"]):
        return None
    haul.read[row["id"], blob] = found
    return found


def _results(haul: Haul, told: list[Row]) -> Iterator[Row]:
    """Where each tool result stands: looked for in the messages; of masked ones, as it was told."""
    for (node, blob), found in haul.read.items():
        for part, result in enumerate(found.parts):
            if isinstance(result, ToolResult) and not haul.blobs[blob]["codec"] & blobs.MASKED:
                yield {"ref": result.ref, "node": node, "blob": blob, "part": part}
    for row in told:
        if (row["node"], row["blob"]) in haul.read and haul.blobs[row["blob"]]["codec"] & blobs.MASKED:
            yield row


def _plans(old: sqlite3.Connection, new: sqlite3.Connection, checkpoints: dict[str, Row]) -> None:
    known = checkpoints.keys() | {""}
    kept = {row["id"]: row for row in rows(old, new, "plans") if row["checkpoint"] in known and _is_plan(row)}
    _put(new, "plans", kept.values())
    _put(new, "active", [row for row in rows(old, new, "active") if row["plan"] in kept])
    _put(new, "undone", [row for row in rows(old, new, "undone") if row["checkpoint"] in known])


def _is_plan(row: Row) -> bool:
    try:
        return bool(plans.read_plan(row["id"], row["data"]).checkpoint == row["checkpoint"])
    except _READING:
        return False


def _put(new: sqlite3.Connection, table: str, found: Any) -> None:
    for row in found:
        marks = ", ".join(f":{name}" for name in row)
        new.execute(f"INSERT OR IGNORE INTO {table}({', '.join(row)}) VALUES ({marks})", row)  # noqa: S608 - our names
