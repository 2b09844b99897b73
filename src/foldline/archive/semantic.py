"""Search by meaning beside search by words: what was said in other words is found too. An extra, foldline[semantic].

    search ──┬─ words (search.py) ───────────────────────────────────────┬─ fused by their ranks ──> Found, Found, …
             └─ codes ── near the query ── best few hundred ── vectors ──┘

A message has a code of 256 bits. Codes are made when a search first needs them, batch by batch, and those that were
made stay when it is cut short; storing a message only notes that one is wanted. They are made of the text in the word
index, which has its secrets masked. Their tables are in index.py, vectors are made in vectors.py.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress

from foldline.archive import search as words
from foldline.archive import vectors
from foldline.archive.base import Filters, Found
from foldline.archive.connection import Store
from foldline.archive.index import TAKE
from foldline.core.words.searchtext import ask
from foldline.errors import ArchiveError, Busy, Full

BATCH = 1_000
"""Messages that get their codes in one transaction: a fifth of a second's work."""
NEAREST = 300
"""Messages near by their codes whose vectors are compared."""
ALIKE = 0.15
"""How alike a message must be to be found by meaning. One in 27 messages of agents is that to some other query; nine in
ten are that say the same in other words."""
DEEP = 100
"""Places of each ranking that count."""
_PARTLY = 0.5
"""What a ranking by words weighs where no message has all of them: the first by meaning is then first."""
_SMOOTH = 60
"""The usual constant of reciprocal ranks: being first in one ranking counts less than being tenth in both."""

_UNCODED = """SELECT node, (SELECT text FROM said WHERE said.node = uncoded.node) FROM uncoded
    ORDER BY node DESC LIMIT ?"""
_PUT = "INSERT OR REPLACE INTO codes SELECT node, ? FROM uncoded WHERE node = ?"
"""Only where it is still wanted: a message may have been forgotten meanwhile."""
_DONE = "DELETE FROM uncoded WHERE node IN (SELECT value FROM json_each(?))"


def uncoded(connection: sqlite3.Connection) -> int:
    """How many messages have no code yet."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'uncoded'").fetchone()
    if there is None:
        raise ArchiveError(
            "this archive was written by an older Foldline and is read-only, so it cannot be searched by meaning; "
            "allow writing to it, or search it by words"
        )
    return int(connection.execute("SELECT count(*) FROM uncoded").fetchone()[0])


def fill(store: Store) -> None:
    """Makes the codes that are wanted, the newest first. Others may read and write the archive meanwhile.

    Where there is no room to keep them, or another process holds the file, the search makes them for itself alone.
    """
    with store.reading() as connection:
        uncoded(connection)
    with suppress(Full, Busy):
        while True:
            with store.reading() as connection:
                rows = connection.execute(_UNCODED, (BATCH,)).fetchall()
            if not rows:
                return
            made = _coded(rows)
            with store.writing() as connection:
                connection.executemany(_PUT, [(code, node) for node, code in made])
                connection.execute(_DONE, (json.dumps([node for node, _ in rows]),))


def _coded(rows: Iterable[tuple[int, bytes | None]]) -> list[tuple[int, bytes]]:
    """Messages and their codes; those that say nothing have none."""
    texts = {node: text_of(data) for node, data in rows}
    made = zip(texts, vectors.codes(vectors.embed(texts.values())), strict=True)
    return [(node, code) for node, code in made if code]


def text_of(data: bytes | None) -> str:
    """As much of a stored text as a vector is made of; a character has up to four bytes."""
    return words.unpacked(data, 4 * vectors.LENGTH)[: vectors.LENGTH] if data else ""


def search(connection: sqlite3.Connection, query: str, only: Filters, limit: int) -> list[Found]:
    """Messages that say the same in these words or in others. Filters are those of the search by words.

    The score is 1 for a message that is first by its words and by its meaning. Of an empty query, the newest messages.
    """
    asked = ask(query)
    if not asked.terms:
        return words.search(connection, query, only, limit)
    allowed = words.allowed(connection, only)
    by_words = words.by_words(connection, asked, only, allowed, DEEP)
    fitting = None if only == Filters() else words.fitting(connection, words.EVERY, [], only, allowed)
    weight = 1.0 if by_words.all_words else _PARTLY
    best = _fused(((weight, list(by_words.scores)), (1.0, _by_meaning(connection, query, fitting))), limit)
    return words.shown(connection, asked, best, only.session)


def _by_meaning(connection: sqlite3.Connection, query: str, fitting: Iterable[int] | None) -> list[int]:
    """The messages most like the query, the best first; of all, or of those that fit."""
    vector = vectors.embed([query.encode("utf-8", "replace").decode()])[0]
    nodes = _nearest(_codes(connection, fitting), vector)
    texts = {node: text_of(data) for node, data, _ in connection.execute(TAKE, (json.dumps(nodes),))}
    alike = dict(zip(texts, (vectors.embed(texts.values()) @ vector).tolist(), strict=True))
    found = (node for node in alike if alike[node] >= ALIKE)
    return sorted(found, key=lambda node: (-round(alike[node], 3), -node))[:DEEP]


def _codes(connection: sqlite3.Connection, fitting: Iterable[int] | None) -> list[tuple[int, bytes]]:
    stored = connection.execute("SELECT node, code FROM codes WHERE length(code) = ?", (vectors.BYTES,)).fetchall()
    stored += _coded(connection.execute(_UNCODED, (-1,)))
    if fitting is None:
        return stored
    wanted = frozenset(fitting)
    return [row for row in stored if row[0] in wanted]


def _nearest(coded: Sequence[tuple[int, bytes]], vector: vectors.Vectors) -> list[int]:
    ranked = vectors.near(vectors.unpacked(code for _, code in coded), vector)
    return [coded[at][0] for at in (-ranked).argsort(kind="stable")[:NEAREST]]


def _fused(rankings: Sequence[tuple[float, Sequence[int]]], limit: int) -> dict[int, float]:
    """Reciprocal rank fusion: the nodes that stand high in some ranking, higher if in several, the newer of equals."""
    points: dict[int, float] = {}
    for weight, ranking in rankings:
        for place, node in enumerate(ranking):
            more = weight * (_SMOOTH + 1) / (_SMOOTH + 1 + place) / len(rankings)
            points[node] = points.get(node, 0.0) + more
    return {node: points[node] for node in sorted(points, key=lambda node: (-points[node], -node))[:limit]}
