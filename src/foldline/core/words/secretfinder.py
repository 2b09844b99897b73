"""Where the secrets of a text stand. What they look like is in secretforms.py, how they are masked in masks.py.

    text ── secrets ──> Secret, Secret, …

A mask can replace a span without breaking JSON around it: a span takes in whole escapes, and no quote that ends a
string. The time taken is in proportion to the text: plain searches find the places, and no place is read twice.
"""

from __future__ import annotations

import base64
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from foldline.core.words.secretforms import (
    AWS_SECRET,
    KEYS,
    NAME_HINTS,
    NAMES,
    Key,
    Trust,
    begun_in,
    looks_made_up,
    secretive,
    trusted,
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
    for key in begun_in(text):
        yield from _keys(text, key)
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
"""The letters of JSON's escapes."""
_IN_WORDS = frozenset(string.ascii_letters + string.digits + "_-")
_ESC = r"(?:\x1b|\^\[|\\{1,7}+(?:u001[bB]|x1[bB]|033|[eE](?=[\[(])))"
"""What opens a terminal's sequence: the character itself, or written out."""
_COLOUR = re.compile(_ESC + r"\[[0-9;:?]{0,40}+[A-Za-z]")
_COLOURS = f"(?:{_COLOUR.pattern}){{0,4}}+"
_ESCAPE_ENDS = re.compile(
    r"(?:\\[abfnrtu]|\\0[0-7]{0,2}|(?:\\x|%)[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|=3D|\x1b[0-9A-Za-z]"
    rf"|{_COLOUR.pattern}|{_ESC}[()*+#%][0-9A-Za-z]|(?:[\x9b\[]|\\u009[bB])[0-9;:?]{{1,40}}[A-Za-z])\Z"
)
"""An escape that ends in a letter or a digit; of a terminal's, also without what opens it."""
_IN_ESCAPES = frozenset("\\%=\x1b\x9b[")
_LONGEST_ESCAPE = 50
"""Characters before a place that are looked at."""


def _escaped(text: str, at: int) -> bool:
    """The character belongs to the backslash before it, as in JSON."""
    start = at
    while start and text[start - 1] == "\\":
        start -= 1
    return (at - start) % 2 == 1


def _begins_word(text: str, at: int) -> bool:
    """No ASCII letter or digit stands before it, except one that ends an escape: \\n, \\x3d, %20, a colour. Letters of
    other scripts do not go on in a key."""
    if not at or text[at - 1] not in _IN_WORDS:
        return True
    if text[at - 1] in "_-":
        return False
    before = text[max(at - _LONGEST_ESCAPE, 0) : at]
    return not _IN_ESCAPES.isdisjoint(before) and _ESCAPE_ENDS.search(before) is not None


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


_LOGIN = re.compile(r"://(?P<user>[^\s/@:\"'`<>\\]{0,100}+):(?P<body>[^\s/@\"'`<>\\]{1,200}+)@")
_HOST = re.compile(r"localhost|[0-9.]{7,15}+")
"""No user but a host: what follows is its port."""


def _urls(text: str) -> Iterator[Secret]:
    """The password in user:password@host."""

    def read(at: int) -> Reading:
        match = _LOGIN.match(text, at)
        if not match or _cut(text, *match.span()) or not secretive(match["body"], "password", literal=True):
            return at, ()
        if _HOST.fullmatch(match["user"]) and match["body"].isdecimal():
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


def _is_any_password(body: str) -> bool:
    """Where nothing but a password can stand."""
    return secretive(body, "password", literal=True)


_SAYS = r"[ \t\\\"']{0,6}+[:=][ \t\\\"']{0,6}+"
_LOGIN_FLAGS = (" -u", " --user")
_POSTGRES = ("with password", "encrypted password")
_WORDS = {
    "bearer": ("bearer",),
    "authorization": ("basic", "authorization"),
    "auth": ("auth",),
    "curl": _LOGIN_FLAGS,
    "identified": ("identified by", "identified with"),
    " password": _POSTGRES,
    "sshpass": ("sshpass -p",),
    "machine": ("machine",),
    "login": ("login",),
}
"""The words that a login follows, by a word that shows they may be there."""
_FLAGGED = re.compile(r"(?:=|[ \t]{0,3}+)[\"']?+[^\s:\"'`\\]{1,100}+:(?P<body>[^\s\"'`\\]{1,200}+)")
_QUOTE = r"[ \t]{1,3}+\\{0,7}+[\"'](?P<body>[^\s\"'`\\]{1,200}+)"
_SAID = re.compile(_QUOTE)
_IDENTIFIED = re.compile(r"(?:(?<=BY)|(?<=[\"'`] identified by))" + _QUOTE)
"""In small letters it may be prose, if no name in quotes stands before it."""
_BY_PLUGIN = re.compile(r"[ \t]{1,3}+[\w\"'\\]{1,40}+[ \t]{1,3}+(?i:by)" + _QUOTE)
_GIVEN = re.compile(r"[ \t]{0,3}+\\{0,7}+[\"']?+(?P<body>[^\s\"'`\\]{1,200}+)")
_GAP = r"(?:\s|\\{1,7}+[nrt]){1,8}+"
_LISTED = rf"{_GAP}[^\s\"'`\\]{{1,100}}+{_GAP}password{_GAP}(?P<body>[^\s\"'`\\]{{1,200}}+)"
"""A login as .netrc has it."""
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
    "identified by": ("password", _IDENTIFIED, _is_any_password),
    "identified with": ("password", _BY_PLUGIN, _is_any_password),
    **dict.fromkeys(_POSTGRES, ("password", _SAID, _is_password)),
    "sshpass -p": ("password", _GIVEN, _is_any_password),
    "machine": ("password", re.compile(rf"{_GAP}[^\s\"'`\\]{{1,100}}+{_GAP}login{_LISTED}"), _is_any_password),
    "login": ("password", re.compile(_LISTED), _is_password),
    "basic": ("authorization", re.compile(r"[ \t]{1,3}+(?P<body>[A-Za-z0-9+/]{6,}+={0,2}+)"), _is_login),
}

