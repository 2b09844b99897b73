"""One memory file: where it lies, what it is made of. Which files there are is in finding.py.

A name never leaves the root: no `..`, nothing absolute, no link that leads out. Only text of a sensible size is read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from foldline.core.words.markup import fenced
from foldline.core.words.text import head
from foldline.errors import InputError
from foldline.model import digest

LARGEST = 1 << 20
"""Bytes of a file: memory that is longer than most windows is no memory."""
NAME = 1_024
"""Characters of a name."""
IMPORTS = 200
"""Words with an `@` that are looked into: each is sought on the disk."""
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>\S.*)$")
_IMPORT = re.compile(r"(?:^|(?<=\s))@(?P<name>[\w./~-]*\w)")
_CODE = re.compile(r"`[^`]*`")
_MARKDOWN = (".md", ".mdc", ".txt")


class Section(NamedTuple):
    """A heading with everything below it, sections of lower levels included. Lines count from 1."""

    title: str
    level: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file by reference. `name` is its path below `root`, `path` where it really lies, `hash` that of its bytes."""

    root: str
    name: str
    path: str
    size: int
    hash: str
    sections: tuple[Section, ...] = ()
    imports: tuple[str, ...] = ()
    """Files it imports (`@docs/rules.md`), as names below the root; with their `@` where they cannot be loaded."""


def plain(name: str) -> str:
    """A name that cannot leave the folder it is sought in. Raises InputError for others."""
    shown = head(ascii(name), 80)
    if not name or len(name) > NAME:
        raise InputError(f"the name {shown} has {len(name):,} characters; give 1 to {NAME:,}")
    if not name.isprintable() or "\\" in name:
        raise InputError(f"the name {shown} has characters that no memory file's name has; use plain ones and /")
    if name.startswith(("/", "~")) or ":" in name.split("/")[0] or {"..", ".", ""} & set(name.split("/")):
        raise InputError(f"the name {shown} is no place below the root; write it as in docs/AGENTS.md")
    return name


def _located(root: str, name: str) -> str:
    """Where a name really lies, if that is below the root."""
    path = os.path.realpath(os.path.join(root, plain(name)))
    if os.path.commonpath([root, path]) != root:
        raise InputError("is a link that leaves the project; it is not followed", source=name)
    return path


def contents(root: str, name: str) -> tuple[str, bytes]:
    """The path and the bytes of a regular file of a sensible size. Raises InputError for anything else."""
    path = _located(root, name)
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise InputError("is not a file", source=name)
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror}); look for it again", source=name) from None
    if len(data) > LARGEST:
        raise InputError(f"has over {LARGEST:,} bytes; too large for memory, so split it", source=name)
    if b"\0" in data:
        raise InputError("is not text", source=name)
    return path, data


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def examined(root: str, name: str) -> tuple[MemoryFile, str]:
    path, data = contents(root, name)
    text = _text(data)
    return MemoryFile(root, name, path, len(data), digest(data), _sections(text), _imports(root, name, text)), text


def _sections(text: str) -> tuple[Section, ...]:
    """From the last heading to the first, so that each knows at once where the next of its rank stands."""
    lines = text.split("\n")
    code = fenced(lines)
    found: list[Section] = []
    ends = [len(lines)] * 7  # for each level the line before the next heading that ends a section of it
    for at in range(len(lines) - 1, -1, -1):
        match = None if code[at] else _HEADING.match(lines[at])
        if match:
            level = len(match["marks"])
            found.append(Section(match["title"].rstrip("# \t"), level, at + 1, ends[level]))
            ends[level:] = [at] * (7 - level)
    return tuple(reversed(found))


def _imports(root: str, name: str, text: str) -> tuple[str, ...]:
    """What `@` names outside code, each once."""
    lines = text.split("\n")
    code = fenced(lines)
    outside = (_CODE.sub("", line) for line, inside in zip(lines, code, strict=True) if not inside and "@" in line)
    written = list(dict.fromkeys(match["name"] for line in outside for match in _IMPORT.finditer(line)))
    found = dict.fromkeys(each for words in written[:IMPORTS] for each in _imported(root, name, words))
    return (*found, *([f"@… ({len(written) - IMPORTS:,} more words with @)"] if len(written) > IMPORTS else []))


def _imported(root: str, name: str, written: str) -> Iterator[str]:
    """A file below the root by its name, sought beside the importing one; what looks like a file by what was written.

    Most words with an `@` are neither: people, packages, decorators.
    """
    place = os.path.normpath(os.path.join(os.path.dirname(name), written))
    try:
        inside = os.path.isfile(_located(root, place))
    except InputError:
        inside = False
    if inside:
        yield place
    elif written.endswith(_MARKDOWN) or written.startswith(("~/", "../", "/")):
        yield f"@{head(written, NAME)}"
