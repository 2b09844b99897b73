"""Folds of folds: the same session folded once, three times and five times on its way to the same cut.

    chained(split, strategy, room, folds) ──> the last view

The session is dealt out in equal parts; after each the strategy folds what it left of the others, with the new part
behind it. Each fold has the same room. What is left after the last is scored like any view.
"""

from __future__ import annotations

import random

from foldline.core.cycles import inside, pair
from foldline.evals.splits import Split, meter
from foldline.evals.strategies import Strategy
from foldline.model import Conversation

FOLDS = (1, 3, 5)


def chained(split: Split, strategy: Strategy, room: int, folds: int, draw: random.Random) -> Conversation:
    """The view after so many folds."""
    fold = strategy.start()
    view, done = split.prefix.with_messages(()), 0
    for stop in stages(split.prefix, folds):
        view = fold(view.append(*split.prefix.messages[done:stop]), room, draw)
        done = stop
    return view


def stages(prefix: Conversation, folds: int) -> list[int]:
    """Where the parts end: at about equal numbers of tokens, never inside a tool cycle, the last at the end."""
    messages = prefix.messages
    closed = inside((cycle.start, cycle.stop) for cycle in pair(messages, prefix.grammar).cycles)
    whole = sum(map(meter().message, messages))
    stops, seen = list[int](), 0
    for at, message in enumerate(messages):
        if at not in closed and seen >= whole * (len(stops) + 1) / folds and len(stops) < folds - 1:
            stops.append(at)
        seen += meter().message(message)
    return [*stops, len(messages)]
