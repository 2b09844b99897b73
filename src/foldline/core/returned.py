"""Messages of our own making that come back as input: whose words they are.

A view may hold what repairs put into it: a tool's answer quoted under the user's role, a word that begins or goes on.
Callers who send the view again send these too, and then they look like the user's. They are told by their form, which
anyone may imitate: whoever does is taken for a tool or a program, and gains nothing by it.
"""

from __future__ import annotations

from dataclasses import replace

from foldline.core.mend import ORPHAN, SECOND
from foldline.core.repair import GO_ON, NOTHING_SAID, OPENING
from foldline.model import Message, Origin, Text

_OURS = frozenset({OPENING, NOTHING_SAID, GO_ON})
_QUOTES = tuple(label.partition("{id}")[0] for label in (ORPHAN, SECOND))
_END = ORPHAN.rpartition("\n")[2]


def attributed(message: Message) -> Message:
    """The message under its own origin, if it is one that a repair made; else as it is."""
    if message.role != "user" or message.origin is not Origin.USER or not message.text.startswith("["):
        return message
    texts = [part.text for part in message.parts if type(part) is Text]
    if all(text.startswith(_QUOTES) and text.endswith(_END) for text in texts):
        return replace(message, origin=Origin.TOOL)
    return replace(message, origin=Origin.PROGRAM) if message.text in _OURS else message
