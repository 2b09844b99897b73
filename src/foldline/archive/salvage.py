"""What can be read of a damaged archive, put into a new one: every message whose bytes still match their hash.

    rows that can be read ──> blobs, checked → nodes → sessions → checkpoints and plans that are whole → search index

Where a message is lost, its place is kept and says so, and what stands behind it is still there; should it be sent
again, it is put back. Messages whose place is lost are gathered in a session of their own. A checkpoint is whole or
left out. Files are not known here.
"""

from __future__ import annotations

import hashlib
import itertools
import sqlite3
import time as clock
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldline.archive import blobs, plans, rebuild, ways
from foldline.archive.base import Indexed
from foldline.archive.blobs import LOST
from foldline.archive.nodes import Indexer
from foldline.archive.wreck import Row, rows
from foldline.errors import ArchiveError, FoldlineError
from foldline.model import Message, Origin, Text

MOST = 1 << 33
"""Bytes by which a copy may be longer than the damaged file: a damaged header may say anything."""
_READING = (FoldlineError, LookupError, TypeError, ValueError, AttributeError, AssertionError)


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
        text = (
            f"{self.messages:,} messages in {self.sessions:,} sessions and {self.checkpoints:,} checkpoints were saved"
        )
        text += f", {self.lost:,} messages were lost" if self.lost else ""
        text += f", {self.missed:,} checkpoints were left out" if self.missed else ""
        return f"{text}{f', the place of {self.displaced:,} is not known' if self.displaced else ''}."


NOTHING = Salvaged()


@dataclass(slots=True)
class _Haul:
    """The rows of a damaged archive, by their ids."""

    blobs: dict[int, Row] = field(default_factory=dict)
    nodes: dict[int, Row] = field(default_factory=dict)
    sessions: dict[int, Row] = field(default_factory=dict)
    versions: list[Row] = field(default_factory=list)
    parts: dict[tuple[int, int], Row] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)
    """Blobs that are checkpoints, or what they stand for."""
    displaced: int = 0

    def lost(self, number: int) -> Row:
        """Bytes of which only is known that they were there."""
        row = {"id": number, "hash": _made_up("blob", number), "codec": LOST, "size": 0, "data": b"", "gone": None}
        self.blobs[number] = row
        return row


def salvage(damaged: Path, new: sqlite3.Connection, index: Indexer | None) -> Salvaged:
    """Fills a new archive with what can be read of a damaged one. All of it, or none, is in it afterwards."""
    with closing(sqlite3.connect(damaged, isolation_level=None)) as old:
        new.execute("BEGIN IMMEDIATE")
        try:
            haul = _Haul()
            checkpoints, missed = _tree(old, new, haul)
            _index(new, index)
        except BaseException:
            new.execute("ROLLBACK")
            raise
        new.execute("COMMIT")
    lost = sum(haul.blobs[row["blob"]]["codec"] == LOST for row in haul.nodes.values())
    return Salvaged(len(haul.nodes) - lost, lost, haul.displaced, len(haul.sessions), checkpoints, missed)


def _tree(old: sqlite3.Connection, new: sqlite3.Connection, haul: _Haul) -> tuple[int, int]:
    haul.blobs = {row["id"]: row for row in _blobs(old, new)}
    haul.nodes = {row["id"]: row for row in rows(old, new, "nodes") if row["id"] > row["parent"] >= 0}
    haul.sessions = {row["id"]: row for row in rows(old, new, "sessions")}
    haul.versions = [row for row in rows(old, new, "versions") if row["node"] in haul.nodes]
    haul.parts = {(row["node"], row["blob"]): row for row in rows(old, new, "parts") if row["node"] in haul.nodes}
    checkpoints, seen = _checkpoints(old, new, haul)
    _fill_gaps(haul)
    _gather(haul)
    _end_sessions(haul)
    _mend_parts(haul)
    _put(new, "blobs", haul.blobs.values())
    _put(new, "nodes", haul.nodes.values())
    _put(new, "sessions", haul.sessions.values())
    _put(new, "versions", [row for row in haul.versions if row["blob"] in haul.blobs])
    _put(new, "parts", haul.parts.values())
    _put(new, "checkpoints", checkpoints.values())
    whole = {node: haul.blobs[row["blob"]]["codec"] for node, row in haul.nodes.items()}
    results = (row for row in rows(old, new, "results") if whole.get(row["node"], LOST) != LOST)
    _put(new, "results", [row for row in results if row["blob"] in haul.blobs])
    _plans(old, new, checkpoints)
    return len(checkpoints), seen - len(checkpoints)


