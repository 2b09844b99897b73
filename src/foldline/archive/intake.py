"""Reading an archive back from the JSONL that transfer.py wrote, into one that may hold some of it already.

    lines ── checked against their hashes ──> one transaction for each session, one for what was made of them

Taking the same file in twice changes nothing. A damaged line is counted and named by its number; what stands behind
it in its session is taken in all the same, with a gap that says so.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from foldline.archive.admit import admit
from foldline.archive.blobs import Blobs
from foldline.archive.index import Index
from foldline.archive.joining import Row, State
from foldline.archive.rebuild import DAMAGED
from foldline.archive.transfer import FORMAT, VERSION
from foldline.dialects import jsontext
from foldline.errors import FoldlineError, MalformedInput
from foldline.model import Notice

Commit = Callable[[Callable[[sqlite3.Connection], None]], None]
_UNREADABLE = (FoldlineError, *DAMAGED)
"""What a line that is no line of ours can end in."""


@dataclass(frozen=True, slots=True)
class Imported:
    """How much was in the file, how many messages of it are new here, and which lines were damaged."""

    sessions: int
    messages: int
    new: int
    checkpoints: int
    masked: bool
    damaged: tuple[Notice, ...] = ()


def import_(commit: Commit, blobs: Blobs, index: Index, file: BinaryIO) -> Imported:
    """Takes a whole file in. Raises MalformedInput for what is no export at all."""
    state = State(blobs, index)
    lines = _lines(file, state)
    head = next(lines, (0, 0, {}))[2]
    if head.get("kind") != "header" or head.get("format") != FORMAT:
        raise MalformedInput(
            "this is no export of an archive: its first line does not say so; give what export() wrote"
        )
    if head.get("version") != VERSION:
        raise MalformedInput(f"this export has version {head.get('version')}; upgrade Foldline to read it")
    state.masked = bool(head.get("masked"))
    ended = False
    for group in _groups(lines):
        commit(lambda connection, group=group: _take(connection, state, group))  # type: ignore[misc]
        ended = ended or group[-1][2]["kind"] == "end"
    if not ended:
        state.damaged.append(Notice("cut-off", "the file ends before its last line: it was cut off"))
    counts = state.counts
    return Imported(
        counts["session"],
        counts["message"],
        counts["new"],
        counts["checkpoint"],
        state.masked,
        tuple(sorted(state.damaged, key=lambda notice: notice.line or 0)),
    )


Line = tuple[int, int, Row]


def _lines(file: BinaryIO, state: State) -> Iterator[Line]:
    """Each line that is an object of some kind, with its number and its offset."""
    offset = 0
    for number, raw in enumerate(file, 1):
        try:
            row = jsontext.decode(raw)
            if not isinstance(row["kind"], str):
                raise TypeError("its kind is no text")
            yield number, offset, row
        except _UNREADABLE as error:
            state.skip(number, offset, f"not a line of an export ({error})")
        offset += len(raw)


def _groups(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """A session with its messages at a time; all that follows the sessions at once."""
    group: list[Line] = []
    for line in lines:
        kind = line[2]["kind"]
        begins = kind == "session" or (kind not in _IN_SESSION and group and group[-1][2]["kind"] in _IN_SESSION)
        if begins and group:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


_IN_SESSION = frozenset({"session", "message", "version", "shared"})


def _take(connection: sqlite3.Connection, state: State, group: list[Line]) -> None:
    before = dict(state.counts), len(state.damaged)
    try:
        for number, offset, row in group:
            try:
                with _whole(connection, state, row):
                    admit(connection, state, row)
            except sqlite3.IntegrityError as error:
                state.skip(number, offset, f"it does not go with what is there ({error})")
            except _UNREADABLE as error:
                state.skip(number, offset, f"{row['kind']} is damaged ({error})")
    except BaseException:  # the transaction is undone, and may be tried again
        state.counts, state.damaged = before[0], state.damaged[: before[1]]
        raise


@contextmanager
def _whole(connection: sqlite3.Connection, state: State, row: Row) -> Iterator[None]:
    """What one line says is put in whole or not at all."""
    placed, whose = len(state.places), str(row.get("session"))
    session = state.sessions.get(whose)
    connection.execute("SAVEPOINT line")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK TO line")
        while len(state.places) > placed:
            state.places.popitem()
        if session is not None:
            state.sessions[whose] = session
        raise
    finally:
        connection.execute("RELEASE line")
