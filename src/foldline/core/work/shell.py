"""What a shell command that succeeded did to files, where there is no doubt; and whether it says that it could not.

    command ── touches ──> Touch, Touch, …
    command, output ── complaints ──> `rm: cannot remove 'a.py'`, …  ── ended, spared ──> how it ended, what it did

Readers, `sed`, `rm`, `mv`, `cp`, `touch`, `tee` and redirections are understood. A variable or a glob makes its simple
command uncertain; `||` and `&` make the commands they join uncertain; a `cd` to an unknown place, all that follows it.
Nothing is claimed about what is uncertain. An output is read for complaints only if it consists of nothing else: what a
command shows may hold any words. Words are split in shellwords.py.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from foldline.core.work.shellwords import Chain, Unclear, Word, chains

_READERS = {"cat": "", "head": "nc", "tail": "nc", "less": "", "more": "", "nl": "bdfhilnsvw", "wc": "", "bat": "rlHm"}
"""Commands that show files, and the letters of their options that take the next word."""
_FLAGS = {"rm": "rRfvd", "mv": "fv", "cp": "rRafpvL", "touch": "", "tee": "a", "git rm": "rfq", "git mv": "fv"}
"""Commands that change files, and the letters of the options that do not change what their other words mean."""
_PIPES = frozenset({"|", "|&"})
_IN_PLACE = re.compile(r"-[nErsuz]*i|--in-place")

_SHELL = "sh"
"""The speaker of a complaint by a shell or its `cd`: any command of the text may have caused it."""
_SPEAKER = re.compile(
    r"-?(?:\S{0,200}/)?(?:(?P<shell>(?:ba|z|da|k|a)?sh|cd|\(eval\))|(?P<command>[a-z][\w.]{0,20})): ?"
    r"(?P<said>\S[^\n]*)$"
)
_COULD_NOT = re.compile(
    r"no such file or directory|permission denied|operation not permitted|read-only file system|"
    r"no space left on device|(?:is a|not a) directory|omitting directory|file exists|device or resource busy|"
    r"\bare the same file\b|"
    r"^(?:cannot|can't|can’t|couldn't|failed to) ",
    re.I,
)
"""Reasons why a command for files, or the shell itself, did not do something."""
_WARNING = re.compile(r"warning\b", re.I)
_MOST_COMPLAINTS = 12
"""Lines at most of an output that is nothing but complaints: a longer one is a log."""
_COMPLAINING = frozenset({*_READERS, *(name for name in _FLAGS if " " not in name), "sed", "git"}) | frozenset(
    {
        *("awk", "chgrp", "chmod", "chown", "cmp", "cut", "dd", "diff", "du", "file", "find", "grep", "install", "jq"),
        *("ln", "ls", "mkdir", "mktemp", "patch", "python", "python3", "rg", "rmdir", "sort", "stat", "tac", "tar"),
        *("tree", "truncate", "uniq", "unlink", "zip"),
    }
)
"""Commands that end with an error after such a complaint: for any other nobody knows what follows from it."""
_BEFORE = frozenset({"sudo", "env", "time", "nohup", "timeout", "nice", "xargs", "command", "exec"})
"""Commands that run another command, which is given in their words."""
_NAMED = re.compile(r"[^\s'\"`‘’|;&<>()=:,/]+")
"""A name within a path, a line or a command."""


class Touch(NamedTuple):
    """Something done to a file: read, written, edited, deleted, or moved `to` elsewhere."""

    action: str
    path: str
    to: str = ""


def touches(command: str, folder: str = "") -> Iterator[Touch]:
    """What the command, run in `folder`, did to which files, as far as that is certain."""
    try:
        found = list(chains(command))
    except Unclear:
        return
    for number, chain in enumerate(found, 1):
        certain = _certain(chain, last=number == len(found))
        for words, before, behind in zip(chain.commands[:certain], ("", *chain.joints), chain.joints, strict=False):
            if not _steps(words):
                yield from (_below(folder, touch) for touch in _understood(words))
            elif _PIPES & {before, behind} or not _leads_somewhere(words):
                return  # from here on nobody knows the folder
            else:
                folder = posixpath.join(folder, words[1].text)
        if any(map(_steps, chain.commands[certain:])):
            return


def _certain(chain: Chain, last: bool) -> int:
    """How many commands of a chain certainly ran, given that the whole succeeded. Only the last chain vouches for
    its `&&`."""
    if {"||", "&"} & set(chain.joints):
        return 0
    if last:
        return len(chain.commands)
    conditional = (
        nth
        for nth, (words, joint) in enumerate(zip(chain.commands, chain.joints, strict=True))
        if joint == "&&" and not _steps(words)
    )
    return next(conditional, len(chain.commands) - 1) + 1


def _steps(words: Sequence[Word]) -> bool:
    return words[0].text in ("cd", "pushd", "popd")


def _leads_somewhere(words: Sequence[Word]) -> bool:
    return len(words) == 2 and words[0].text == "cd" and words[1].sure and words[1].text[:1] not in ("-", "")


def _below(folder: str, touch: Touch) -> Touch:
    """The touch as seen from where the command started."""
    path, to = (posixpath.normpath(posixpath.join(folder, name)) if name else "" for name in touch[1:])
    return Touch(touch.action, path, to)


def _understood(words: Sequence[Word]) -> Iterator[Touch]:
    plain: list[Word] = []
    rest = iter(words)
    for word in rest:
        if word.kind == "word":
            plain.append(word)
            continue
        target = next(rest, Word("word", "", False))
        if ">" in word.text and word.text[-1] != "&" and target.sure and _is_file(target.text):
            yield Touch("written", target.text)
    if plain and plain[0].sure:
        yield from _command(posixpath.basename(plain[0].text), plain[1:])


def _is_file(path: str) -> bool:
    return bool(path) and not path.startswith("/dev/")


def _command(name: str, words: Sequence[Word]) -> Iterator[Touch]:
    if name == "git" and words and words[0].text in ("rm", "mv"):
        name, words = f"git {words[0].text}", words[1:]
    if name == "sed":
        yield from _sed(words)
    elif name in _READERS:
        yield from (Touch("read", path) for path in _operands(words, taking=_READERS[name]) if not path.isdigit())
    elif name in _FLAGS:
        yield from _changes(name.rsplit(" ", 1)[-1], _operands(words, only=_FLAGS[name]))


def _operands(words: Sequence[Word], *, taking: str = "", only: str | None = None) -> list[str]:
    """The words that are not options; none where one of them, or an option, may mean something else.

    `taking` are the letters of options that take the next word, `only` those of the options that are understood.
    """
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        flags = word.text[1:] if word.text[:1] == "-" else ""
        if not word.sure or (only is not None and flags.strip(only)) or (taking and flags[:1] == "-"):
            return []
        if flags:
            if len(flags) == 1 and flags in taking:
                next(rest, None)
        elif word.text and word.text != "-" and word.text[0] != "+":
            found.append(word.text)
    return found


def _changes(name: str, paths: Sequence[str]) -> Iterator[Touch]:
    if name == "rm":
        yield from (Touch("deleted", path) for path in paths)
    elif name in ("mv", "cp"):
        for path, to in _into(paths):
            yield from (Touch("moved", path, to),) if name == "mv" else (Touch("read", path), Touch("written", to))
    else:
        yield from (Touch("written", path) for path in paths if _is_file(path))


def _into(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each source with its new place. Nothing where the last word may or may not be a folder."""
    if len(paths) < 2:
        return
    *sources, last = paths
    if last.endswith("/") or last in (".", "..") or len(sources) > 1:
        yield from ((path, posixpath.join(last, posixpath.basename(path.rstrip("/")))) for path in sources)
    elif "." in posixpath.basename(last)[1:]:
        yield sources[0], last


