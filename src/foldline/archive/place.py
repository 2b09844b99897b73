"""Where the file lies: made for its owner alone, told apart from another of the same name, locked while it is replaced.

    made_safe(path)      the file is there, and only its owner can read it; or why it cannot be written
    file_at(path)        which file that is: a name may come to mean another one
    holding(path)        a lock on the folder: shared by those who open the file, alone for whoever replaces it

No file is opened that somebody may have locked: closing it would let go of SQLite's locks of this process, all of them.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from foldline.errors import ArchiveError, Busy, Corrupt, Full

SIDES = ("-wal", "-shm")
"""What SQLite keeps beside a database: commits that are not in it yet, and an index of them."""
RESCUE = ".rescue"
"""What a damaged file is called until all that can be read of it is in a new one."""
PAUSE = 0.02
"""Seconds between two tries to get a lock."""

File = tuple[int, int]
"""Device and inode."""


class Damaged(Corrupt):
    """The file is not what SQLite wrote: not one message, but the database."""


class Moved(ArchiveError):
    """Another file has the archive's name by now. To be tried again: what was written may have gone to the old one."""


def not_ours(path: Path) -> ArchiveError:
    return ArchiveError(f"{path} is no archive; give the archive a file of its own")


def beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def file_at(path: Path) -> File | None:
    """Which file has this name now; None when there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def size_of(path: Path) -> int:
    """Bytes in it; 0 when it is not there."""
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def mode_of(path: Path) -> int | None:
    """Who may do what with the file; None when there is none."""
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except OSError:
        return None


def set_mode(path: Path, mode: int | None) -> None:
    """Gives the file back the mode it had, where it had one and that is another now."""
    if mode is not None and mode_of(path) not in (None, mode):
        path.chmod(mode)


def rescue_waits(path: Path) -> bool:
    """Something is not as a running archive leaves it: a rescue was cut short, or only the commits beside it are left.

    SQLite takes commits beside an empty file for rubbish, and deletes them.
    """
    return beside(path, RESCUE).exists() or (size_of(path) == 0 and size_of(beside(path, SIDES[0])) > 0)


def make(path: Path) -> None:
    """Makes an empty file that only its owner can read. Raises OSError, also where one is there."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def shut(path: Path) -> None:
    """Takes away what others may do with a file of this user. Raises OSError where that cannot be."""
    with suppress(FileNotFoundError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077 and found.st_uid == os.getuid():
            path.chmod(0o600)


def made_safe(path: Path) -> str:
    """Makes the file for its owner alone, if it is not there. Says why it cannot be written, if it cannot."""
    try:
        make(path)
    except FileExistsError:
        return _checked(path)
    except OSError as error:
        return _unwritable(path, error)
    return "" if os.access(path.parent, os.W_OK) else f"the folder {path.parent} is read-only"


def _checked(path: Path) -> str:
    """A file that is there: what it is, and whether it can be written."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        what = f"{path} is a symbolic link, and could be made to point anywhere"
        raise ArchiveError(f"{what}; give the file it stands for: {path.resolve()}")
    if stat.S_ISDIR(found.st_mode):
        raise ArchiveError(f"{path} is a folder; give a file in it, such as {path / 'archive.db'}")
    if not stat.S_ISREG(found.st_mode):
        raise ArchiveError(f"{path} is no regular file; give the archive a path of its own")
    if found.st_size == 1:  # SQLite takes that for none
        raise not_ours(path)
    try:
        shut(path)
    except OSError as error:
        return f"others can read it, and that cannot be changed ({error.strerror})"
    if not os.access(path, os.R_OK | os.W_OK):
        return "the file cannot be opened for writing (Permission denied)"
    return "" if os.access(path.parent, os.W_OK) else f"the folder {path.parent} is read-only"


def _unwritable(path: Path, error: OSError) -> str:
    if not path.exists():
        raise Full(f"{path} cannot be made: {error.strerror}; give a path that can be written") from None
    return f"the file cannot be opened for writing ({error.strerror})"


@contextmanager
def holding(path: Path, wait: float, *, alone: bool = False) -> Iterator[None]:
    """Holds the folder of a file. Raises Busy when it is not to be had in time."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        if alone:
            raise Full(f"{path} cannot be replaced: {error.strerror}; look at the permissions of its folder") from None
        yield  # whoever cannot open the folder meets what is wrong with the file itself
        return
    try:
        _lock(descriptor, path, time.monotonic() + wait, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for a child that was forked meanwhile
        os.close(descriptor)


def _lock(descriptor: int, path: Path, end: float, kind: int) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                what = f"another process is replacing {path}, which was damaged"
                raise Busy(f"{what}; try again: what was not kept is kept then") from None
        time.sleep(PAUSE)
