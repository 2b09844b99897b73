"""What memory files say, read from the disk each time, a piece at a time; and whether they are still as pinned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from foldline.core.words.text import head
from foldline.errors import InputError
from foldline.memory_files.files import MemoryFile, Section, contents, examined, plain
from foldline.memory_files.finding import Memory
from foldline.model import digest

LOAD = 16_000
"""Characters that one load gives, some 4,000 tokens."""
TOTAL = 64_000
"""Characters that several loads give together."""
LISTING = 2_000
"""Characters of the list of what exists."""
_TITLES, _TITLE = 8, 60
"""Section titles shown for a file, and characters of each."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A text from the disk. `note` says in words what `changed` and `cut` say; it is "" for a whole, unchanged text."""

    name: str
    text: str
    hash: str
    section: str = ""
    changed: bool = False
    """The file is not as it was when it was found."""
    cut: bool = False
    note: str = ""


class Changes(NamedTuple):
    """What became of pinned files."""

    changed: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    same: tuple[str, ...] = ()


def load(file: MemoryFile, section: str | None = None, *, start: int = 0, limit: int = LOAD) -> Loaded:
    """A file or one of its sections, as it is on the disk now, from character `start` on."""
    now, text = examined(file.root, file.name)
    title, alike = "", 1
    if section is not None:
        place, alike = _chosen(now, section)
        title, text = place.title, "\n".join(text.split("\n")[place.first - 1 : place.last])
    piece = head(text[max(start, 0) :], limit)
    stop = max(start, 0) + len(piece)
    cut, changed = stop < len(text), now.hash != file.hash
    said = [f"{file.name} has changed since it was listed."] if changed else []
    said += [f"{alike} sections are called so, and this is the first; the whole file has all."] if alike > 1 else []
    said += [f"Cut: {stop:,} of {len(text):,} characters; for the rest load it with start={stop}."] if cut else []
    said += [f"It begins at character {start:,}."] if start > 0 else []
    return Loaded(file.name, piece, now.hash, title, changed, cut, " ".join(said))


def _chosen(file: MemoryFile, wanted: str) -> tuple[Section, int]:
    """The section with this title, and how many have it; a part of the title will do where only one has it."""
    words = " ".join(wanted.lstrip("# ").lower().split())
    same = [section for section in file.sections if section.title.lower() == words]
    near = same or [section for section in file.sections if words and words in section.title.lower()]
    if len(near) == 1 or same:
        return near[0], len(near)
    titles = head(", ".join(repr(section.title) for section in near or file.sections), LISTING) or "none"
    how = "several sections are called so" if near else f"there is no section {head(wanted, 80)!r}"
    raise InputError(f"{how}; there are: {titles}", source=file.name)


def load_all(memory: Memory, limit: int = TOTAL) -> tuple[Loaded, ...]:
    """Every file, the nearest first, within one limit together. What cannot be read any more is left out and said."""
    loaded: list[Loaded] = []
    room = limit
    for file in memory.files:
        try:
            piece = load(file, limit=min(room, LOAD))
        except InputError as error:
            piece = Loaded(file.name, "", "", changed=True, cut=True, note=str(error))
        room -= len(piece.text)
        loaded.append(piece)
    return tuple(loaded)


def entries(memory: Memory, limit: int = LISTING) -> tuple[str, ...]:
    """What exists, an entry for each file: its name, its size, the titles of its sections. As many as fit."""
    seen: dict[str, str] = {}
    found = [_entry(file, seen.setdefault(file.path, file.name)) for file in memory.files]
    kept, room = list[str](), limit - len(_listed(_missing(len(found))))
    for entry in found:
        room -= len(_listed(entry)) + 1
        if room < 0:
            return (*kept, _missing(len(found) - len(kept)))
        kept.append(entry)
    return tuple(kept)


def _missing(count: int) -> str:
    return f"and {count} more files"


def _listed(entry: str) -> str:
    return f"- {entry}"


def _entry(file: MemoryFile, first: str) -> str:
    if first != file.name:
        return f"{file.name} (the same file as {first})"
    top = min((section.level for section in file.sections), default=0)
    if sum(section.level == top for section in file.sections) == 1:
        top += 1  # the title of the whole, and its chapters
    titles = [head(" ".join(section.title.split()), _TITLE) for section in file.sections if section.level <= top]
    more = f", {len(titles) - _TITLES} more" if len(titles) > _TITLES else ""
    parts = f": {', '.join(titles[:_TITLES])}{more}" if titles else ""
    imports = f"; imports {', '.join(file.imports[:_TITLES])}" if file.imports else ""
    return f"{file.name} ({_size(file.size)}{parts}{imports})"


def _size(size: int) -> str:
    return f"{size} bytes" if size < 1_000 else f"{size / 1_000:.1f} kB"


def listing(memory: Memory, limit: int = LISTING) -> str:
    """What exists, line by line."""
    return "\n".join(map(_listed, entries(memory, limit)))


def pins(memory: Memory) -> dict[str, str]:
    """Names and hashes, to be kept wherever the caller keeps things."""
    return {file.name: file.hash for file in memory.files}


def changed(pinned: Mapping[str, str], root: str | os.PathLike[str]) -> Changes:
    """Reads pinned files again. Raises InputError for a name that is no place below the root."""
    base = os.path.realpath(root)
    states: dict[str, list[str]] = {"changed": [], "vanished": [], "same": []}
    for name, was in pinned.items():
        states[_state(base, plain(name), was)].append(name)
    return Changes(*(tuple(states[state]) for state in Changes._fields))


def _state(root: str, name: str, was: str) -> str:
    if not Path(root, name).exists():
        return "vanished"
    try:
        return "same" if digest(contents(root, name)[1]) == was else "changed"
    except InputError:
        return "changed"  # it has become something that is no longer read
