"""Full-text search over everything that was kept. What is in the index is in index.py.

    search(connection, query, filters, limit) ──> Found, Found, …     the best first, the newer of equals first

Of a common word only the matches that were stored last are ranked. How queries are read and texts are scored is in
core/words/searchtext.py; any text is a query, and what was masked in the index is masked in what is shown.
"""

from __future__ import annotations

import json
import posixpath
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from foldline.archive import ways
from foldline.archive.base import Filters, Found, storable
from foldline.archive.index import TAKE
from foldline.core.words.searchtext import Asked, ask, scores, snippet
from foldline.model import REF_LENGTH

RANKED = 2_000
"""Matches that are ranked, the newest: to rank all of a common word's takes a hundred times as long."""
_LOOKED_AT = 16_000
"""Bytes of a text that its score is made of."""


_CONDITIONS = (
    "s.project = ?",
    "s.scope = ?",
    "iif(n.origin = 'tool', 'tool', n.role) = ?",
    "instr(' ' || lower(n.tools) || ' ', ' ' || lower(?) || ' ')",
    "n.time >= ?",
    "n.time < ?",
)


def _where(filters: Filters) -> tuple[str, list[Any]]:
    """The conditions that SQL can check on a node n and its session s."""
    names = (filters.project, filters.scope, filters.role, filters.tool)
    values = (*(None if name is None else storable(name) for name in names), filters.after, filters.before)
    asked = [(sql, value) for sql, value in zip(_CONDITIONS, values, strict=True) if value is not None]
    return "".join(f" AND {sql}" for sql, _ in asked), [value for _, value in asked]


def search(connection: sqlite3.Connection, query: str, only: Filters, limit: int) -> list[Found]:
    """Messages that have all words of the query, or if none has, any; the best first, the newer of equals first.

    `session` means everything on the way to its end, what it shares with others included; `role` who speaks, a tool's
    result being the tool's; `file` a path, or the end of one, that was touched. Of an empty query, the newest messages.
    """
    asked = ask(query)
    may = allowed(connection, only)
    if asked.terms:
        return shown(connection, asked, by_words(connection, asked, only, may, limit).scores, only.session)
    nodes = [] if query.strip() else list(islice(fitting(connection, EVERY, [], only, may, NEWEST), limit))
    return shown(connection, asked, dict.fromkeys(nodes, 0.0), only.session)


def by_words(connection: sqlite3.Connection, asked: Asked, filters: Filters, allowed: Allowed, limit: int) -> Ranked:
    """The nodes that answer best, the best first."""
    for joint in ("AND", "OR"):
        found = (fitting(connection, select, [asked.match(joint)], filters, allowed) for select in matching(connection))
        nodes = list(islice(chain.from_iterable(found), RANKED))
        if nodes:
            return Ranked(_best(connection, asked, nodes, limit), joint == "AND")
    return Ranked({}, True)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Nodes with their scores, and whether they have all words of the query, not just any."""

    scores: dict[int, float]
    all_words: bool


@dataclass(frozen=True, slots=True)
class Allowed:
    """Nodes that may be found: those of a session's path; those that touch a file, and what answers them."""

    path: frozenset[int] | None
    touching: frozenset[int] | None

    def __call__(self, node: int, parent: int) -> bool:
        if self.path is not None and node not in self.path:
            return False
        return self.touching is None or node in self.touching or parent in self.touching


def allowed(connection: sqlite3.Connection, filters: Filters) -> Allowed:
    """Which nodes the filters leave that SQL cannot check."""
    path = touching = None
    if filters.session is not None:
        leaf = ways.leaf_of(connection, filters.session)
        path = frozenset(step.node for step in ways.path(connection, leaf))
    if filters.file is not None:
        touching = frozenset(_touching(connection, filters.file))
    return Allowed(path, touching)


def _touching(connection: sqlite3.Connection, file: str) -> Iterator[int]:
    """Nodes that touched a file. A path means the same as its end: one is seen from the project, one from the root."""
    wanted = "/" + storable(file).strip("/")
    name = posixpath.basename(wanted)
    for path, node in connection.execute("SELECT path, node FROM files WHERE name = ?", (name,)):
        known = "/" + path.strip("/")
        if known.endswith(wanted) or wanted.endswith(known):
            yield node


