"""How far two lists are the same from their beginning: a conversation that grew, and itself before."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from foldline.model import Message

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
    return all(new is not None and _sent(old) and _sent(new) and old.role == new.role for old, new in there)


def _sent(message: Message) -> bool:
    """It is as it came, and nothing of ours."""
    return message.raw is not None
