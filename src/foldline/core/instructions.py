"""Compaction instructions that a project or a user wrote down: a section headed "Compact Instructions" or the like.

Sought in the user's own words and in memory files, never in what a tool printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from foldline.core.text import head
from foldline.core.usertext import own_words
from foldline.model import Message

LONGEST = 2_000
"""Characters of such a section that are passed on."""

_SECTION = re.compile(
    r"^(?P<marks>#{1,6})[ \t]+(?:compact|compaction|summary) instructions[ \t]*:?[ \t]*$\n(?P<text>(?:(?!#{1,6}[ \t]).*\n?)*)",
    re.I | re.M,
)


def compact_instructions(messages: Sequence[Message], memory_texts: Iterable[str] = ()) -> str:
    """The text of every such section, the memory files' first."""
    texts = [*memory_texts, *(own_words(message) for message in messages)]
    found = [match.group("text").strip() for text in texts for match in _SECTION.finditer(text)]
    return head("\n\n".join(filter(None, dict.fromkeys(found))), LONGEST)
