"""Which of the options that the assistant offered an answer takes: "B" says nothing without them.

    "B, please", "A) wait\nB) push now" ── taken ──> "B) push now"

Options are lines that begin with a letter or a number. Whether the answer agrees to anything is not judged here.
"""

from __future__ import annotations

import re

from foldline.core.words.text import ends

LONGEST = 240
"""Characters of all quoted options together; a long option is quoted by its beginning and its end."""
MOST = 5
"""Options that one answer can take at most."""
FEWEST = 2
"""A choice has at least so many options."""

_ENDS = r"(?=[).:,;!]|\s*$|\s+(?:please|pls|is|and|then|sounds|looks|but|it|first|for|or|[-–—+&])(?:\s|$|[,.;!]))"
"""What follows a letter or number that names an option, unlike "a few" or "1 more"."""
_TAKES = re.compile(
    r"(?:^\W{0,3}|#|(?<!not\s)(?<!n't\s)\b(?i:options?|choice|number|variant|do|with|think|take|pick|choose|prefer|and)\s+)"
    rf"(?P<name>[A-H]{_ENDS}|[a-h](?=\))|\d{{1,2}}{_ENDS})"
)
_FIRST = ("1", "A", "a")
"""How a list of options begins."""
_NUMBER = re.compile(r"\d+")
_SEVERAL = re.compile(
    r"^\W{0,3}(?:(?:please|let's|just|only|skip|do|fix|take|pick|choose|apply|address|drop|leave|start with|go with|"
    r"options?|items?|numbers?|points?)\s+){0,3}(?P<names>#?\d{1,2}(?:(?:\s*,\s*(?:and\s+)?|\s+(?:and|&)\s+)#?\d{1,2})+)"
    r"(?=\W*$|[.,;:!]|\s+(?:and|then|but|now|please|first)\b)",
    re.I,
)
"""Several options by their numbers, at the beginning of an answer: elsewhere numbers are lines or days."""
_OPTION = re.compile(
    r"^[ \t]*(?:[-*+•>]\s+|#{1,6}\s+|\|\s*)?(?:\*\*|__)?\(?(?:#|(?:[Oo]ption|[Cc]hoice|[Aa]pproach)\s+)?"
    r"(?P<name>[A-Ha-h]|\d{1,2})(?:\*\*|__)?(?:[).:]|\s+[-–—|](?=\s))(?P<says>.*\S)",
    re.M,
)

_PUTS = re.compile(
    r"\b(?:want(?: me)? to|(?:would|do) you|prefer|options|choices|choose|pick|either|(?:you|we|i) could)\b[^\n]{0,120}"
    r":[*_ \t]*$",
    re.I,
)
"""A line that puts a choice to the user without a question mark."""
_PICKS = re.compile(
    r"\W*(?:(?:ok(?:ay)?|yes|yeah|then|please|let's|lets|just|i'd|i)\W+){0,3}"
    r"(?:(?:(?:do|take|pick|choose|prefer|option|number|(?:go|stick) (?:with|for))\s+){1,2}#?(?:[A-H]|\d{1,2})\b|"
    r"#?(?:[A-H]|\d{1,2})\W*$)",
    re.I,
)
"""How an answer begins that can only mean one of the options."""


def put(text: str, answer: str) -> str:
    """The options at the end of a text, if it puts them to the user without a question and the answer begins by
    taking one; else ""."""
    if not _PICKS.match(answer):
        return ""
    options = list(_OPTION.finditer(text))
    first = next((at for at in range(len(options) - 1, -1, -1) if options[at]["name"] in _FIRST), 0)
    if len(options) - first < FEWEST or "\n\n" in text[options[-1].end() :].rstrip():
        return ""
    lead = text[: options[first].start()].rstrip().rpartition("\n")[2]
    return text[options[first].start() :] if _PUTS.search(lead) else ""


def names_several(answer: str) -> bool:
    """The answer begins with the numbers of several options: it can mean nothing else, even if nothing was asked."""
    return _SEVERAL.match(answer) is not None


def taken(answer: str, offered: str) -> str:
    """The options that the answer names, as they were offered; "" where it names none."""
    named = [(found.start("name"), found["name"].upper()) for found in _TAKES.finditer(answer)]
    if several := _SEVERAL.match(answer):
        named += [(found.start(), found.group()) for found in _NUMBER.finditer(answer, *several.span("names"))]
    if not named:
        return ""
    wanted = dict.fromkeys(name for _, name in sorted(named))
    options = {found["name"].upper(): _plain(found.group()) for found in _OPTION.finditer(offered)}
    shown = [options[name] for name in wanted if name in options][:MOST]
    return "; ".join(ends(option, LONGEST // len(shown)) for option in shown)


def _plain(option: str) -> str:
    """The option without its bullet and bold type."""
    return option.replace("**", "").replace("__", "").lstrip("-*+•>#| \t")
