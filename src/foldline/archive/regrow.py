"""The tree of histories put together again from rows of which some are missing. Plain dicts; nothing is read here.

    Haul ── regrow ──> every node has its parent, every history its session, every message its place

Where a message is lost, its place is kept. Messages whose place is lost are gathered in a session of their own.
"""

from __future__ import annotations

import hashlib
import itertools
import time as clock
from collections import Counter
from dataclasses import dataclass, field
from typing import get_args

from foldline.archive.blobs import LOST
from foldline.archive.wreck import Row
from foldline.model import Message, Origin, Role


@dataclass(slots=True)
class Haul:
    """The rows of a damaged archive, by their ids."""

    blobs: dict[int, Row] = field(default_factory=dict)
    nodes: dict[int, Row] = field(default_factory=dict)
    sessions: dict[int, Row] = field(default_factory=dict)
    versions: list[Row] = field(default_factory=list)
    parts: dict[tuple[int, int], Row] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)
    """Blobs that are checkpoints, or what they stand for."""
    last: int = 0
    """The highest node that a checkpoint names."""
    displaced: int = 0
    read: dict[tuple[int, int], Message] = field(default_factory=dict)
    """Messages as they were, by node and blob."""

    def has(self, blob: int) -> bool:
        """The bytes are there."""
        return blob in self.blobs and bool(self.blobs[blob]["codec"] != LOST)

    def lost(self, number: int) -> Row:
        """Bytes of which only is known that they were there."""
        row = {"id": number, "hash": _made_up("blob", number), "codec": LOST, "size": 0, "data": b"", "gone": None}
        self.blobs[number] = row
        return row


def regrow(haul: Haul) -> None:
    """Fills the gaps. The rows are changed, and some are added."""
    _straighten(haul)
    _fill_gaps(haul)
    _gather(haul)
    _end_sessions(haul)


def _made_up(*words: object) -> bytes:
    """A name for something that lost its own: the same each time, and nobody else's."""
    return hashlib.blake2b(repr(("lost", *words)).encode(), digest_size=16).digest()


def _straighten(haul: Haul) -> None:
    """All messages of a session are of its dialect, and none is of a speaker that there is not."""
    told: dict[int, Counter[str]] = {}
    for row in haul.nodes.values():
        told.setdefault(row["session"], Counter())[row["dialect"]] += 1
    for row in haul.nodes.values():
        row["dialect"] = told[row["session"]].most_common(1)[0][0]
        row["role"] = row["role"] if row["role"] in get_args(Role) else "user"
        row["origin"] = row["origin"] if row["origin"] in {origin.value for origin in Origin} else "tool"


def _fill_gaps(haul: Haul) -> None:
    """A place for each message that is missing from a history, and bytes that say they are lost."""
    spare = itertools.count(max((*haul.blobs, *(row["blob"] for row in haul.nodes.values())), default=0) + 1)
    for number in sorted(haul.nodes, reverse=True):
        below = haul.nodes[number]
        while below["parent"] and below["parent"] not in haul.nodes:
            made = _gap(haul, below, next(spare))
            haul.nodes[made["id"]] = below = made
    others = {row["node"]: row["blob"] for row in haul.versions if haul.has(row["blob"])}
    for number, row in haul.nodes.items():
        if not haul.has(row["blob"]):
            row["blob"] = others.get(number, row["blob"])
        if row["blob"] not in haul.blobs:
            haul.lost(row["blob"])
    _count(haul)


def _gap(haul: Haul, child: Row, blob: int) -> Row:
    """The message before one whose parent is missing. Ids count on, so the one before that is mostly known."""
    number = child["parent"]
    before = haul.nodes.get(number - 1)
    follows = number > 1 and child["position"] > 1 and (before is None or before["position"] == child["position"] - 2)
    haul.lost(blob)
    made = {"id": number, "parent": number - 1 if follows else 0, "key": _made_up("node", number), "blob": blob}
    return {**child, **made, "position": child["position"] - 1, "role": "user", "origin": "tool", "tools": ""}


def _count(haul: Haul) -> None:
    """Each message's place, counted from the beginning."""
    for number in sorted(haul.nodes):
        row = haul.nodes[number]
        row["position"] = haul.nodes[row["parent"]]["position"] + 1 if row["parent"] else 0


def _gather(haul: Haul) -> None:
    """Bytes that no place is left for, in a history of their own."""
    placed = {row["blob"] for row in haul.nodes.values()} | {row["blob"] for row in haul.versions} | haul.held
    parent, session = 0, max(haul.sessions, default=0) + 1
    number = max((*haul.nodes, *(row["leaf"] for row in haul.sessions.values()), haul.last), default=0) + 1
    for at, blob in enumerate(sorted(haul.blobs.keys() - placed)):
        if haul.blobs[blob]["codec"] == LOST or haul.blobs[blob]["gone"] is not None:
            del haul.blobs[blob]
            continue
        row = {"parent": parent, "key": _made_up("stray", blob), "blob": blob, "session": session, "tools": ""}
        place = {"position": haul.displaced, "role": "user", "origin": "tool", "dialect": "", "time": clock.time()}
        haul.nodes[number + at] = {"id": number + at, **row, **place}
        parent, haul.displaced = number + at, haul.displaced + 1


def _end_sessions(haul: Haul) -> None:
    """Each history ends in a session, and each message belongs to one that is there."""
    inner = {row["parent"] for row in haul.nodes.values()}
    ends = {haul.nodes[number]["session"]: number for number in sorted(haul.nodes.keys() - inner)}
    for number, row in list(haul.sessions.items()):
        row["leaf"] = row["leaf"] if row["leaf"] in haul.nodes else ends.get(number, 0)
        if not row["leaf"]:
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


def _lead(haul: Haul, session: Row) -> None:
    """Where a session begins and how long it is, from its end."""
    node = haul.nodes[session["leaf"]]
    session["messages"] = node["position"] + 1
    while node["parent"]:
        node = haul.nodes[node["parent"]]
    session["root"] = node["id"]
    if session["forked"] not in haul.sessions:
        session["forked"] = session["fork_node"] = None
