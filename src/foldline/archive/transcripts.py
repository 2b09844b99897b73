"""Which transcripts there are at a path: files of lines and documents, packed or not, and opencode's database.

    paths ── found ──> Item, Item, Failed, …

Nothing is read here but names, sizes and times. What is done with them is in folders.py.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from foldline.archive import opencode
from foldline.archive.opencode import Item
from foldline.errors import InputError

ENDINGS = (".jsonl", ".json", ".traj")
PACKINGS = ("", ".gz", ".zst")
"""What files in a folder are called that are looked into; a file that is named itself may be called anything."""
BESIDE = (".meta.json", "sessions-index.json", "session_index.jsonl", "history.jsonl")
"""What agents put beside their transcripts."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A file that could not be read, and why."""

    name: str
    what: str


def found(paths: Iterable[Path]) -> Iterator[Item | Failed]:
    """The transcripts at some paths, each once, in order."""
    seen: set[str] = set()
    for path in paths:
        for item in _at(path):
            if item.name not in seen:
                seen.add(item.name)
                yield item


def _at(path: Path) -> Iterator[Item | Failed]:
    path = Path(os.path.abspath(path.expanduser()))
    try:
        state = path.stat()
    except OSError as error:
        yield Failed(str(path), f"cannot be opened: {error.strerror}; check the name")
        return
    if stat.S_ISDIR(state.st_mode):
        yield from _below(path)
    else:
        yield from _in_file(path)


def _below(folder: Path) -> Iterator[Item | Failed]:
    closed: list[OSError] = []
    for here, folders, files in os.walk(folder, onerror=closed.append):
        folders.sort()
        if opencode.is_storage(Path(here)):
            folders.clear()
            yield from _in_storage(Path(here))
            continue
        for name in sorted(files):
            if name == opencode.DATABASE or _is_transcript(name):
                yield from _in_file(Path(here, name))
    yield from (Failed(str(error.filename), f"cannot be looked into: {error.strerror}") for error in closed)


def _in_storage(folder: Path) -> Iterator[Item | Failed]:
    try:
        yield from opencode.in_storage(folder)
    except OSError as error:  # opencode itself may take files away meanwhile
        yield Failed(str(folder), f"cannot be read: {error.strerror}; import it again")


def _is_transcript(name: str) -> bool:
    endings = tuple(ending + packing for ending in ENDINGS for packing in PACKINGS)
    return name.endswith(endings) and not name.startswith(".") and not name.endswith(BESIDE)


def _in_file(path: Path) -> Iterator[Item | Failed]:
    """The sessions of a database, or the one file."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            yield Failed(str(path), "is no regular file; copy it into one")
        elif opencode.is_database(path):
            yield from opencode.in_database(path)
        else:
            stamp = f"{state.st_size} {state.st_mtime_ns} {state.st_ino}"
            yield Item(str(path), stamp, state.st_mtime, lambda: path)
    except OSError as error:
        yield Failed(str(path), f"cannot be opened: {error.strerror}")
    except InputError as error:
        yield Failed(str(path), error.what)
