"""What a list of sessions shows besides their rows: how each begins, and which checkpoints were made of it.

Only read here. What was indexed has its secrets masked already, and so has what is taken from there.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from foldline.archive.sqlite import Archive

LOOKED_AT = 4_096
"""Bytes of a message in which its first line is looked for."""


@dataclass(frozen=True, slots=True)
class Made:
    """A checkpoint of a session: `messages` of it were there when it was made."""

    ref: str
    generation: int
    time: float
    messages: int
    undone: bool


def openings(archive: Archive, sessions: Iterable[str]) -> dict[str, str]:
    """The first line that the user said in each of these sessions, as far as there is one."""
    with archive._findable() as connection:
        rows = connection.execute(
            """SELECT name, text FROM (SELECT sessions.name AS name, min(nodes.id) AS node FROM nodes
                JOIN sessions ON sessions.id = nodes.session WHERE nodes.origin = 'user'
                AND sessions.name IN (SELECT value FROM json_each(?)) GROUP BY sessions.id) JOIN said USING (node)""",
            (json.dumps(list(sessions)),),
        ).fetchall()
    return {name: _first_line(text) for name, text in rows}


def _first_line(data: bytes) -> str:
    text = zlib.decompressobj().decompress(data, LOOKED_AT).decode("utf-8", "ignore")
    return next((line for line in map(str.strip, text.splitlines()) if line), "")


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
