"""A stream of JSON lines taken apart into rows, however damaged: every whole record is read, every skip is counted.

The rows joined are the input, byte for byte. A row is a record (with its peeked value) or it is junk: a torn record,
a run of NULs, a byte order mark. Two records on one line become two rows; after a torn record the next whole one is
looked for on the same line. What the records mean is the dialect's matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from foldline.dialects import jsontext, mending
from foldline.errors import MalformedInput, TooDeep
from foldline.model import Notice

T = TypeVar("T")
Piece = tuple[bytes, T | None, str]
"""A row, its value if it has one, and what is to be said of it ("" for nothing)."""

MOST_NOTICES = 20
"""Places named one by one; a file of pure damage would otherwise drown the reader. The rest is counted."""
_PATIENCE = 16
"""How many times its own length a damaged line may be scanned: records nest less deeply than that when torn, and a
line built to be hostile costs no more than this."""
_BOM = b"\xef\xbb\xbf"
_BLANK = b"\x00 \t\r\n"
_FILLER = re.compile(rb"[\x00 \t\r\n]*")
_WITHIN = (b",", b"]", b"}", b":")
"""What follows an object that is part of a larger one."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_OPENING = re.compile(rb'\{\s*["}]')
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")


class _Whole(msgspec.Struct):
    """No field at all: decoding it checks that an object is there, and keeps nothing."""


_whole = msgspec.json.Decoder(_Whole)


