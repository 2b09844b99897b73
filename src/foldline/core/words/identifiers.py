"""Names that can be looked up: paths, symbols, hashes, addresses, long numbers; and whether a source has them.

    line ── identifiers ──> names ── Source.has ──> known there or not;  line ── Source.lacks ──> invented or not

Names that everyone knows (JavaScript, Node.js) and words joined by a slash (and/or) are not looked up. Letters of
scripts that put no blank beside a name are no part of it, neither in a line nor in a source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property

_EXTENSIONS = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|md|rst|json|jsonl|toml|ya?ml|sql|sh|txt|"
    "html|css|scss|vue|lock|cfg|ini|env|log|csv|xml|proto|ipynb|db"
)
_IDENTIFIER = re.compile(
    r"(?P<url>https?://[^\s)>\]\"'`“”\u3000-\u303f\uff00-\uff65]+)"
    r"|(?P<folder>(?<!\w)[A-Za-z]:(?:\\{1,2}[\w.$-]+)+)"
    r"|(?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<path>(?<![\w.@+~:/-])(?:~|[\w.@+-]+)?(?:/[\w.@+-]+)+)"
    rf"|(?P<file>(?<![\w./-])[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})(?![\w-]))"
    r"|(?P<symbol>(?<!\w)_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+(?!\w)"
    r"|(?<!\w)[a-z]+(?:[A-Z][a-z0-9]+)+(?!\w)|(?<!\w)[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+(?!\w)"
    r"|(?<![\w.()])[A-Za-z_]\w{2,60}(?=\(\))|(?<![\w-])--[a-z][\w-]{2,})"
    r"|(?P<ticket>(?<![\w/-])[A-Z]{2,10}-\d{1,6}(?![\w-]|\.\d))"
    r"|(?P<hash>(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?!\w))"
    r"|(?P<number>(?<![\w.,])(?:\d{1,3}(?:(?:,\d{3}){1,9}|(?:['’_]\d{3}){1,9}|(?: \d{3}){2,9}|(?:\.\d{3}){2,9})|"
    r"\d{4,40})"
    r"(?!\w|\.\d))"
    r"|(?P<dotted>(?<![\w.,:/#-])\d{1,5}(?:\.\d{1,5}){2,3}(?![\w-]|[.,]\d))"
    r"|(?P<decimal>(?<![\w.,:/#-])\d{1,12}\.\d{1,12}(?![\w-]|[.,:/]\d))"
)
_PLACE = re.compile(
    r"(?:^[^\w]*|\b(?:step|section|phase|task|part|item|chapter|point|version|python|node|§)\s*)$", re.I
)
"""What stands before the number of a section or of a program's version: such a number is not looked up."""
_DECIMAL = re.compile(r"(?<![\w.])\d{1,12}\.\d{1,12}(?!\d)")
_FAMOUS = """
javascript typescript github gitlab bitbucket pytorch numpy tensorflow devops youtube linkedin wordpress powershell
websocket websockets jetbrains camelcase pascalcase snake_case dataframe node.js next.js vue.js nuxt.js react.js
express.js three.js d3.js chart.js openai deepmind postgres macos iphone ipad ebay
"""
_KNOWN = frozenset(_FAMOUS.split())
"""Names that are written like identifiers and known to everyone: a summary may say JavaScript where the source says
JS."""
_FOLDERS = """
src lib app apps test tests docs packages pkg cmd internal bin etc usr var tmp home opt
"""
_ROOTS = frozenset(_FOLDERS.split())
"""First folders that tell a path of bare words from words joined by a slash."""
_PREFIXES = """
UTF UCS SHA MD ISO RFC PEP AES RSA HMAC GPT ES ECMA IEEE ARM HTTP TLS SSL ASCII BASE LATIN CP MIT GPL LGPL BSD IPV USB
EC DDR COVID MP PR MR TASK PHASE STEP PART ITEM ROUND TEST DAY WEEK LEVEL TIER TOP
"""
_STANDARDS = frozenset(_PREFIXES.split())
"""Letters that before a number name a standard or an item of a list, not a ticket: UTF-8, SHA-256, PR-12."""
LOOK_BACK = 40
"""Characters before a decimal in which `_PLACE` is sought."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u31ff\u3400-\u9fff\uac00-\ud7ff"
    r"\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff]"
)
"""Letters of Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean."""
_APART = re.compile(rf"{_UNSPACED}(?<!\d[十百千万萬亿億兆만억조]){_UNSPACED}*/?")
"""What parts names as a line end does. It does not begin with a sign that makes the number before it greater, and a
slash behind it is the one between two words."""


def identifiers(text: str) -> Iterator[tuple[str, str]]:
    """The kind of each name in a text, and the name."""
    text = _apart(text)
    for match in _IDENTIFIER.finditer(text):
        kind, name = str(match.lastgroup), match.group().rstrip(".,:;/-")
        if kind in ("decimal", "dotted"):
            if not _PLACE.search(text[max(match.start() - LOOK_BACK, 0) : match.start()].rpartition("\n")[2]):
                yield kind, name
        elif len(name) > 3 and name.casefold() not in _KNOWN and not _ordinary(kind, name):
            yield kind, name


def _apart(text: str) -> str:
    """The text without the letters that are no part of a name."""
    return text if text.isascii() else _APART.sub("\n", text)


def _ordinary(kind: str, name: str) -> bool:
    """It is no identifier: a year, words joined by a slash, the name of a standard."""
    if kind == "path":
        return name[0] not in "/~." and not re.search(r"[._]", name) and name.split("/")[0] not in _ROOTS
    if kind == "ticket":
        return name.partition("-")[0] in _STANDARDS
    return kind == "number" and _YEAR.fullmatch(name) is not None


class Source:
    """A text in which names are looked up, as whole words, whatever their case."""

    def __init__(self, text: str) -> None:
        self._given = text

    @cached_property
    def _text(self) -> str:
        return _apart(self._given).casefold()

    @cached_property
    def _decimals(self) -> frozenset[str]:
        return frozenset(_DECIMAL.findall(self._text))

    def lacks(self, line: str) -> bool:
        """The line is invented: the source lacks a place or number in it, or most of its names."""
        names = list(identifiers(line))
        absent = [kind for kind, name in names if not self.has(kind, name)]
        return any(kind != "symbol" for kind in absent) or 2 * len(absent) > len(names)

    def has(self, kind: str, name: str) -> bool:
        """The source has the name. It may have a path in pieces, a longer form of a hash, a number in groups, or a
        decimal with more places."""
        if kind == "path":
            return self._stands(name) or all(map(self._stands, filter(lambda step: step.strip("~."), name.split("/"))))
        if kind == "number":
            digits = re.sub(r"\D", "", name)
            grouped = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", digits)
            return any(self._stands(form) for form in (digits, *(grouped.replace(",", sign) for sign in ",_ '.’")))
        if kind == "folder":
            return all(map(self._stands, filter(None, name.split("\\")[1:])))
        if kind == "ticket":
            return any(self._stands(name.replace("-", sign)) for sign in ("-", " ", ""))
        if kind == "decimal":
            return name in self._decimals or any(_rounds_to(other, name) for other in self._decimals)
        return self._stands(name, glued=kind == "url", prefix=kind == "hash")

    def _stands(self, name: str, *, glued: bool = False, prefix: bool = False) -> bool:
        """The text has the name as a whole: as the end of a word if `glued`, as its beginning if `prefix`."""
        name = name.casefold()
        at = self._text.find(name)
        while at >= 0:
            after = self._text[at + len(name) : at + len(name) + 1]
            if (glued or not _joins(self._text[at - 1 : at], name[0])) and (prefix or not _joins(after, name[-1])):
                return True
            at = self._text.find(name, at + 1)
        return False


def _rounds_to(number: str, name: str) -> bool:
    """The number rounds to this name: a summary may give fewer places than its source."""
    places = len(name.partition(".")[2])
    return abs(Decimal(number) - Decimal(name)) <= Decimal(5).scaleb(-places - 1)


def _joins(outer: str, inner: str) -> bool:
    """The two characters belong to one word."""
    return all(character.isalnum() or character == "_" for character in (outer or " ", inner))
