"""A damaged file: set aside as it is, what can be read of it put into a new one, and said.

    damaged file ── set aside ──> archive.db.damaged-… (with what lies beside it)
                 └─ salvage ────> a new archive.db

No byte of the damaged file is changed, and what shows no sign of having been an archive is not touched at all. One
process does this while others that open the archive wait; those that have it open notice that its name means another
file now, and do again what they were at. Cut short at any point, it goes on when the archive is opened next. What can
be read out of a damaged file is in salvage.py.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from foldline.archive import place, salvage, schema
from foldline.archive.connection import Store, wording
from foldline.archive.place import RESCUE, SIDES, Damaged, beside
from foldline.archive.wreck import was_archive
from foldline.model import Notice

_READING, _NEW = ".reading", ".new"
"""The copy that is read, which SQLite may write to, and the new archive until it is whole."""
_PAGE = 4096
"""Bytes of a page where the file does not say: SQLite's default."""


def rescue(path: Path, store: Store | None, error: Damaged, wait: float) -> tuple[Notice, ...]:
    """Replaces a damaged file. What came of it; nothing when another process has done it meanwhile."""
    try:
        return _rescued(path, store, error, wait)
    except (OSError, sqlite3.Error) as failed:  # it is gone on with when the archive is opened next
        raise wording(failed, path) from failed


def _rescued(path: Path, store: Store | None, error: Damaged, wait: float) -> tuple[Notice, ...]:
    found = store.file if store is not None else place.file_at(path)
    if store is not None:
        store.let_go()
    if not os.access(path.parent, os.W_OK):
        raise error
    with place.holding(path, wait, alone=True):
        if place.file_at(path) != found and not place.rescue_waits(path):
            return ()
        if store is None and not place.rescue_waits(path) and not _still_damaged(path):
            return ()
        if not beside(path, RESCUE).exists():
            _must_have_been_ours(path)
        return (_replaced(path),)


def _must_have_been_ours(path: Path) -> None:
    """A file in which nothing shows that it ever was an archive is somebody's, and left alone."""
    if not was_archive(path) and not was_archive(beside(path, SIDES[0])):
        raise place.not_ours(path)
    place.set_mode(path, 0o600)


def _still_damaged(path: Path) -> bool:
    """Two that opened a damaged file at once do not set aside, one after the other, the new file too."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            schema.must_be_whole(connection)
            return schema.version_of(connection) == 0
    except (sqlite3.Error, UnicodeDecodeError, Damaged):
        return True


def _replaced(path: Path) -> Notice:
    aside = beside(path, RESCUE)
    if not aside.exists():
        _link(path, aside)
    if place.file_at(path) == place.file_at(aside) or place.size_of(path) == 0:
        for end in ("", *SIDES):
            beside(path, end).unlink(missing_ok=True)
    told = salvage.NOTHING
    if not path.exists():
        told = _renewed(path, aside)
    return _named(path, aside, told)


def _link(path: Path, aside: Path) -> None:
    """A second name for each file, the database last: when that is there, all of them are."""
    for end in SIDES:
        if beside(path, end).exists():
            beside(aside, end).unlink(missing_ok=True)
            os.link(beside(path, end), beside(aside, end))
    if path.exists():
        os.link(path, aside)
    else:
        aside.touch(mode=0o600)


def _renewed(path: Path, aside: Path) -> salvage.Salvaged:
    copy, new = beside(path, _READING), beside(path, _NEW)
    _clear(copy, new)
    try:
        _copy(aside, copy)
        place.make(new)
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            schema.migrate(connection)
            told = salvage.salvage(copy, connection)
        os.replace(new, path)
    finally:
        _clear(copy, new)
    _sync(path.parent)
    return told


def _copy(aside: Path, copy: Path) -> None:
    """The copy is as long as its header says, so that SQLite reads what is left of a file that was cut off."""
    for end in ("", SIDES[0]):
        if beside(aside, end).exists():
            place.make(beside(copy, end))
            shutil.copyfile(beside(aside, end), beside(copy, end))
    with copy.open("r+b") as file:
        head = file.read(32)
        page = int.from_bytes(head[16:18], "big") or _PAGE
        pages = int.from_bytes(head[28:32], "big") if head.startswith(b"SQLite format 3\0") else 0
        there = file.seek(0, os.SEEK_END)
        file.truncate(max(there, page, min(page * pages, there + salvage.MOST)))


def _clear(*paths: Path) -> None:
    for path in paths:
        for end in ("", *SIDES, "-journal"):
            beside(path, end).unlink(missing_ok=True)


def _named(path: Path, aside: Path, told: salvage.Salvaged) -> Notice:
    """The damaged file gets its lasting name, the database last: until then, the rescue is not over."""
    stamp = time.strftime(".damaged-%Y%m%dT%H%M%SZ", time.gmtime())
    names = (beside(path, f"{stamp}{f'-{count}' if count else ''}") for count in range(1_000_000))
    last = next(name for name in names if not any(beside(name, end).exists() for end in ("", *SIDES)))
    for end in (*SIDES, ""):
        if beside(aside, end).exists():
            beside(aside, end).rename(beside(last, end))
    _sync(path.parent)
    return Notice("archive-damaged", f"{path} was damaged; it is kept as {last.name}, untouched. {told}")


def _sync(folder: Path) -> None:
    """Names are as durable as what they name."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
