"""Shell commands taken apart: words, simple commands, and chains of them. What they do is not known here.

    text ── chains ──> Chain (simple commands, and what joins each to the next)
    text ── runs ──> the commands of any text, scripts too, as far as they can be told apart: for a guess

Quotes, escapes, comments, redirections, heredocs and joints are understood. A loop, a condition, a subshell or a
substitution makes a text Unclear: nobody can tell which of its commands ran. One pass, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

LONGEST = 4_000
"""Characters of a command that are read, without heredocs: a longer one is a script."""
_TOKEN = re.compile(
    r"(?P<space>(?:[ \t\r\f\v]|\\\n)+)"
    r"|(?P<comment>(?<![^\s;&|])#[^\n]*)"
    r"|(?P<arrow>\d?(?:&>>?|>>|>\||>&|>|<&|<<<|<))"
    r"|(?P<joint>&&|\|\||\|&|[;&|\n])"
    r"|(?P<single>'[^']*')"
    r"|(?P<double>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<escape>\\.)"
    r"|(?P<bare>[^\s'\"\\;&|<>]+)",
    re.S | re.A,
)
_HEREDOC = re.compile(
    r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|(?P<here>(?<!<)<<-?[ \t]*(?P<quote>['\"]?)(?P<end>[A-Za-z_]\w*)(?P=quote))"
)
"""The beginning of a heredoc, outside quotes."""
_NESTED = {"bare": re.compile(r"[()`]"), "double": re.compile(r"\$\(|`")}
"""Signs that another command stands inside the command."""
_MANY = frozenset("$*?[]{}~")
"""Signs that, outside quotes, may make a word stand for others."""
_SCRIPT = re.compile(
    r"(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function|select|exit|exec|eval|[{}!]|\[\[)\Z"
)
"""Words and signs that make a command part of a script when it begins with them."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


_HERE_BODY = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1(?:.*?^[ \t]*\2[ \t]*$|.*)", re.S | re.M)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.S)
_PARTED = re.compile(r"&&|\|\||[;|&\n]|\$\(|[(){}`]")
_AROUND = re.compile(r"(?:(?:[A-Za-z_]\w*=\S*|sudo|time|env|nohup|exec|then|do|else|timeout[ \t]+\S+)[ \t]+)+")
"""What may stand before a command without being one itself."""


class Unclear(Exception):
    """The text cannot be taken apart."""


class Word(NamedTuple):
    """A piece of a command. `kind` is word, arrow or joint; one that is not `sure` may stand for other words."""

    kind: str
    text: str
    sure: bool = True


class Chain(NamedTuple):
    """Simple commands up to a `;` or a line end. `joints[n]` is what follows `commands[n]`."""

    commands: list[list[Word]]
    joints: list[str]


def chains(text: str) -> Iterator[Chain]:
    """The simple commands of a text, without the variables set before them. Raises Unclear."""
    chain, command = Chain([], []), list[Word]()
    for word in (*_words(_without_heredocs(text)), Word("joint", ";")):
        if word.kind != "joint":
            if command or not _ASSIGNMENT.match(word.text):
                command.append(word)
            continue
        if command:
            if _SCRIPT.match(command[0].text):
                raise Unclear
            chain.commands.append(command)
            chain.joints.append(word.text)
            command = []
        if word.text in (";", "\n") and chain.commands:
            yield chain
            chain = Chain([], [])


def runs(text: str) -> tuple[str, ...]:
    """Each command in its words, without quoted text, heredocs, and variables or programs set before it."""
    return _runs(text[:LONGEST])


@lru_cache(maxsize=1_024)  # one fold asks several times about each
def _runs(text: str) -> tuple[str, ...]:
    bare = _QUOTED.sub("''", _HERE_BODY.sub("", text))
    found = (_AROUND.sub("", part.strip(), count=1) for part in _PARTED.split(bare))
    return tuple(" ".join(part.split()) for part in found if part)


def _without_heredocs(text: str) -> str:
    kept: list[str] = []
    ends: list[str] = []
    for line in text.split("\n"):
        if ends:
            if line.strip() == ends[0]:
                del ends[0]
        else:
            ends = [match["end"] for match in _HEREDOC.finditer(line) if match["here"]]
            kept.append(_HEREDOC.sub(lambda match: "" if match["here"] else match.group(), line))
    rest = "\n".join(kept)
    if ends or len(rest) > LONGEST:
        raise Unclear
    return rest


def _words(text: str) -> Iterator[Word]:
    """The words, arrows and joints. What stands side by side without white space is one word."""
    word: Word | None = None
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unclear  # a quote that is never closed
        at, kind = match.end(), match.lastgroup or ""
        if kind in ("single", "double", "escape", "bare"):
            piece = _piece(kind, match.group())
            word = Word("word", word.text + piece.text, word.sure and piece.sure) if word else piece
            continue
        if word:
            yield word
            word = None
        if kind in ("arrow", "joint"):
            yield Word(kind, match.group())
    if word:
        yield word


def _piece(kind: str, token: str) -> Word:
    """Part of a word, without its quotes."""
    if kind in _NESTED and _NESTED[kind].search(token):
        raise Unclear
    if kind == "single":
        return Word("word", token[1:-1])
    if kind == "double":
        return Word("word", re.sub(r"\\([\"\\$`\n])", r"\1", token[1:-1]), "$" not in token)
    return Word("word", token[1:]) if kind == "escape" else Word("word", token, not _MANY & set(token))
