"""Lines of a summary that nobody is known to have said, set aside among its other notes under a warning.

    summary, lines ── with_hearsay ──> the summary with them;  text ── set_aside ──> the lines found there, bare

Which lines those are is decided in the audit. A line that was set aside stays there: it does not count as a tool's when
it comes again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from foldline.core.summaries.summary import Summary
from foldline.core.words.markup import bare
from foldline.core.words.plainly import plainly

HEARSAY = "Unconfirmed: nobody in the conversation is known to have said this. Make sure before you act on it."
"""The warning above the lines that are set aside."""
_MARK = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?")
MOST = 400
"""Lines of one such list that are recognised again at most."""


def with_hearsay(summary: Summary, lines: Sequence[str]) -> Summary:
    """The summary with these lines among the other notes, behind what was set aside before; none stands there twice."""
    notes = summary.get("")
    there = frozenset(set_aside(notes))
    marked = dict.fromkeys(_MARK.sub("- ", line, count=1) for line in lines)
    items = [item for item in marked if bare(plainly(item)) not in there]
    if not items:
        return summary
    _, warning, earlier = notes.rpartition(HEARSAY)
    is_last = bool(warning) and all(line.startswith("- ") for line in earlier.lstrip("\n").split("\n"))
    return summary.with_section("", "\n".join(filter(None, (notes, "" if is_last else HEARSAY, *items))))


def set_aside(text: str) -> Iterator[str]:
    """The lines that an earlier audit set aside: they were neither confirmed nor found to be a tool's."""
    for block in text.split(HEARSAY)[1:]:
        lines = block.lstrip("\n").split("\n", MOST)[:MOST]
        yield from (bare(plainly(line)) for line in takewhile(lambda line: line.startswith("- "), lines))
