"""Which section of a style a line opens, by whatever name, number or mark a model gives the heading.

    line, style ── opens ──> HeadingLine (heading, what follows on the line) or None
    text, style ── with_marks ──> the text with its underlined headings as headings by mark
                ── by_order ──> the text with the style's own titles, where it has others for the same headings

Headings by mark (`## Goal`, `**Goal**`) are always looked for; labels (`Goal: …`) only where a text has no `#` at all,
for the same words also begin ordinary lines. Underlined headings are looked for where a text has none by mark.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from foldline.core.summaries.styles import Heading, Style, plain
from foldline.core.words.markup import fenced

LONGEST = 120
"""Characters of a heading at most: what is longer is prose."""
SPARE_WORDS = 2
"""Words that a heading may have besides those of the section it means."""

_MARKED = re.compile(r" {0,3}(?:#{1,6}[ \t\xa0]+|#{2,6}(?!#))(?P<title>\S.*)", re.S)
_BOLD = re.compile(r" {0,3}(?:\d{1,2}[.)][ \t]+)?\*\*(?P<title>[^*]{1,120})\*\*:?[ \t\r]*$")
_BEFORE_TEXT = re.compile(r"(?P<colon>[:：])|[ \t]+[-–—][ \t]+")
_LABEL = re.compile(
    r" {0,3}(?:\d{1,2}[.)][ \t]+|[-*+•][ \t]+(?=\*\*))?(?:\*\*)?(?P<title>[A-Z][A-Za-z&' ]{2,60})(?:\*\*)?:"
    r"(?:\*\*)?(?P<text>.*)",
    re.S,
)
_HEADING = re.compile(r" {0,3}(?P<marks>#{2,6})[ \t\xa0]+(?P<title>\S.*)")
_LETTER_ABROAD = re.compile(r"[^\W\d_a-zA-Z]")
"""A letter that English does not have. Of ten titles in another language at least one nearly always has one."""
_UNDERLINE = re.compile(r" {0,3}(?:-{2,}|={2,})[ \t\r]*")
UNDERLINED = 2
"""Sections from which underlined lines are headings: one alone may be a line of text above a rule."""


class HeadingLine(NamedTuple):
    """The section a line opens, and the text that follows the heading on it."""

    heading: Heading
    text: str = ""


def opens(line: str, style: Style, *, loose: bool = False) -> HeadingLine | None:
    """The section that begins on this line, if one does. With `loose`, a bare label is enough."""
    marked = _MARKED.match(line)
    if marked:
        return _marked(marked["title"], style)
    bold = _BOLD.match(line)
    if bold:
        return _marked(bold["title"], style) if named(bold["title"], style) else None
    label = _LABEL.match(line) if loose else None
    return _opened(named(label["title"], style), label["text"]) if label else None


def _marked(title: str, style: Style) -> HeadingLine | None:
    """The section that a whole title means, or what stands before a colon or a dash in it: then the rest is text."""
    heading, mark = _by_name(title, style), _BEFORE_TEXT.search(title)
    if heading is None and mark:
        name, text = title[: mark.start()], title[mark.end() :].strip()
        before = named(name, style) if mark["colon"] else _by_name(name, style)
        if before:
            return HeadingLine(before, text.removesuffix("**") if name.count("**") == 1 else text)
    return _opened(heading or named(title, style))


def _opened(heading: Heading | None, text: str = "") -> HeadingLine | None:
    return HeadingLine(heading, text.strip()) if heading else None


def named(title: str, style: Style) -> Heading | None:
    """The section a title means: by its name, by another name, or by having all the words of a name and few others."""
    found = _by_name(title, style)
    if found or len(title) > LONGEST:
        return found
    words = set(plain(title).split()) - {"and"}
    for wanted, heading in style.words:
        if wanted <= words and len(words) <= len(wanted) + SPARE_WORDS:
            return heading
    return None


def _by_name(title: str, style: Style) -> Heading | None:
    return style.names.get(plain(title)) if len(title) <= LONGEST else None


def with_marks(text: str, style: Style) -> str:
    """The text with `## Goal` for each `Goal` above a line of dashes, where it has no headings by mark but for sections
    that stand inside others: there is no underline for these. The line has to be a section's name and nothing else."""
    if "--" not in text and "==" not in text:
        return text
    lines = text.split("\n")
    inside = fenced(lines)
    found = dict[int, Heading]()
    for at, line in enumerate(lines):
        if inside[at]:
            continue
        opened = opens(line, style)
        if opened and not opened.heading.under:
            return text
        heading = _by_name(line, style) if at + 1 < len(lines) and _UNDERLINE.fullmatch(lines[at + 1]) else None
        if heading:
            found[at] = heading
    if len({heading.key for heading in found.values()}) < UNDERLINED:
        return text
    shown = (f"## {line.strip()}" if at in found else line for at, line in enumerate(lines) if at - 1 not in found)
    return "\n".join(shown)


def by_order(text: str, style: Style) -> str:
    """The text with the titles that were asked for, where a model wrote them in another language: it has exactly the
    headings of the form, on their levels, and none that is known in another's place. Else the text as it is: headings
    in English are the model's own, in an order of its own, even if they are as many."""
    lines = text.split("\n")
    outside = [(at, line) for at, (line, code) in enumerate(zip(lines, fenced(lines), strict=True)) if not code]
    levels = [3 if heading.under else 2 for heading in style.headings]
    marked = ((at, _HEADING.fullmatch(line)) for at, line in outside)
    found = {at: heading for at, heading in marked if heading and len(heading["marks"]) <= max(levels)}
    if [len(heading["marks"]) for heading in found.values()] != levels:
        return text
    wanted = dict(zip(found, style.headings, strict=True))
    known = {at: opened.heading for at, line in outside if (opened := opens(line, style))}
    if not known.items() <= wanted.items() or 2 * len(known) >= len(wanted):
        return text
    foreign = {at: heading for at, heading in found.items() if at not in known}
    if not any(_LETTER_ABROAD.search(heading["title"]) for heading in foreign.values()):
        return text
    for at, heading in foreign.items():
        lines[at] = f"{heading['marks']} {wanted[at].title}"
    return "\n".join(lines)
