"""opencode's sessions as it keeps them on disk, each as the export that its dialect reads.

    folder ── sessions ──> Item (name, stamp, given) for each session in opencode.db, or in storage/ of older versions

The database is opened for reading only. What is in an export is the dialect's matter.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from foldline.dialects import jsontext
from foldline.errors import InputError

DATABASE = "opencode.db"
STORAGE = "storage"
_COUNTED = """SELECT session.id, session.time_updated, session.directory, session.title, count(part.id),
    max(part.time_updated) FROM session LEFT JOIN part ON part.session_id = session.id GROUP BY session.id"""
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY id"


@dataclass(frozen=True, slots=True)
class Item:
    """One transcript: its name, what tells that it has changed, when it last did, and what to read it from."""

    name: str
    stamp: str
    changed: float
    given: Callable[[], Any] = field(repr=False)


def is_database(path: Path) -> bool:
    return path.name == DATABASE


def is_storage(path: Path) -> bool:
    """The folder of an older version: sessions, messages and parts, a file for each."""
    return path.name == STORAGE and all((path / name).is_dir() for name in ("session", "message", "part"))


def in_database(path: Path) -> list[Item]:
    """The sessions of a database. Raises InputError."""
    return [_of_row(path, row) for row in _asked(path, _COUNTED)]


def _of_row(path: Path, row: Sequence[Any]) -> Item:
    name, updated, directory, title, parts, last = row
    info = {"id": name, "directory": directory, "title": title}
    latest = max(updated or 0, last or 0)
    return Item(f"{path}#{name}", f"{parts} {latest}", latest / 1000, lambda: _exported(path, info))


def _exported(path: Path, info: dict[str, Any]) -> dict[str, Any]:
    name = info["id"]
    messages = _asked(path, _MESSAGES, name)  # before their parts: what comes meanwhile has no message here
    parts: dict[str, list[Any]] = {}
    for message, part, data in _asked(path, _PARTS, name):
        said = {**_object(data), "id": part, "sessionID": name, "messageID": message}
        parts.setdefault(message, []).append(said)
    turns = [
        {"info": {**_object(data), "id": message, "sessionID": name}, "parts": parts.get(message, [])}
        for message, data in messages
    ]
    return {"info": info, "messages": turns}


def _asked(path: Path, query: str, *values: Any) -> list[Any]:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            return connection.execute(query, values).fetchall()
    except sqlite3.Error as error:
        what = f"the database cannot be read ({error}); export the session with opencode and give that"
        raise InputError(what, source=str(path)) from None


def in_storage(folder: Path) -> Iterator[Item]:
    """The sessions of an older version's folder."""
    for file in sorted((folder / "session").glob("*/*.json")):
        files = list(_files(folder, file))
        states = [os.stat(one) for one in files]
        changed = max(state.st_mtime_ns for state in states)
        yield Item(str(file), f"{len(files)} {changed}", changed / 1e9, lambda file=file: _assembled(folder, file))  # type: ignore[misc]


def _files(folder: Path, session: Path) -> Iterator[Path]:
    yield session
    for message in sorted((folder / "message" / session.stem).glob("*.json")):
        yield message
        yield from sorted((folder / "part" / message.stem).glob("*.json"))


def _assembled(folder: Path, session: Path) -> dict[str, Any]:
    messages = sorted((folder / "message" / session.stem).glob("*.json"))
    turns = [
        {
            "info": _read(message),
            "parts": [_read(part) for part in sorted((folder / "part" / message.stem).glob("*.json"))],
        }
        for message in messages
    ]
    return {"info": _read(session), "messages": turns}


def _read(path: Path) -> Any:
    try:
        return _object(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from None


def _object(data: str | bytes) -> dict[str, Any]:
    found = jsontext.decode(data.encode() if isinstance(data, str) else data)
    if not isinstance(found, dict):
        raise InputError("opencode keeps objects here, and this is something else")
    return found