def _sed(words: Sequence[Word]) -> Iterator[Touch]:
    """With -i the files are edited, without it only read. The script is the word after -e, or the first plain one."""
    action, script, paths = "read", False, list[Word]()
    rest = iter(words)
    for word in rest:
        if _IN_PLACE.match(word.text):
            action = "edited"
        elif word.text in ("-e", "-f", "--expression", "--file"):
            script = next(rest, None) is not None
        elif word.text[:1] == "-" or not word.text:
            script = script or word.text.startswith(("--expression=", "--file="))
        elif script:
            paths.append(word)
        else:
            script = True
    if all(path.sure for path in paths):
        yield from (Touch(action, path.text) for path in paths)


def complaints(command: str, lines: Sequence[str]) -> tuple[str, ...]:
    """The lines of an output, if all of them say that the command could not do something to what it names; else
    none."""
    if not 0 < len(lines) <= _MOST_COMPLAINTS:
        return ()
    names = _names(command)
    return tuple(lines) if all(_complains(line, names) for line in lines) else ()


def _complains(line: str, names: frozenset[str]) -> bool:
    found = _SPEAKER.match(line)
    if found is None or _WARNING.search(line) or not _COULD_NOT.search(_said(found)):
        return False
    if found["command"] and found["command"] not in _COMPLAINING & names:
        return False
    return not names.isdisjoint(_names(found["said"]))


def _said(found: re.Match[str]) -> str:
    """The complaint, without a line number before it."""
    return re.sub(r"(?:line )?\d{1,5}: ", "", found["said"], count=1)


def _names(text: str) -> frozenset[str]:
    return frozenset(_NAMED.findall(text))


def ended(command: str, complained: Iterable[str]) -> Literal["ok", "failed", "unknown"]:
    """How a command ended whose whole output was complaints: a shell reports how the last of its commands ended."""
    speakers = {found["command"] or _SHELL for found in map(_SPEAKER.match, complained) if found}
    if not speakers:
        return "ok"
    try:
        last, others = _speakers(list(chains(command)))
    except Unclear:
        return "unknown"
    if speakers & others:
        return "unknown" if speakers & last else "ok"
    return "failed" if speakers & last else "unknown"


def _speakers(found: Sequence[Chain]) -> tuple[set[str], set[str]]:
    """Who can have spoken: first the commands whose failure makes the whole fail, then the others."""
    commands, joints = found[-1] if found else Chain([], [])
    first = next((nth for nth in range(len(commands) - 1, 0, -1) if joints[nth - 1] != "&&"), 0)
    others = [words for chain in found[:-1] for words in chain.commands] + commands[:first]
    return _who(commands[first:]), _who(others)


def _who(commands: Iterable[Sequence[Word]]) -> set[str]:
    return {name for words in commands for name in (_SHELL, *_run_by(words))}


def _run_by(words: Sequence[Word]) -> Iterator[str]:
    several = posixpath.basename(words[0].text) in _BEFORE
    yield from (posixpath.basename(word.text) for word in (words if several else words[:1]))


def spared(touch: Touch, complained: Iterable[str]) -> bool:
    """A complaint names the file, so what the command was to do to it was not done."""
    paths = [_names(posixpath.basename(path)) for path in touch[1:] if path]
    return any(path <= _names(line) for path in paths for line in complained)
