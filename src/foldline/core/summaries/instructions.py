"""Compaction instructions that a project or a user wrote: a section of that name, or "When compacting, keep …".

    messages, memory files ── compact_instructions ──> text for the request

They are sought in the user's own words and in memory files, also where coding agents send these along, never in what a
tool printed or a model wrote. What they say goes into a request as a quotation; whether to obey is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from foldline.core.said.usertext import guide_in, guides, own_words
from foldline.core.words.markup import fenced
from foldline.core.words.text import head
from foldline.model import Message, Origin

LONGEST = 2_000
"""Characters of all such sections together: more would crowd out the request they belong to."""

LONGEST_PARAGRAPH = 20
"""Lines of a sentence that is such an instruction, with the list below it."""

_BORDER = re.compile(
    r"^[ \t]*(?:</?(?:system-reminder|INSTRUCTIONS|user_instructions)>|Contents of [^\n]{1,500}:|"
    r"IMPORTANT: this context may or may not[^\n]*)[ \t\r]*$",
    re.M,
)
"""Lines that a coding agent puts around the project's files."""
_HEADING = re.compile(
    r" {0,3}(?:(?P<marks>#{1,6})[ \t]+(?P<title>\S.{0,200})|\*\*(?P<bold>[^*\n]{1,200})\*\*:?[ \t\r]*)$", re.S
)
BOLD = 7
"""The level of a heading that is only in bold type: it ranks below all others."""
_TITLE = re.compile(
    r"\W*(?:\d{1,3}[.)] )?\W*"
    r"(?:(?:compact(?:ion|ing)?|summary|summari[sz](?:ation|ing)) instructions?|when compacting)\W*",
    re.I,
)
_WHEN = re.compile(
    r" {0,3}(?P<mark>(?:[-*+]|\d{1,3}[.)])[ \t]+)?\**when (?:you(?: are|['’]re)? )?"
    r"(?:compact(?:ing)?(?: (?:the|this|our) (?:conversation|context|session|history))?|"
    r"summari[sz](?:e|ing) (?:the|this|our) (?:conversation|context|session|history))\**[,:]",
    re.I,
)
"""How a sentence begins that is such an instruction by itself, as the manuals of coding agents recommend."""


def compact_instructions(
    messages: Sequence[Message], memory_texts: Iterable[str] = (), shown: Callable[[str], str] = str
) -> str:
    """All such sections as they are `shown`, the memory files' first. Where they are too long the latest are kept, and
    the text says how many are left out."""
    said = [message for message in messages if message.origin is Origin.USER]
    sent = (_BORDER.sub("# -", guide_in(message).text) for message in messages if guides(message))
    texts = (*memory_texts, *sent, *filter(None, map(own_words, said)))
    newest = list(dict.fromkeys(reversed([shown(section) for text in texts for section in _sections(text)])))
    kept, room = list[str](), LONGEST
    for section in newest:
        if room > 0:
            kept.append(_shortened(section, room))
        room -= len(section)
    left = [f"({len(newest) - len(kept)} older sections left out)"] if len(kept) < len(newest) else []
    return "\n\n".join((*left, *reversed(kept)))


def _shortened(section: str, room: int) -> str:
    first = head(section, room)
    return section if len(first) == len(section) else f"{first} … ({len(section) - len(first):,} more characters)"


def _sections(text: str) -> Iterator[str]:
    """The text under each such heading, up to the next heading of its level; and each such sentence outside of these.
    A line of code is neither."""
    lines = text.split("\n")
    level, section = 0, list[str]()
    for at, (line, inside) in enumerate(zip(lines, fenced(lines), strict=True)):
        heading = None if inside else _HEADING.match(line)
        depth = len(heading["marks"] or "") or BOLD if heading else 0
        if heading and (not level or depth <= level):
            yield from filter(None, ["\n".join(section).strip()])
            section = []
            level = depth if _TITLE.fullmatch(heading["title"] or heading["bold"]) else 0
        elif level:
            section.append(line)
        elif not inside and (when := _WHEN.match(line)):
            yield "\n".join(_paragraph(lines, at, is_item=when["mark"] is not None))
    yield from filter(None, ["\n".join(section).strip()])


def _paragraph(lines: Sequence[str], at: int, *, is_item: bool) -> Iterator[str]:
    """A line and what goes on from it: up to an empty line or a heading, and in a list up to the next item."""
    yield lines[at].strip()
    for line in lines[at + 1 : at + LONGEST_PARAGRAPH]:
        if not line.strip() or _HEADING.match(line) or (is_item and not line[0].isspace()):
            return
        yield line.rstrip()