MATCHING = "SELECT n.id, n.parent FROM finds CROSS JOIN nodes n ON n.id = finds.rowid {} WHERE finds MATCH ?"
LATE = MATCHING.replace("finds", "late_finds")
"""What is not in the index yet and in a table of one's own: all of it was stored after what is."""
EVERY = "SELECT n.id, n.parent FROM nodes n {} WHERE 1"
NEWEST = "n.time DESC, n.id"
"""What was said last is first; what was imported last may be old."""


def matching(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Where words are looked up, what was stored last first."""
    late = connection.execute("SELECT 1 FROM temp.sqlite_master WHERE name = 'late_finds'").fetchone()
    return (LATE, MATCHING) if late else (MATCHING,)


def fitting(
    connection: sqlite3.Connection, select: str, values: list[Any], filters: Filters, allowed: Allowed, order: str = ""
) -> Iterator[int]:
    """Nodes that fit, those that were stored last first, or in an order of its own."""
    where, more = _where(filters)
    column = "finds.rowid" if select is MATCHING else "n.id"
    if allowed.path is not None:
        where, more = f" AND {column} BETWEEN ? AND ?{where}", [min(allowed.path), max(allowed.path), *more]
    named = filters.project is not None or filters.scope is not None
    sessions = "JOIN sessions s ON s.id = n.session" if named else ""
    sql = f"{select.format(sessions)}{where} ORDER BY {order or column} DESC"
    for node, parent in connection.execute(sql, (*values, *more)):
        if allowed(node, parent):
            yield node


def _best(connection: sqlite3.Connection, asked: Asked, nodes: Sequence[int], limit: int) -> dict[int, float]:
    texts = _texts(connection, nodes, _LOOKED_AT)
    points = dict(zip(texts, (round(score, 3) for score in scores(asked, list(texts.values()))), strict=True))
    best = sorted(points.values(), reverse=True)[:limit]
    good = [node for node in points if best and points[node] >= best[-1]]
    asked_for = "SELECT id FROM nodes WHERE id IN (SELECT value FROM json_each(?)) ORDER BY time DESC, id DESC"
    newest = [row[0] for row in connection.execute(asked_for, (json.dumps(good),))]
    return {node: points[node] for node in sorted(newest, key=lambda node: -points[node])[:limit]}


def _texts(connection: sqlite3.Connection, nodes: Sequence[int], length: int = 0) -> dict[int, str]:
    """What was indexed of some messages, names first; of long ones the beginning, where a length is given."""
    rows = connection.execute(TAKE, (json.dumps(nodes),))
    return {node: f"{names}\n{unpacked(text, length)}" for node, text, names in rows}


def unpacked(data: bytes, length: int) -> str:
    """What was indexed, or so many bytes of it."""
    return zlib.decompressobj().decompress(data, length).decode("utf-8", "ignore")


_PLACE = """SELECT n.id, hash, s.name, s.project, n.position, n.role, n.origin, n.tools, n.time
    FROM nodes n JOIN blobs ON blobs.id = n.blob JOIN sessions s ON s.id = n.session
    WHERE gone IS NULL AND n.id IN (SELECT value FROM json_each(?))"""


def shown(connection: sqlite3.Connection, asked: Asked, best: dict[int, float], session: str | None) -> list[Found]:
    """The nodes as finds, in this order."""
    nodes = list(best)
    texts = _texts(connection, nodes)
    rows = {row[0]: row for row in connection.execute(_PLACE, (json.dumps(nodes),))}
    return [
        _one(rows[node], session, snippet(asked, texts[node].strip()), best[node]) for node in nodes if node in rows
    ]


def _one(row: Sequence[Any], session: str | None, shown: str, score: float) -> Found:
    _, name, first, project, position, role, origin, tools, time = row
    return Found(
        name.hex()[:REF_LENGTH], session or first, project, position, role, origin, tools, time, shown, round(score, 3)
    )
