"""What a shell command did to files, where there is no doubt.

Only plain commands are understood: words, quotes, `&&`, `;`, `|` and redirections. A variable, a glob, a substitution
or a loop means the paths are not certain, and nothing is said about that command.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

LONGEST = 4_000
"""Characters of a command that are looked at; longer ones are scripts."""
_DOUBT = frozenset("$`*?{}()[]~<")
_BREAKS = frozenset({"&&", "||", ";", "|", "&", "\n"})
_READERS = frozenset({"cat", "head", "tail", "less", "more", "nl", "wc", "bat"})
_WITH_VALUE = frozenset({"-n", "-c", "--lines", "--bytes"})
"""Options of the readers that take the next word."""


class Touch(NamedTuple):
    """Something done to a file: read, written, edited, deleted, or moved `to` elsewhere."""

    action: str
    path: str
    to: str = ""


def touches(command: str) -> Iterator[Touch]:
    """What the command did to which files, as far as certain."""
    if len(command) > LONGEST or "<<" in command:
        return
    folder = ""
    for words in _simple_commands(command):
        if any(_DOUBT & set(word) for word in words):
            continue
        if words[:1] == ["cd"] and len(words) == 2:
            folder = posixpath.join(folder, words[1])
            continue
        for touch in _understood(words):
            yield touch if not folder else _below(folder, touch)


def _below(folder: str, touch: Touch) -> Touch:
    """The touch as seen from where the command started."""
    return Touch(
        touch.action,
        posixpath.normpath(posixpath.join(folder, touch.path)),
        posixpath.normpath(posixpath.join(folder, touch.to)) if touch.to else "",
    )


def _simple_commands(command: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=";&|>")
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if word in _BREAKS:
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # an open quote: not a command we can read
        return
    yield words


def _understood(words: Sequence[str]) -> Iterator[Touch]:
    plain, written = _redirections(words)
    for path in written:
        yield Touch("written", path)
    if plain:
        yield from _command(plain[0].rsplit("/", 1)[-1], plain[1:])


def _redirections(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without redirections, and the files that output went to."""
    plain: list[str] = []
    written: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in (">", ">>", "&>", ">|"):
            path = next(rest, "")
            if plain and plain[-1] in ("1", "2"):
                plain.pop()
            if path and not path.startswith(("/dev/", "&")):
                written.append(path)
        elif word == ">&":
            next(rest, "")
        else:
            plain.append(word)
    return plain, written


def _command(name: str, words: Sequence[str]) -> Iterator[Touch]:
    paths = [word for word in words if not word.startswith("-")]
    if name == "git" and paths and paths[0] in ("rm", "mv"):
        name, paths = paths[0], paths[1:]
    if name in _READERS:
        yield from (Touch("read", path) for path in _reader_paths(words))
    elif name == "sed":
        yield from _sed(words, paths)
    elif name == "rm":
        yield from (Touch("deleted", path) for path in paths)
    elif name == "mv" and len(paths) == 2 and not paths[1].endswith("/"):
        yield Touch("moved", paths[0], paths[1])
    elif name == "cp" and len(paths) == 2 and not paths[1].endswith("/"):
        yield from (Touch("read", paths[0]), Touch("written", paths[1]))
    elif name in ("touch", "tee"):
        yield from (Touch("written", path) for path in paths)


def _reader_paths(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-") and not word.isdigit():
            yield word


def _sed(words: Sequence[str], paths: Sequence[str]) -> Iterator[Touch]:
    """The first word that is no option is the script; with -i the files are edited, without it only read."""
    if "-e" in words or "-f" in words:
        return
    action = "edited" if any(word.startswith(("-i", "--in-place")) for word in words) else "read"
    yield from (Touch(action, path) for path in paths[1:])
