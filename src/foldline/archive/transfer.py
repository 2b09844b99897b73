"""Writing an archive out as JSONL, one thing a line: header, sessions with their messages, checkpoints, plans, end.

    {"kind": "message", "id": hash, "raw": text, …}      "raw64" where the bytes are no UTF-8, "gone" where forgotten

With `mask`, every secret is masked and the header says so; without, each message's bytes are in it as they came. The
sessions that others branch off come first. Reading it back is in intake.py.
"""

from __future__ import annotations

import base64
import sqlite3
import time as clock
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from foldline.archive import blobs, ways
from foldline.archive.blobs import LOST, MASKED
from foldline.archive.history import masked
from foldline.dialects import jsontext
from foldline.errors import ArchiveError

FORMAT, VERSION = "foldline-archive", 1

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Exported:
    """How much was written; `masked` messages and checkpoints had secrets in them."""

    sessions: int = 0
    messages: int = 0
    checkpoints: int = 0
    masked: int = 0


class _Writer:
    def __init__(self, connection: sqlite3.Connection, file: BinaryIO, mask: bool) -> None:
        self.connection, self._file, self._mask = connection, file, mask
        self.places: dict[int, tuple[str, int]] = {}
        """Each node that was written: its session and its place there."""
        self.counts = {"session": 0, "message": 0, "checkpoint": 0}
        self.masked = 0

    def line(self, kind: str, **values: Any) -> None:
        if kind in self.counts:
            self.counts[kind] += 1
        self._file.write(jsontext.encode({"kind": kind, **values}) + b"\n")

    def shown(self, text: str) -> str:
        return masked(text) if self._mask else text

    def content(self, name: str, data: bytes) -> Row:
        """Bytes under a name that says how they are written."""
        shown = _masked(data) if self._mask else data
        self.masked += shown != data
        try:
            return {name: shown.decode("utf-8")}
        except UnicodeDecodeError:
            return {f"{name}64": base64.b64encode(shown).decode()}


def export(connection: sqlite3.Connection, file: BinaryIO, sessions: Iterable[str] | None, *, mask: bool) -> Exported:
    """Writes sessions and what was made of them, or everything."""
    chosen = _chosen(connection, sessions)
    writer = _Writer(connection, file, mask)
    writer.line("header", format=FORMAT, version=VERSION, masked=mask, time=clock.time())
    for row in chosen:
        _session(writer, row)
    refs = _checkpoints(writer, everything=sessions is None)
    _plans(writer, refs, everything=sessions is None)
    counts = writer.counts
    writer.line("end", sessions=counts["session"], messages=counts["message"], checkpoints=counts["checkpoint"])
    return Exported(counts["session"], counts["message"], counts["checkpoint"], writer.masked)


def _masked(data: bytes) -> bytes:
    """Secrets are ASCII: in bytes that are no text they are found all the same."""
    try:
        return masked(data.decode("utf-8")).encode()
    except UnicodeDecodeError:
        return masked(data.decode("latin-1")).encode("latin-1", "replace")


def _chosen(connection: sqlite3.Connection, names: Iterable[str] | None) -> list[sqlite3.Row | tuple[Any, ...]]:
    rows = connection.execute(
        """SELECT s.name, s.scope, s.project, s.title, s.dialect, s.source, s.leaf, s.started, s.updated,
            coalesce(o.name, '') FROM sessions s LEFT JOIN sessions o ON o.id = s.forked ORDER BY s.id"""
    ).fetchall()
    if names is None:
        return rows
    wanted = set(names)
    if missing := wanted - {row[0] for row in rows}:
        what = f"there is no session {min(missing)} in this archive"
        raise ArchiveError(f"{what}; `foldline sessions` lists those there are")
    return [row for row in rows if row[0] in wanted]


def _session(writer: _Writer, row: Any) -> None:
    name, scope, project, title, dialect, source, leaf, started, updated, forked = row
    told = {"project": writer.shown(project), "title": writer.shown(title), "source": writer.shown(source)}
    times = {"started": started, "updated": updated}
    writer.line("session", name=name, scope=scope, dialect=dialect, forked=forked, **told, **times)
    for step in ways.path(writer.connection, leaf):
        _message(writer, name, step)


def _message(writer: _Writer, session: str, step: ways.Step) -> None:
    """A message in all the bytes it came in. Where another session has written it, only its place in this one."""
    key, tools = writer.connection.execute("SELECT key, tools FROM nodes WHERE id = ?", (step.node,)).fetchone()
    place = {"session": session, "position": step.position, "key": key.hex()}
    if step.node in writer.places:
        writer.line("shared", **place, id=step.hash.hex())
        return
    writer.places[step.node] = session, step.position
    about = {"role": step.role, "origin": step.origin, "dialect": step.dialect, "tools": tools, "time": step.time}
    writer.line("message", **place, owner=step.session, **about, **_stored(writer, step.node, step.blob))
    others = writer.connection.execute("SELECT blob, time FROM versions WHERE node = ?", (step.node,)).fetchall()
    for blob, time in others:
        writer.line("version", **place, time=time, **_stored(writer, step.node, blob))


def _stored(writer: _Writer, node: int, blob: int) -> Row:
    """The hash, the bytes and the parts of a message, or of a checkpoint; or since when they are gone."""
    name, codec, size, data, gone, parts = ways.held(writer.connection, node, blob)
    found: Row = {"id": name.hex()}
    if gone is not None:
        return found | {"gone": gone}
    if codec == LOST:
        return found | {"lost": True}
    found |= writer.content("raw", blobs.unpacked(name, codec, size, data, None))
    found |= {"masked": True} if codec & MASKED else {}
    return found | (writer.content("parts", blobs.unpack(parts)) if parts else {})


_MADE = "ref, scope, skeleton, generation, parent, blob, text_hash, covered, node, time"


def _checkpoints(writer: _Writer, *, everything: bool) -> set[str]:
    refs: set[str] = set()
    for row in _dicts(writer.connection, _MADE, "checkpoints"):
        node = row.pop("node")
        place = writer.places.get(node)
        if place is None and not everything:
            continue
        covered = blobs.Blobs().get(writer.connection, row.pop("covered")).hex()
        said = _stored(writer, node, row.pop("blob"))
        row["text_hash"] = row["text_hash"].hex()
        refs.add(row["ref"])
        writer.line("checkpoint", **row, covered=covered, place=place, **said)
    return refs


def _plans(writer: _Writer, refs: set[str], *, everything: bool) -> None:
    """Plans of the checkpoints that were written; those that only shorten results belong to no session."""
    table = "plans LEFT JOIN (SELECT plan, max(time) AS active FROM active GROUP BY plan) ON plan = id"
    for row in _dicts(writer.connection, "scope, skeleton, checkpoint, ready, data, time, active", table):
        if row["checkpoint"] in refs or (everything and not row["checkpoint"]):
            writer.line("plan", **row)
    for row in _dicts(writer.connection, "checkpoint, undone, time", "undone"):
        if row["checkpoint"] in refs:
            writer.line("undone", **row)


def _dicts(connection: sqlite3.Connection, columns: str, table: str) -> Iterator[Row]:
    cursor = connection.execute(f"SELECT {columns} FROM {table} ORDER BY id")  # noqa: S608 - our own names
    names = [column[0] for column in cursor.description]
    yield from (dict(zip(names, row, strict=True)) for row in cursor.fetchall())
