"""Reading the rows of a damaged database, as far as they can be read. What they mean is in salvage.py."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from foldline.archive import schema
from foldline.archive.pages import scan

_FAR = 40
"""Doublings after which there is nothing more to come: a trillion rows."""
_TYPES = {"INTEGER": int, "TEXT": str, "BLOB": bytes, "REAL": (int, float)}

_MAGIC, _MARK = b"SQLite format 3\0", slice(68, 72)
"""How a database begins, and where in its header the program is named that it is of."""
_COMMITS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""How the file of commits beside it begins."""
_ROLES = ("user", "assistant", "tool", "system")

Row = dict[str, Any]


def was_archive(path: Path) -> bool:
    """Something in a damaged file shows that it was an archive, or the commits of a database: its header, or rows."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        head = file.read(_MARK.stop)
    if head.startswith(_COMMITS) or head[_MARK] == schema.APPLICATION.to_bytes(4, "big"):
        return True
    if head.startswith(_MAGIC) and len(head) < _MARK.stop:
        return True
    return any(_is_ours(values) for _, values in scan(path))


def _is_ours(values: Sequence[Any]) -> bool:
    """A row that says of one of our tables how it was made, or the row of a message."""
    match values:
        case ["table", name, str(), int(), str(made)]:
            return name in schema.NAMES and made.startswith("CREATE ")
        case [None, int(), bytes(key), int(), int(), int(), role, str(), str(), str(), int() | float()]:
            return len(key) == 16 and role in _ROLES
    return False


def scanned(path: Path, new: sqlite3.Connection, *tables: str) -> dict[str, list[Row]]:
    """Rows of tables, made out by their shape in the pages of the file."""
    shapes = {table: _columns(new, table) for table in tables}
    found: dict[str, list[Row]] = {table: [] for table in tables}
    for number, values in scan(path):
        for table, columns in shapes.items():
            row = dict(zip((name for name, _, _ in columns), values, strict=False))
            if columns[0][0] == "id":
                row["id"] = number
            if len(values) == len(columns) and all(_fits(row[name], kind, needed) for name, kind, needed in columns):
                found[table].append(row)
    return found


def _columns(new: sqlite3.Connection, table: str) -> list[tuple[str, Any, bool]]:
    return [
        (name, _TYPES[kind], bool(needed) or bool(key))
        for _, name, kind, needed, _, key in new.execute(f"PRAGMA table_info({table})")
    ]


def rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str, without: str = "") -> list[Row]:
    """The rows of a table that can be read and have values of the right kinds."""
    columns = _columns(new, table)
    names = [name for name, _, _ in columns]
    asked = ", ".join("NULL" if name == without else name for name in names)
    found = _by_id(old, table, asked) if "id" in names else _both_ways(old, table, asked, names[:2])
    read = (dict(zip(names, values, strict=True)) for values in found)
    return [row for row in read if all(_fits(row[n], kind, needed) for n, kind, needed in columns if n != without)]


def _fits(value: object, kind: Any, needed: bool) -> bool:
    return isinstance(value, kind) if value is not None else not needed


def _by_id(old: sqlite3.Connection, table: str, asked: str) -> Iterator[Sequence[Any]]:
    """Rows in their order. Where it cannot be read on, the next that can be is looked for further and further on."""
    found: dict[int, Sequence[Any]] = {}
    start, step = 0, 0
    while step < _FAR:
        last = start - 1
        for values in _until_broken(old, f"SELECT {asked} FROM {table} WHERE id >= {start} ORDER BY id"):  # noqa: S608
            last = values[0]
            found[last] = values
        if last >= start:
            back = f"SELECT {asked} FROM {table} WHERE id < {start} ORDER BY id DESC"  # noqa: S608
            for values in _until_broken(old, back) if step else ():
                if values[0] in found:
                    break
                found[values[0]] = values
            step = 0
        start, step = max(last + 1, start) + (1 << step) - 1, step + 1
    yield from (found[number] for number in sorted(found))


def _both_ways(old: sqlite3.Connection, table: str, asked: str, key: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Rows from the beginning as far as they can be read, and from the end."""
    found: dict[Any, Sequence[Any]] = {}
    for way in ("", " DESC"):
        order = ", ".join(f"{name}{way}" for name in key)
        for values in _until_broken(old, f"SELECT {asked} FROM {table} ORDER BY {order}"):  # noqa: S608
            found.setdefault(values[: len(key)], values)
    yield from found.values()


def _until_broken(old: sqlite3.Connection, sql: str) -> Iterator[Sequence[Any]]:
    """Rows up to the first that cannot be read: what is behind it is asked for in another way."""
    try:
        yield from old.execute(sql)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        return
