"""What a list of sessions shows besides their rows: how each begins, and which checkpoints were made of it.

Only read here. What was indexed has its secrets masked already, and so has what is taken from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from foldline.archive.search import unpacked
from foldline.archive.sqlite import Archive

LOOKED_AT = 4_096
"""Bytes of a message in which its first line is looked for."""


_OPENINGS = """
    WITH RECURSIVE way(name, id, steps) AS (
        SELECT name, id, 0 FROM sessions WHERE name IN (SELECT value FROM json_each(?))
        UNION SELECT way.name, sessions.forked, steps + 1 FROM way JOIN sessions USING (id)
            WHERE forked IS NOT NULL AND forked < sessions.id),
    first(id, node) AS (
        SELECT session, min(id) FROM nodes WHERE origin = 'user' AND session IN (SELECT id FROM way) GROUP BY session)
    SELECT name, text FROM way JOIN first USING (id) JOIN said USING (node) ORDER BY name, steps"""
"""What the user said first: in the session itself, in the one it branched off, and so on."""


@dataclass(frozen=True, slots=True)
class Made:
    """A checkpoint of a session: `messages` of it were there when it was made."""

    ref: str
    generation: int
    time: float
    messages: int
    undone: bool


def openings(archive: Archive, sessions: Iterable[str]) -> dict[str, str]:
    """The first line that the user said in each of these sessions, as far as there is one.

    Where nothing was said since it branched off, it is that of the session it branched off.
    """
    with archive._findable() as connection:
        rows = connection.execute(_OPENINGS, (json.dumps(list(sessions)),)).fetchall()
    found: dict[str, str] = {}
    for name, text in rows:
        found[name] = found.get(name) or _first_line(text)
    return found


def _first_line(data: bytes) -> str:
    return next((line for line in map(str.strip, unpacked(data, LOOKED_AT).splitlines()) if line), "")


def checkpoints(archive: Archive, session: str) -> list[Made]:
    """The checkpoints that were made of a session, the oldest first."""
    undone = archive.undone()
    with archive._store.reading() as connection:
        rows = connection.execute(
            """SELECT checkpoints.ref, generation, checkpoints.time, position + 1 FROM checkpoints
                JOIN nodes ON nodes.id = node JOIN sessions ON sessions.id = nodes.session WHERE sessions.name = ?
                AND checkpoints.id IN (SELECT min(id) FROM checkpoints GROUP BY blob) ORDER BY checkpoints.id""",
            (session,),
        ).fetchall()
    return [
        Made(ref, generation, time, messages, bool(undone.intersection(archive.lineage(ref))))
        for ref, generation, time, messages in rows
    ]