def _blobs(old: sqlite3.Connection, new: sqlite3.Connection) -> Iterator[Row]:
    """Bytes that match their hash; of the others, that they were there."""
    whole = {row["id"]: row for row in rows(old, new, "blobs")}
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


def _checkpoints(old: sqlite3.Connection, new: sqlite3.Connection, haul: _Haul) -> tuple[dict[str, Row], int]:
    """Those that are whole and stand on ones that are; and how many there were."""
    found, kept = rows(old, new, "checkpoints"), dict[str, Row]()
    for row in found:
        haul.held |= {row["blob"], row["covered"]}
        if (not row["parent"] or row["parent"] in kept) and _stands(row, haul):
            kept[row["ref"]] = row
    return kept, len(found)


def _stands(row: Row, haul: _Haul) -> bool:
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


def _made_up(*words: object) -> bytes:
    """A name for something that lost its own: the same each time, and nobody else's."""
    return hashlib.blake2b(repr(("lost", *words)).encode(), digest_size=16).digest()


def _fill_gaps(haul: _Haul) -> None:
    """A place for each message that is missing from a history, and bytes that say they are lost."""
    spare = itertools.count(max((*haul.blobs, *(row["blob"] for row in haul.nodes.values())), default=0) + 1)
    for number in sorted(haul.nodes, reverse=True):
        below = haul.nodes[number]
        while below["parent"] and below["parent"] not in haul.nodes:
            below = haul.nodes[below["parent"]] = _gap(haul, below, next(spare))
    others = {row["node"]: row["blob"] for row in haul.versions if _there(haul, row["blob"])}
    for number, row in haul.nodes.items():
        if not _there(haul, row["blob"]):
            row["blob"] = others.get(number, row["blob"])
        if row["blob"] not in haul.blobs:
            haul.lost(row["blob"])
    _count(haul)


def _there(haul: _Haul, blob: int) -> bool:
    return blob in haul.blobs and bool(haul.blobs[blob]["codec"] != LOST)


def _gap(haul: _Haul, child: Row, blob: int) -> Row:
    """The message before one whose parent is missing. Ids count on, so the one before that is mostly known."""
    number = child["parent"]
    before = haul.nodes.get(number - 1)
    follows = number > 1 and child["position"] > 1 and (before is None or before["position"] == child["position"] - 2)
    haul.lost(blob)
    made = {"id": number, "parent": number - 1 if follows else 0, "key": _made_up("node", number), "blob": blob}
    return {**child, **made, "position": child["position"] - 1, "role": "user", "origin": "tool", "tools": ""}


def _count(haul: _Haul) -> None:
    """Each message's place, counted from the beginning."""
    for number in sorted(haul.nodes):
        row = haul.nodes[number]
        row["position"] = haul.nodes[row["parent"]]["position"] + 1 if row["parent"] else 0


