"""The search index: its tables, and what goes into them. How it is asked is in search.py.

    Index.add · Index.remove     in the transaction that stores or forgets; or the former later (later.py)

    finds   the index alone: words, parts of camelCase words, names of tools and files
    said    what was indexed, compressed: for scores and snippets, and because a row can only be taken out of the index
            by telling it the very same text again
    files   which message touched which file, by the file's own name
    codes   what messages mean, in 256 bits each, for those who search by that (semantic.py); uncoded: still to be made

Secrets are masked before anything is written here. How texts are taken apart is in core/words/searchtext.py.
"""

from __future__ import annotations

import json
import posixpath
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from foldline.core.words.searchtext import humps, spaced
from foldline.core.work.tools import call_touches
from foldline.model import Message, Text, Thinking, ToolCall, ToolResult
from foldline.redact import redact, redact_value

TABLES = (
    """CREATE VIRTUAL TABLE finds USING fts5(text, identifiers, names, content='', columnsize=0,
        tokenize='porter unicode61 remove_diacritics 2')""",
    "CREATE TABLE said(node INTEGER PRIMARY KEY, text BLOB NOT NULL, names TEXT NOT NULL)",
    "CREATE TABLE files(name TEXT NOT NULL, path TEXT NOT NULL, node INTEGER NOT NULL, PRIMARY KEY(name, path, node)) "
    "WITHOUT ROWID",
)
"""For the migration that makes them."""
CODES = (
    "CREATE TABLE codes(node INTEGER PRIMARY KEY, code BLOB NOT NULL)",
    "CREATE TABLE uncoded(node INTEGER PRIMARY KEY)",
)
"""For the one that came later."""
INDEXED = "indexed"
"""Under this name meta has the mark: the node up to which all is indexed."""
MARK = (
    "INSERT OR IGNORE INTO meta SELECT 'indexed', coalesce(max(id), 0) FROM nodes",
    "INSERT INTO finds(finds, rank) VALUES ('automerge', 0)",
)
"""For the one that came last: until then, all was indexed when it was stored, and SQLite put the pieces of the index
together by itself, hundreds of pages in some commit."""

TAKE = "SELECT node, text, names FROM said WHERE node IN (SELECT value FROM json_each(?))"
"""What was indexed of some messages. Their ids are one parameter, as JSON."""
_ADD = (
    "INSERT INTO {}finds(rowid, text, identifiers, names) VALUES (?, ?, ?, ?)",
    "INSERT INTO {}said VALUES (?, ?, ?)",
    "INSERT OR IGNORE INTO {}files VALUES (?, ?, ?)",
    "INSERT OR IGNORE INTO {}uncoded VALUES (?)",
)
_MERGE = "INSERT INTO {0}finds({1}, rank) VALUES ('merge', ?)"
_PAGES, _PAGE = 4, 1_024
"""Pages of the index that are put together for each message that is added, and one more for so many characters of it:
as many as SQLite itself would, evenly."""
_REMOVE = (
    "DELETE FROM said WHERE node IN (SELECT value FROM json_each(?))",
    "DELETE FROM files WHERE node IN (SELECT value FROM json_each(?))",
    "DELETE FROM codes WHERE node IN (SELECT value FROM json_each(?))",
    "DELETE FROM uncoded WHERE node IN (SELECT value FROM json_each(?))",
)
_LEVEL = 1
"""zlib's quickest: half the size already, at a third of the time of its default."""


class Index:
    """Keeps the search tables in step with the archive. Transactions are the caller's.

    `own` stands before the names of the tables that are added to, for those who have some of their own.
    """

    def __init__(self, own: str = "") -> None:
        self._add = tuple(statement.format(own) for statement in _ADD)
        self._merge = _MERGE.format(own, f"{own.rpartition('.')[2]}finds")

    def add(self, connection: sqlite3.Connection, messages: Iterable[tuple[int, Message]]) -> None:
        """Makes messages findable, each by its node."""
        finds, kept, files = [], [], []
        for node, message in messages:
            text, paths = said(message), touched(message)
            names = _clean(" ".join((*tools_of(message), *paths)))
            finds.append((node, *_columns(text, names)))
            kept.append((node, zlib.compress(text.encode(), _LEVEL), names))
            files += [(posixpath.basename(path), path, node) for path in map(_clean, paths)]
        rows: tuple[list[Any], ...] = finds, kept, files, [(node,) for node, _, _ in kept]
        for statement, values in zip(self._add, rows, strict=True):
            connection.executemany(statement, values)
        if kept:
            pages = sum(_PAGES + len(text) // _PAGE for _, text, _, _ in finds)
            connection.execute(self._merge, (pages,))

    def remove(self, connection: sqlite3.Connection, nodes: Iterable[int]) -> None:
        """Takes messages out. Their words lie in the file until `purge`."""
        these = json.dumps(list(nodes))
        rows = connection.execute(TAKE, (these,)).fetchall()
        connection.executemany(
            "INSERT INTO finds(finds, rowid, text, identifiers, names) VALUES ('delete', ?, ?, ?, ?)",
            [(node, *_columns(zlib.decompress(text).decode(), names)) for node, text, names in rows],
        )
        for statement in _REMOVE:
            connection.execute(statement, (these,))

    def purge(self, connection: sqlite3.Connection) -> None:
        """Writes the index anew without what was removed. Takes about a twentieth of the time that filling it took."""
        connection.execute("INSERT INTO finds(finds) VALUES ('optimize')")


def _columns(text: str, names: str) -> tuple[str, str, str]:
    return spaced(text), humps(text), f"{spaced(names)} {humps(names)}"


def _clean(text: str) -> str:
    """Text that SQLite can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def said(message: Message) -> str:
    """All that a message says, its secrets masked: text, thinking, the arguments of calls, results."""
    return _clean("\n".join(piece for part in message.parts for piece in _pieces(part) if piece))


def _pieces(part: object) -> Iterable[str]:
    if isinstance(part, ToolCall):
        return _arguments(part)
    return (redact(part.text).text,) if isinstance(part, (Text, Thinking, ToolResult)) else ()


def _arguments(call: ToolCall) -> tuple[str, ...]:
    """What a call is given. Arguments that are no object, or nested deeper than can be followed, as they came."""
    with suppress(RecursionError):
        if arguments := call.parsed():
            return tuple(_strings(redact_value(dict(arguments))))
    return (redact(call.arguments).text,)


def _strings(value: Any) -> Iterator[str]:
    """The strings of a JSON value in order; its keys are the tool's words, the same in every call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def tools_of(message: Message) -> Iterator[str]:
    """Names of tools it calls or carries results of."""
    names = [call.name for call in message.calls] + [result.name for result in message.results]
    yield from dict.fromkeys(filter(None, names))


def touched(message: Message) -> tuple[str, ...]:
    """The files its calls are about, whether or not they succeed."""
    paths = (path for call in message.calls for touch in call_touches(call) for path in (touch.path, touch.to))
    return tuple(dict.fromkeys(redact(path).text for path in paths if path))
