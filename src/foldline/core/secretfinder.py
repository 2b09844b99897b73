"""Where the secrets of a text stand. What they look like is in secretforms.py, how they are masked in redact.py.

    text ── secrets ──> Secret, Secret, …

A mask can replace a span without breaking JSON around it: a span takes in whole escapes, and no quote that ends a
string. The time taken is in proportion to the text: plain searches find the places, and no place is read twice.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from foldline.core.secretforms import (
    AWS_SECRET,
    KEYS_BY_SIGN,
    NAME_HINTS,
    NAMES,
    Key,
    Trust,
    looks_made_up,
    names_key,
    secretive,
)

MASK = "[masked "
"""How every mask begins."""
_MASKED = re.compile(re.escape(MASK) + r"[a-z-]{1,30}+(?: [0-9a-f]{6})?+\]")
_HIDDEN = "\ufdd1"
"""The character that stands in for each one of masks and of secrets already found: no text has it."""
_ROUNDS = 8
"""How many times a text is searched at most: a secret may come to light once the one beside it is hidden. Nearly all
texts need only two."""


class Secret(NamedTuple):
    """A secret's kind, and where it stands in the text."""

    kind: str
    start: int
    end: int


Reading: TypeAlias = tuple[int, Sequence[Secret]]
"""Where reading ended, and what was found on the way."""


def secrets(text: str) -> list[Secret]:
    """Every secret in a text, in order. They may overlap."""
    found: list[Secret] = []
    seen = _MASKED.sub(lambda mask: _HIDDEN * len(mask[0]), text) if MASK in text else text
    for _ in range(_ROUNDS):
        more = sorted(_once(seen), key=lambda secret: (secret.start, -secret.end))
        if not more:
            break
        found += more
        seen = _hidden(seen, more)
    return sorted(found, key=lambda secret: (secret.start, -secret.end))


def _hidden(text: str, found: Sequence[Secret]) -> str:
    pieces: list[str] = []
    at = 0
    for _, start, end in found:
        if end > at:
            pieces += text[at:start], _HIDDEN * (end - max(start, at))
            at = end
    return "".join((*pieces, text[at:]))


def _once(text: str) -> Iterator[Secret]:
    for sign, hints in KEYS_BY_SIGN.items():
        if sign in text:
            yield from (secret for hint in hints if hint in text for key in hints[hint] for secret in _keys(text, key))
    if "://" in text:
        yield from _urls(text)
    if _PEM in text:
        yield from _private_keys(text)
    lowered = text.replace("\u0130", "i").lower()  # the one letter that grows in lower case, and would move the rest
    for hint, words in _WORDS.items():
        if hint in lowered:
            yield from (secret for word in words for secret in _header(text, lowered, word))
    for hint in NAME_HINTS:
        if hint in lowered:
            yield from _assigned(text, lowered, hint)


def _each(text: str, word: str, read: Callable[[int], Reading]) -> Iterator[Secret]:
    """Reads at every place where a word stands, and continues where that reading ended."""
    at = text.find(word)
    while at >= 0:
        end, found = read(at)
        yield from found
        at = text.find(word, max(end, at + 1))


_ESCAPES = "bfnrtu"
_HEX = frozenset("0123456789abcdefABCDEF")


def _escaped(text: str, at: int) -> bool:
    """The character belongs to the backslash before it, as in JSON."""
    start = at
    while start and text[start - 1] == "\\":
        start -= 1
    return (at - start) % 2 == 1


def _begins_word(text: str, at: int) -> bool:
    """No letter or digit stands before it, except one that belongs to an escape: \\n, %20."""
    if not at or not (text[at - 1].isalnum() or text[at - 1] in "_-"):
        return True
    if text[at - 1] in _ESCAPES and text[max(at - 2, 0) : at - 1] == "\\":
        return True
    return text[max(at - 3, 0) : at - 2] == "%" and _HEX.issuperset(text[at - 2 : at])


def _cut(text: str, start: int, end: int) -> bool:
    """Something hidden stands in it or right behind it: it was judged already when it was whole."""
    return text.find(_HIDDEN, start, end + 1) >= 0


