"""Pruning a view without touching what is pinned. What a stub is, and when it pays, is in prune.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from foldline.core.prune import Pruned, PruneSettings, prune
from foldline.model import Message

NEVER = 1 << 62
"""No batch frees so many characters, so only what the plan names is stubbed."""


def stubbed(
    view: Sequence[Message], settings: PruneSettings, plan: frozenset[str], pinned: Iterable[Message] = ()
) -> Pruned:
    """The view with its old bulky results as stubs. Pinned messages stay unchanged."""
    if settings.worthwhile == NEVER and not plan:
        return Pruned(tuple(view))
    pruned = prune(view, settings, plan)
    spared = {id(message) for message in pinned}
    touched = {stub.message for stub in pruned.stubs if id(view[stub.message]) in spared}
    if not touched:
        return pruned
    kept = tuple(stub for stub in pruned.stubs if stub.message not in touched)
    gone = {stub.key for stub in pruned.stubs if stub.message in touched}
    messages = tuple(view[at] if at in touched else message for at, message in enumerate(pruned.messages))
    return replace(
        pruned, messages=messages, plan=pruned.plan - gone, stubs=kept, freed=sum(stub.removed for stub in kept)
    )


def only(settings: PruneSettings) -> PruneSettings:
    """The settings under which only what the plan names becomes a stub."""
    return replace(settings, worthwhile=NEVER)
