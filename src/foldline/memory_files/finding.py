"""Which memory files a project has: a walk below its root, level by level, with limits that are said.

Reading a file is in files.py. Links to folders are not followed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from foldline.core.words.text import head
from foldline.errors import InputError
from foldline.memory_files.files import NAME, MemoryFile, examined, plain
from foldline.model import Notice

NAMES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md")
"""Files that agents read as instructions, in any folder."""
FOLDERS = (".claude/rules",)
"""Folders all of whose markdown is memory."""
SKIPPED = frozenset({"node_modules", "vendor", "venv", "site-packages", "__pycache__", "target", "dist", "build"})
"""Folders of other people's files, where other people's memory would be found. Hidden folders are skipped too, but for
those on the way to `folders` and `.claude`."""
DEPTH = 4
"""Folders below the root that are looked into."""
FILES = 100
"""Files that are listed: a project with more has generated them."""
VISITS = 5_000
"""Folders looked into at most, so that a huge tree costs a second and not a minute."""
_KNOWN = 2_000
"""Characters of names that a refusal gives."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one project. `notices` say what was skipped, and why."""

    root: str
    files: tuple[MemoryFile, ...] = ()
    notices: tuple[Notice, ...] = ()

    def named(self, name: str) -> MemoryFile:
        """A file by its name, or one that a listed file imports. Raises InputError for every other name."""
        found = next((file for file in self.files if file.name == name), None)
        if found:
            return found
        if any(name in file.imports for file in self.files):
            return examined(self.root, name)[0]
        known = head(", ".join(file.name for file in self.files), _KNOWN) or "none"
        raise InputError(f"there is no memory file {head(name, 80)!r}; there are: {known}")


def find(
    root: str | os.PathLike[str],
    names: Iterable[str] = NAMES,
    folders: Iterable[str] = FOLDERS,
    *,
    depth: int = DEPTH,
    limit: int = FILES,
) -> Memory:
    """The memory files below a folder, those nearest to it first.

    A name is sought in every folder, one with slashes at its place; of `folders` all markdown is taken, that in
    folders below them too, wherever one of that name stands.
    """
    base = os.path.realpath(root)
    if not os.path.isdir(base):
        raise InputError("this is no folder; give the project's root", source=str(root))
    wanted, whole = frozenset(map(plain, names)), frozenset(map(plain, folders))
    walk = _Walk(base, wanted, whole, depth)
    files: list[MemoryFile] = []
    for name in walk.names():
        if len(files) == limit:
            walk.say(name, f"and what follows is left out: {limit} files are listed; give limit=… for more")
            break
        try:
            files.append(examined(base, name)[0])
        except InputError as error:
            walk.say(name, error.what)
    return Memory(base, tuple(files), tuple(walk.notices))


class _Walk:
    """Looks through folders, level by level and in order; collects what it has to say."""

    def __init__(self, root: str, wanted: frozenset[str], folders: frozenset[str], depth: int) -> None:
        self.root, self.wanted, self.folders, self.depth = root, wanted, folders, depth
        above = {name.rpartition("/")[0] for name in wanted}
        self.ways = {".claude"} | {part for folder in folders | above for part in folder.split("/") if part}
        self.notices: list[Notice] = []

    def say(self, name: str, what: str) -> None:
        self.notices.append(Notice("memory-skipped", f"{head(ascii(name)[1:-1], NAME)}: {what}"))

    def names(self) -> Iterator[str]:
        waiting, visits = deque([("", 0)]), 0
        while waiting:
            folder, level = waiting.popleft()
            visits += 1
            if visits > VISITS:
                self.say(folder, f"and {len(waiting)} folders more were not looked into: {VISITS:,} were")
                return
            for entry in self.entries(folder):
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name in self.ways and entry.is_symlink():
                    self.say(name, "is a link to a folder; it is not followed")
                elif entry.is_dir(follow_symlinks=False):
                    waiting.extend([(name, level + 1)] if level < self.depth and self.enters(entry.name) else [])
                elif self.wants(folder, entry.name):
                    yield name

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(os.path.join(self.root, folder)) as found:
                return sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            self.say(folder, f"cannot be looked into ({error.strerror})")
            return []

    def enters(self, name: str) -> bool:
        return name in self.ways or not (name.startswith(".") or name in SKIPPED)

    def wants(self, folder: str, name: str) -> bool:
        inside = any(f"/{each}/" in f"/{folder}/" for each in self.folders)
        return bool({name, f"{folder}/{name}"} & self.wanted) or (inside and name.endswith(".md"))