def _keys(text: str, key: Key) -> Iterator[Secret]:
    def read(at: int) -> Reading:
        if not (key.anywhere or _begins_word(text, at)) or (text[at] in _ESCAPES and _escaped(text, at)):
            return at, ()
        match = key.shape.match(text, at)
        if not match or looks_made_up(match["body"]) or _cut(text, *match.span()):
            return match.end() if match else at, ()
        found = Secret(key.kind, *match.span())
        second = AWS_SECRET.match(text, match.end()) if key.kind == "aws-key" else None
        return match.end(), (found, Secret("aws-secret", *second.span("body"))) if second else (found,)

    return _each(text, key.begins, read)


_LOGIN = re.compile(r"://[^\s/@:\"'`<>\\]{0,100}+:(?P<body>[^\s/@\"'`<>\\]{1,200}+)@")


def _urls(text: str) -> Iterator[Secret]:
    """The password in user:password@host."""

    def read(at: int) -> Reading:
        match = _LOGIN.match(text, at)
        if not match or _cut(text, *match.span()) or not secretive(match["body"], "password", literal=True):
            return at, ()
        return match.end(), (Secret("url-password", *match.span("body")),)

    return _each(text, "://", read)


_PEM = "-----BEGIN "
_PEM_OPENS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_PEM_INSIDE = re.compile(r"(?:[^\"\\-]|\\.|-(?!----))*+(?=-----END )", re.S)
_PEM_LINE = re.compile(r"(?:[\s\"'`+,>|→0-9-]|\\++[nrt\"\s]){0,24}+(?P<body>[A-Za-z0-9+/=]{24,}+)")
"""A line of a key whose end is missing, or that is quoted line by line."""
_LONG = re.compile(r"[A-Za-z0-9+/]{32}")


def _private_keys(text: str) -> Iterator[Secret]:
    def read(at: int) -> Reading:
        opening = _PEM_OPENS.match(text, at)
        if not opening:
            return at, ()
        inside = _PEM_INSIDE.match(text, opening.end())
        if inside:
            real = _LONG.search(inside[0]) is not None
            return inside.end(), (Secret("private-key", *inside.span()),) if real else ()
        found, end = [], opening.end()
        while line := _PEM_LINE.match(text, end):
            found.append(Secret("private-key", *line.span("body")))
            end = line.end()
        return end, found

    return _each(text, _PEM, read)


def _header(text: str, lowered: str, word: str) -> Iterator[Secret]:
    """Logins behind one of the words for them: Bearer, Basic, the name of the header, and others."""
    kind, shape, judge = _HEADERS[word]

    def read(at: int) -> Reading:
        match = shape.match(text, at + len(word))
        if not match or _cut(text, *match.span()) or not judge(match["body"]):
            return at, ()
        return match.end(), (Secret(kind, *match.span("body")),)

    return _each(lowered, word, read)


def _is_login(body: str) -> bool:
    """User and password in base64, with the colon between them. A word that happens to be base64 does not decode to
    text."""
    try:
        said = base64.b64decode(body, validate=True).decode()
    except ValueError:
        return False
    return ":" in said and said.isprintable()


def _is_token(body: str) -> bool:
    return secretive(body, "token", literal=False)


def _is_password(body: str) -> bool:
    return secretive(body, "password", literal=False)


_SAYS = r"[ \t\\\"']{0,6}+[:=][ \t\\\"']{0,6}+"
_LOGIN_FLAGS = (" -u", " --user")
_WORDS = {"bearer": ("bearer",), "authorization": ("basic", "authorization"), "auth": ("auth",), "curl": _LOGIN_FLAGS}
"""The words that a login follows, by a word that shows they may be there."""
_FLAGGED = re.compile(r"(?:=|[ \t]{0,3}+)[\"']?+[^\s:\"'`\\]{1,100}+:(?P<body>[^\s\"'`\\]{1,200}+)")
_HEADERS: Mapping[str, tuple[str, re.Pattern[str], Callable[[str], bool]]] = {
    "bearer": (
        "bearer-token",
        re.compile(r"[ \t]{1,3}+(?P<body>[A-Za-z0-9._~+/=-]{16,}+)"),
        _is_token,
    ),
    "authorization": (
        "token",
        re.compile(_SAYS + r"(?:[A-Za-z0-9-]{1,20}+[ \t]{1,3}+)?+(?P<body>[A-Za-z0-9._~+/=-]{16,}+)"),
        _is_token,
    ),
    "auth": ("authorization", re.compile(_SAYS + r"(?P<body>[A-Za-z0-9+/]{6,}+={0,2}+)"), _is_login),
    **dict.fromkeys(_LOGIN_FLAGS, ("password", _FLAGGED, _is_password)),
    "basic": ("authorization", re.compile(r"[ \t]{1,3}+(?P<body>[A-Za-z0-9+/]{6,}+={0,2}+)"), _is_login),
}