def _gather(haul: _Haul) -> None:
    """Bytes that no place is left for, in a history of their own."""
    placed = {row["blob"] for row in haul.nodes.values()} | {row["blob"] for row in haul.versions} | haul.held
    parent, session = 0, max(haul.sessions, default=0) + 1
    number = max(haul.nodes, default=0) + 1
    for at, blob in enumerate(sorted(haul.blobs.keys() - placed)):
        if haul.blobs[blob]["codec"] == LOST or haul.blobs[blob]["gone"] is not None:
            del haul.blobs[blob]
            continue
        row = {"parent": parent, "key": _made_up("stray", blob), "blob": blob, "session": session, "tools": ""}
        place = {"position": haul.displaced, "role": "user", "origin": "tool", "dialect": "", "time": clock.time()}
        haul.nodes[number + at] = {"id": number + at, **row, **place}
        parent, haul.displaced = number + at, haul.displaced + 1


def _end_sessions(haul: _Haul) -> None:
    """Each history ends in a session, and each message belongs to one that is there."""
    inner = {row["parent"] for row in haul.nodes.values()}
    for number in [number for number, row in haul.sessions.items() if row["leaf"] not in haul.nodes]:
        del haul.sessions[number]
    ended = {row["leaf"] for row in haul.sessions.values()}
    for number in sorted(haul.nodes.keys() - inner - ended):
        row = haul.nodes[number]
        own = row["session"] if row["session"] not in haul.sessions else max(haul.sessions, default=0) + 1
        haul.sessions[own] = _session(own, row)
    some = min(haul.sessions, default=0)
    for row in haul.nodes.values():
        row["session"] = row["session"] if row["session"] in haul.sessions else some
    for row in haul.sessions.values():
        _lead(haul, row)


def _session(number: int, leaf: Row) -> Row:
    name, now = _made_up("session", leaf["id"], leaf["key"]).hex()[:16], clock.time()
    told = {"scope": "", "project": "", "title": "what was saved of a damaged archive", "source": ""}
    ends = {"dialect": leaf["dialect"], "root": leaf["id"], "leaf": leaf["id"], "forked": None, "fork_node": None}
    return {"id": number, "name": name, **told, **ends, "started": leaf["time"], "updated": now, "messages": 0}


def _lead(haul: _Haul, session: Row) -> None:
    """Where a session begins and how long it is, from its end."""
    node = haul.nodes[session["leaf"]]
    session["messages"] = node["position"] + 1
    while node["parent"]:
        node = haul.nodes[node["parent"]]
    session["root"] = node["id"]
    if session["forked"] not in haul.sessions:
        session["forked"] = session["fork_node"] = None


def _mend_parts(haul: _Haul) -> None:
    """A message that its bytes alone do not give, and whose parts are lost, is its bytes as text."""
    for number, row in haul.nodes.items():
        held = haul.blobs[row["blob"]]
        if held["codec"] == LOST or held["gone"] is not None:
            haul.parts.pop((number, row["blob"]), None)
            continue
        if not _reads(row, held, haul.parts.get((number, row["blob"]))):
            raw = _bytes(held)
            said = Message(row["role"], Origin(row["origin"]), (Text(raw.decode("utf-8", "replace")),), raw=raw)
            packed = blobs.Blobs().pack(rebuild.dump(said))
            haul.parts[number, row["blob"]] = {"node": number, "blob": row["blob"], "data": packed}


def _reads(row: Row, held: Row, parts: Row | None) -> bool:
    if parts is None and row["dialect"] not in rebuild.REQUESTS:
        return False
    try:
        kept = rebuild.Kept(_bytes(held), blobs.unpack(parts["data"]) if parts else None, row["position"])
        return bool(rebuild.alone(row["dialect"], kept).role == row["role"])
    except _READING:
        return False


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


def _index(new: sqlite3.Connection, index: Indexer | None) -> None:
    """Makes what was saved findable."""
    leaves = new.execute("SELECT leaf FROM sessions").fetchall()
    for (leaf,) in leaves:
        for step in ways.path(new, leaf):
            held = ways.kept(new, step)
            if (
                index is not None
                and held.raw
                and not new.execute("SELECT 1 FROM said WHERE node = ?", (step.node,)).fetchone()
            ):
                message = rebuild.alone(step.dialect, held)
                index.add(new, [Indexed(step.node, message, 0, "", step.time)])
