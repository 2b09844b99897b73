"""How far two lists are the same from their beginning: a conversation that grew, and itself before."""

from __future__ import annotations

from typing import Any

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
