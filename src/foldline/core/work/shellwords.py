"""Shell commands taken apart: words, simple commands, and chains of them. What they do is not known here.

    text ── chains ──> Chain (simple commands, and what joins each to the next)
    text ── runs ──> the commands of any text, scripts too, as far as they can be told apart: for a guess

Quotes, escapes, comments, redirections, heredocs and joints are understood. A loop, a condition, a subshell or a
substitution makes a text Unclear: nobody can tell which of its commands ran. One pass, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

LONGEST = 4_000
"""Characters of a command that are read, without heredocs: a longer one is a script."""
_PIECES = r"'[^']*'|\$'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|\\.|(?:[^\s'\"\\;&|<>$]|\$(?!'))++"
_TOKEN = re.compile(
    r"(?P<space>(?:[ \t\r\f\v]|\\\n)+)"
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<here>\d*<<(?P<tabs>-?)[ \t]*(?P<quote>['\"]?)(?P<end>[A-Za-z_][\w.-]*)(?P=quote)(?![^\s;&|<>]))"
    r"|(?P<arrow>&>>?|(?:\d(?:\\\n)*)*+(?:>>|>\||>&|>|<&|<<<|<))"
    r"|(?P<joint>&&|\|\||\|&|[;&|\n])"
    rf"|(?P<word>(?:{_PIECES})++)",
    re.S | re.A,
)
"""What stands side by side without white space is one word: a `#` or a number within it is no sign."""
_PIECE = re.compile(_PIECES, re.S | re.A)
_NESTED = re.compile(r"[()`]|\$\{[^}]*\Z")
_NESTED_IN_QUOTES = re.compile(r"\$\(|`|\$\{[^}]*\Z")
"""Signs that another command, or a variable with more words, stands inside a piece."""
_MANY = frozenset("$*?[]{}~")
"""Signs that, outside quotes, may make a word stand for others."""
_SCRIPT = re.compile(
    r"(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function|select|exit|exec|eval|[{}!]|\[\[)\Z"
)
"""Words and signs that make a command part of a script when it begins with them."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_GOES_ON = frozenset({"&&", "||", "|", "|&"})
"""Joints that need a command behind them, on a later line if need be."""

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
    chain = Chain([], [])
    for command, joint in _commands(text):
        if command:
            chain.commands.append(command)
            chain.joints.append(joint)
        if joint in (";", "\n") and chain.commands:
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


def _commands(text: str) -> Iterator[tuple[list[Word], str]]:
    """Each simple command with the joint behind it; an empty one at the end of a line that has none, or ends with `&`.

    A line that ends with another joint goes on in the next.
    """
    command, open_ended = list[Word](), False
    for word in (*_words(text), Word("joint", "\n")):
        if command and command[-1].kind == "arrow" and word.kind != "word":
            raise Unclear
        if word.kind != "joint":
            command.append(word)
        elif command:
            yield _plain(command), word.text
            command, open_ended = [], word.text in _GOES_ON
        elif word.text != "\n":
            raise Unclear  # nothing stands before the joint
        elif not open_ended:
            yield [], word.text
    if open_ended:
        raise Unclear


def _plain(command: list[Word]) -> list[Word]:
    """The command without the variables set before it: the last of them if there is nothing else."""
    sets = (word.kind == "word" and _ASSIGNMENT.match(word.text) for word in command[:-1])
    rest = command[sum(1 for _ in takewhile(bool, sets)) :]
    if _SCRIPT.match(rest[0].text):
        raise Unclear
    return rest


def _words(text: str) -> Iterator[Word]:
    """The words, arrows and joints, without heredocs."""
    heredocs: list[str] = []
    at, left = 0, LONGEST
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.end() - at > left:
            raise Unclear  # a quote that is never closed, or a script
        left -= match.end() - at
        at, kind = match.end(), match.lastgroup or ""
        if kind == "here":
            heredocs.append(_last_line(match))
        elif kind == "word":
            yield _word(match.group())
        elif kind in ("arrow", "joint"):
            yield Word(kind, match.group().replace("\\\n", ""))
            if match.group() == "\n":
                at = _behind(text, at, heredocs)
                heredocs = []
    if heredocs:
        raise Unclear


def _last_line(begin: re.Match[str]) -> str:
    """A pattern for the line that ends the heredoc. Without quotes, a line that is continued goes on in the next."""
    continued = "" if begin["quote"] else r"(?<!\\\n)"
    tabs = r"\t*" if begin["tabs"] else ""
    return rf"(?m:^){continued}{tabs}{re.escape(begin['end'])}(?:\n|\Z)"


def _behind(text: str, at: int, heredocs: Sequence[str]) -> int:
    """The place behind the heredocs that begin here."""
    for last_line in heredocs:
        found = re.compile(last_line).search(text, at)
        if found is None:
            raise Unclear
        at = found.end()
    return at


def _word(token: str) -> Word:
    """The word that stands for the pieces of a token."""
    texts, sure = zip(*map(_piece, _PIECE.findall(token)), strict=True)
    return Word("word", "".join(texts), all(sure))


def _piece(token: str) -> tuple[str, bool]:
    """Part of a word, without its quotes and continued lines; and whether it stands for itself."""
    if token[0] == "'":
        return token[1:-1], True
    if token[0] == "\\":
        return token[1:].strip("\n"), True
    quoted = token[0] == '"'
    if (_NESTED_IN_QUOTES.search(token[1:-1]) if quoted else _NESTED.search(token)) is not None:
        raise Unclear
    if quoted:
        return re.sub(r"\\(?:\n|([\"\\$`]))", r"\1", token[1:-1]), "$" not in token
    return token, not _MANY & set(token)
