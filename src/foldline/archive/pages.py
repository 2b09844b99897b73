"""Rows out of the pages of a database file themselves, where the way to them through SQLite is broken.

    file ── scan ──> every row of every page that holds rows, whichever table it is of: its id and its values

SQLite's file format is public and will not change. Nothing here knows our tables, or trusts a single byte: what does
not add up is passed over.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ROWS = 13
"""The kind of a page that holds the rows of a table."""
_HEADER = 100
"""Bytes at the beginning of the file, before what is on the first page."""
_PAGE = 4096
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
"""Bytes of a number, by how it is stored."""
_FLOAT, _ZERO, _ONE, _VARIABLE = 7, 8, 9, 12

Numbered = tuple[int, tuple[Any, ...]]


def scan(path: Path) -> Iterator[Numbered]:
    """Every row that can be made out: the id it has in its table, and its values."""
    if path.stat().st_size < _HEADER:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        size = int.from_bytes(data[16:18], "big")
        size = size if size >= 512 and size & (size - 1) == 0 else _PAGE
        pages = _Pages(data, size)
        for number in range(len(data) // size):
            yield from pages.rows(number)


class _Pages:
    def __init__(self, data: mmap.mmap, size: int) -> None:
        self._data, self._size = data, size
        self._most = size - 35  # of a row that is on its page whole
        self._least = (size - 12) * 32 // 255 - 23

    def rows(self, number: int) -> Iterator[Numbered]:
        start = number * self._size
        head = start + (_HEADER if number == 0 else 0)
        if self._data[head] != _ROWS:
            return
        count = min(int.from_bytes(self._data[head + 3 : head + 5], "big"), self._size // 4)
        for at in range(head + 8, head + 8 + 2 * count, 2):
            cell = start + int.from_bytes(self._data[at : at + 2], "big")
            try:
                length, cell = _number(self._data, cell)
                name, cell = _number(self._data, cell)
                yield name, _values(self._payload(cell, length))
            except (IndexError, ValueError, struct.error):
                continue

    def _payload(self, at: int, length: int) -> bytes:
        """The bytes of a row, and those of the pages it goes on on."""
        if length > len(self._data):
            raise ValueError("longer than the file")
        if length <= self._most:
            return self._data[at : at + length]
        here = self._least + (length - self._least) % (self._size - 4)
        here = here if here <= self._most else self._least
        pieces, got = [self._data[at : at + here]], here
        following = int.from_bytes(self._data[at + here : at + here + 4], "big")
        while got < length and following:
            start = (following - 1) * self._size
            pieces.append(self._data[start + 4 : min(start + self._size, start + 4 + length - got)])
            if not pieces[-1]:
                raise ValueError("it goes on beyond the file")
            got += len(pieces[-1])
            following = int.from_bytes(self._data[start : start + 4], "big")
        return b"".join(pieces)


def _number(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def _values(payload: bytes) -> tuple[Any, ...]:
    end, at = _number(payload, 0)
    kinds = []
    while at < end:
        kind, at = _number(payload, at)
        kinds.append(kind)
    found = []
    for kind in kinds:
        size = _SIZES[kind] if kind < len(_SIZES) else (kind - _VARIABLE) // 2
        piece = payload[at : at + size]
        if len(piece) != size:
            raise ValueError("a value ends beyond its row")
        found.append(_value(kind, piece))
        at += size
    return tuple(found)


def _value(kind: int, piece: bytes) -> Any:
    if kind in (0, _ZERO, _ONE):
        return {0: None, _ZERO: 0, _ONE: 1}[kind]
    if kind == _FLOAT:
        return struct.unpack(">d", piece)[0]
    if kind < _VARIABLE:
        return int.from_bytes(piece, "big", signed=True)
    return piece.decode("utf-8") if kind % 2 else piece
