"""How far two lists are the same from their beginning: a conversation that grew, and itself before."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import Any

from foldline.model import EMPTY, Message, Part, Text, ToolResult

BLOCK = 256
"""Items compared at once, in C."""


def shared(old: tuple[Any, ...], new: tuple[Any, ...]) -> int:
    """How many items both begin with. Items are compared by identity first."""
    most = min(len(old), len(new))
    at = 0
    while at < most and old[at : at + BLOCK] == new[at : at + BLOCK]:
        at += BLOCK
    while at < most and (old[at] is new[at] or old[at] == new[at]):
        at += 1
    return min(at, most)


def goes_on(last: tuple[Message, ...], now: tuple[Message, ...]) -> bool:
    """The later view begins with the last one, but for what the client itself sends otherwise, such as cache marks."""
    at = shared(last, now)
    there = zip_longest(last[at:], now[at : len(last)])
    return all(new is not None and (old == new or _sent_otherwise(old, new)) for old, new in there)


def _sent_otherwise(old: Message, new: Message) -> bool:
    """Both are as they came; or both are ours, such as stubs, and only their marks differ."""
    if old.role != new.role or (old.raw is None) != (new.raw is None):
        return False
    return old.raw is not None or _unmarked(old) == _unmarked(new)


def _unmarked(message: Message) -> tuple[Part, ...]:
    """The parts without a client's further fields of them."""
    return tuple(replace(part, extra=EMPTY) if isinstance(part, Text | ToolResult) else part for part in message.parts)