_SEPARATOR = re.compile(
    r"(?P<named>\\{0,7}+[\"'`])?[ \t]{0,8}+(?::[ \t]?+\w{1,20}+[ \t]?+=|=>|:=|={1,3}+|:)[ \t]{0,8}+"
)
_QUOTED = re.compile(
    r"\"(?P<double>(?:[^\s\"\\]|\\\S)++)\"|'(?P<single>(?:[^\s\"'\\]|\\\S)++)'|`(?P<tick>(?:[^\s\"`\\]|\\\S)++)`"
    r"|(?P<slashes>\\{1,7}+)\"(?P<inner>(?:[^\s\"\\]|(?!(?P=slashes)\")\\++[^\s\\])++)(?P=slashes)\""
)
_PHRASE = re.compile(
    r"\"(?P<double>[^\"\\\n]{1,200}+)\"|'(?P<single>[^\"'\\\n]{1,200}+)'"
    r"|(?P<slashes>\\{1,7}+)\"(?P<inner>[^\"\\\n]{1,200}+)(?P=slashes)\""
)
"""A value in quotes in a .env file: the quotes are there because it has spaces."""
_BARE = re.compile(r"(?:[^\s\"'`\\,;<>(){}\[\]&|]|\\[^\s\"'`nrtu])++(?![(\[])")
_LINE = re.compile(r"(?:[^\s\"'`\\]|\\[^\s\"'`nrtu])++")
_FLAG = re.compile(r"[ \t]{1,2}+(?=[^\s-])")
_BEFORE = 40
"""Characters of a name before its last word that are looked at."""


def _assigned(text: str, lowered: str, hint: str) -> Iterator[Secret]:
    """Values beside a name that points to a secret: in a .env file, in code, JSON or YAML, after a flag."""
    for word, (kind, trust) in NAMES.items():
        if hint not in word:
            continue

        def read(at: int, end: int = len(word), kind: str = kind, trust: Trust = trust) -> Reading:
            before, name = text[max(at - _BEFORE, 0) : at], text[at : at + end]
            if kind == "api-key" and not names_key(before, name):
                return at, ()
            value = _value(text, at + end, before, env=name.isupper())
            if value is None:
                return at, ()
            start, stop, literal = value
            secret = not _cut(text, start, stop) and secretive(text[start:stop], trust, literal=literal)
            return stop, (Secret(kind, start, stop),) if secret else ()

        yield from _each(lowered, word, read)


def _value(text: str, at: int, before: str, *, env: bool) -> tuple[int, int, bool] | None:
    """Where the value that belongs to a name begins and ends, and whether only a literal value can stand there."""
    separator = _SEPARATOR.match(text, at)
    if not separator and before.rpartition(" ")[2].startswith("--"):
        separator = _FLAG.match(text, at)
    if not separator:
        return None
    literal = env and separator[0] == "="
    quoted = _QUOTED.match(text, separator.end()) or (literal and _PHRASE.match(text, separator.end()))
    if quoted:
        start, end = quoted.span(quoted.lastgroup or 0)
        return start, end, literal
    if separator.re is _SEPARATOR and separator["named"]:
        return None  # a bare value in JSON, such as a number: a mask in its place would break the JSON
    bare = (_LINE if literal else _BARE).match(text, separator.end())
    return (*bare.span(), literal) if bare else None