KINDS = frozenset({"aws-secret", "url-password", "private-key"}).union(
    (key.kind for key in KEYS),
    (kind for kind, _ in NAMES.values()),
    (kind for kind, *_ in _HEADERS.values()),
)
"""All kinds of secrets."""

_SEPARATOR = re.compile(
    rf"{_COLOURS}(?P<named>\\{{0,7}}+[\"'`])?{_COLOURS}[ \t]{{0,8}}+"
    rf"(?P<sign>:[ \t]?+\w{{1,20}}+[ \t]?+=|=>|:=|={{1,3}}+|:){_COLOURS}[ \t]{{0,8}}+{_COLOURS}"
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
_GOES_ON = r"(?!\\{1,7}+(?:u001[bB]|x1[bB]|033|e)\[)\\[^\s\"'`nrtu]"
_BARE = re.compile(rf"(?:[^\s\x1b\"'`\\,;<>(){{}}\[\]&|]|{_GOES_ON})++(?![(\[])")
_LINE = re.compile(rf"(?:[^\s\x1b\"'`\\]|{_GOES_ON})++")
_FLAG = re.compile(r"(?P<named>)(?P<sign>)[ \t]{1,2}+(?=[^\s-])")
_BEFORE = 40
"""Characters of a name before its last word that are looked at."""


def _assigned(text: str, lowered: str, hint: str) -> Iterator[Secret]:
    """Values beside a name that points to a secret: in a .env file, in code, JSON or YAML, after a flag."""
    for word, (kind, _) in NAMES.items():
        if hint not in word:
            continue

        def read(at: int, word: str = word, kind: str = kind) -> Reading:
            end, before = at + len(word), _before(text, at)
            separator = _separator(text, end, before)
            trust = trusted(word, before, text[at:end]) if separator else None
            value = _value(text, separator, trust, env=text[at:end].isupper()) if separator and trust else None
            if not trust or not value:
                return at, ()
            start, stop, literal = value
            secret = not _cut(text, start, stop) and secretive(text[start:stop], trust, literal=literal)
            return stop, (Secret(kind, start, stop),) if secret else ()

        yield from _each(lowered, word, read)


def _before(text: str, at: int) -> str:
    """The name before its last word, and what stands before it. Searches colour what they found."""
    before = text[max(at - _BEFORE, 0) : at]
    return _COLOUR.sub("", before) if "[" in before else before


def _separator(text: str, at: int, before: str) -> re.Match[str] | None:
    """What stands between a name and its value."""
    found = _SEPARATOR.match(text, at)
    return found or (_FLAG.match(text, at) if before.rpartition(" ")[2].startswith("--") else None)


def _value(text: str, separator: re.Match[str], trust: Trust, *, env: bool) -> tuple[int, int, bool] | None:
    """Where the value that belongs to a name begins and ends, and whether only a literal value can stand there."""
    sign, at = separator["sign"], separator.end()
    literal = env and sign == "=" and not any(map(str.isspace, separator[0]))
    quoted = _QUOTED.match(text, at) or (literal and _PHRASE.match(text, at))
    if quoted:
        start, end = quoted.span(quoted.lastgroup or 0)
        return start, end, literal
    if separator["named"]:
        return None  # a bare value in JSON, such as a number: a mask in its place would break the JSON
    if trust == "guess" and sign not in ("", "="):
        return None  # PASS: test_one
    bare = (_LINE if literal else _BARE).match(text, at)
    return (*bare.span(), literal) if bare else None