class Peek(Generic[T]):
    """Decodes only those fields of a record that its dialect asks for.

    `is_record` tells a record from an object inside a record, for the search after a torn one.
    """

    def __init__(self, kind: type[T], is_record: Callable[[T], bool]) -> None:
        self._decoder, self.is_record = msgspec.json.Decoder(kind), is_record

    def fast(self, data: bytes) -> T | None:
        """A clean record; None for anything else."""
        try:
            return self._decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def slow(self, data: bytes) -> T | None:
        """What strict decoding refused, made clean first; None when it is no JSON, or not of the dialect's shape.

        Surrogates do not survive this. Whoever wants the text of such a record decodes the row itself.
        """
        try:
            return self._decoder.decode(_SURROGATE.sub(rb"\\ufffd", jsontext.encode(mending.decode(data))))
        except (MalformedInput, TooDeep, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """The input in pieces; `values[i]` is the record in `rows[i]`, None where there is none.

    `odd` are the rows that were made clean to be peeked at: their text is to be had from the row alone.
    """

    rows: tuple[bytes, ...] = field(repr=False)
    values: tuple[T | None, ...] = field(repr=False)
    notices: tuple[Notice, ...]
    odd: frozenset[int] = frozenset()


def split(lines: Iterable[bytes], peek: Peek[T]) -> Rows[T]:
    """All rows of a stream of lines, each line with its line end."""
    rows: list[bytes] = []
    values: list[T | None] = []
    skips = Skips()
    odd: set[int] = set()
    offset = 0
    for number, line in enumerate(lines, 1):
        if not jsontext.is_utf8(line):
            skips.add("bad-utf8", line, number, offset)
        clean = peek.fast(line)
        if clean is not None:
            rows.append(line)
            values.append(clean)
            offset += len(line)
            continue
        for row, value, why in _pieces(line, peek, first=number == 1):
            if why:
                skips.add(why, row, number, offset)
            if value is not None:
                odd.add(len(rows))
            rows.append(row)
            values.append(value)
            offset += len(row)
    return Rows(tuple(rows), tuple(values), skips.notices(), frozenset(odd))


class Skips:
    """Counts what could not be read, and names the first places."""

    def __init__(self) -> None:
        self._named: list[Notice] = []
        self._more = self._bytes = 0

    def add(self, why: str, row: bytes, line: int, offset: int) -> None:
        if len(self._named) < MOST_NOTICES:
            self._named.append(Notice(why, f"{_WORDS[why]} ({len(row)} bytes)", line, offset))
        else:
            self._more += 1
            self._bytes += len(row)

    def notices(self) -> tuple[Notice, ...]:
        more = Notice("more-skipped", f"and {self._more} more places like these ({self._bytes} bytes)")
        return (*self._named, *([more] if self._more else []))


_WORDS = {
    "malformed": "skipped what is no whole JSON record",
    "truncated": "skipped the last line: it ends in the middle of a record",
    "too-deep": "skipped a record nested too deeply to be read safely",
    "nul": "skipped a run of NUL bytes",
    "bom": "skipped a byte order mark",
    "mended": "read a record with escapes that JSON does not know: they are taken literally",
    "not-understood": "kept a record whose fields are not what this format has; it is no part of the conversation",
    "bad-utf8": "read a line that is not UTF-8: what could not be decoded stands as U+FFFD",
}


def _pieces(line: bytes, peek: Peek[T], first: bool) -> Iterator[Piece[T]]:
    """A line that is not one clean record, piece by piece; the last piece carries the line end."""
    if not line.strip():
        yield line, None, ""
        return
    if first and line.startswith(_BOM):
        yield _BOM, None, "bom"
        line = line.removeprefix(_BOM)
    value = peek.slow(line)
    if value is not None:
        yield line, value, "mended" if mending.mend(line) != line else ""
        return
    at = 0
    for start, stop, found in _records(line, peek):
        if line[at:start]:
            yield line[at:start], None, _blame(line[at:start], last=False)
        yield line[start:stop], found, "" if found is not None else "not-understood"
        at = stop
    if line[at:]:
        yield line[at:], None, _blame(line[at:], last=not line.endswith(b"\n"))


def _blame(junk: bytes, last: bool) -> str:
    if not junk.strip():
        return ""
    if not junk.strip(_BLANK):
        return "nul"
    try:
        _whole.decode(junk)
    except RecursionError:
        return "too-deep"
    except msgspec.MsgspecError:
        pass  # damaged, as expected: which damage is told below
    return "truncated" if last and junk.lstrip(_BLANK).startswith(b"{") else "malformed"


def _records(line: bytes, peek: Peek[T]) -> Iterator[tuple[int, int, T | None]]:
    """The whole records of a damaged line: where each starts and stops (its line end included), and its value."""
    at, end = 0, len(line.rstrip(_BLANK))
    ends_clean = not line[end:].strip()
    patience = _PATIENCE * len(line)
    while at < end:
        start = _solid(line, at)
        stop, patience = _stop(line, start, patience)
        if not stop:
            start, stop, patience = _resume(line, start + 1, peek, patience)
        if not stop:
            return
        yield start, len(line) if stop >= end and ends_clean else stop, peek.slow(line[start:stop])
        at = stop


def _resume(line: bytes, start: int, peek: Peek[T], patience: int) -> tuple[int, int, int]:
    """After a torn record, the first object that is a record itself and no part of what was torn; stop 0 if none."""
    for opening in _OPENING.finditer(line, start):
        here = opening.start()
        if here < start:
            continue  # inside an object that was looked at as a whole
        if patience <= 0:
            break
        stop, patience = _stop(line, here, patience)
        if not stop:
            continue
        start = stop
        after = _solid(line, stop)
        if line[after : after + 1] in _WITHIN:
            continue  # part of something larger
        value = peek.slow(line[here:stop])
        if value is not None and peek.is_record(value):
            return here, stop, patience
    return 0, 0, patience


def _solid(line: bytes, at: int) -> int:
    """The place of the first byte from here on that is not blank."""
    found = _FILLER.match(line, at)
    return found.end() if found else at


def _stop(line: bytes, start: int, patience: int) -> tuple[int, int]:
    """Where the object that starts here ends (0: it does not), and the patience left after looking."""
    try:
        _whole.decode(memoryview(line)[start:])
        stop = len(line.rstrip(_BLANK))
    except (msgspec.MsgspecError, RecursionError) as error:
        found = _TRAILING.search(str(error))
        stop = start + int(found[1]) - 1 if found else 0  # msgspec names the byte after the one that trails
    return stop, patience - (stop or len(line)) + start
