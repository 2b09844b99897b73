"""Folds of folds: the same session folded once, three times and five times on its way to the same cut.

    chained(prefix, strategy, room, folds) ──> the last view

The session is dealt out in equal parts; after each the strategy folds what it left of the others, with the new part
behind it. Each fold has the same room. What is left after the last is scored like any view.
"""

from __future__ import annotations

import random
from itertools import accumulate

from foldline.core.history.cycles import inside, pair
from foldline.evals.splits import meter
from foldline.evals.strategies import Strategy
from foldline.model import Conversation

FOLDS = (1, 3, 5)


def chained(prefix: Conversation, strategy: Strategy, room: int, folds: int, draw: random.Random) -> Conversation:
    """The view after so many folds, where `can` says that there are so many parts."""
    fold = strategy.start()
    view, done = prefix.with_messages(()), 0
    for stop in stages(prefix, folds):
        view = fold(view.append(*prefix.messages[done:stop]), room, draw)
        done = stop
    return view


def stages(prefix: Conversation, folds: int) -> list[int]:
    """Where the parts end: as near as can be to equal numbers of tokens, never inside a tool cycle, the last at the
    end."""
    legal = _legal(prefix)
    sums = [0, *accumulate(map(meter().message, prefix.messages))]
    stops, first = list[int](), 0
    for number in range(1, folds):
        open_to = range(first, len(legal) - (folds - 1 - number))  # each part behind it needs a place as well
        best = min(open_to, key=lambda at: abs(sums[legal[at]] - sums[-1] * number / folds))
        stops.append(legal[best])
        first = best + 1
    return [*stops, len(prefix.messages)]


def can(prefix: Conversation, folds: int) -> bool:
    """It has so many parts: a prefix of a few messages, or of one long tool cycle, may not."""
    return len(_legal(prefix)) >= folds - 1


def _legal(prefix: Conversation) -> list[int]:
    """Where a part may end: between two messages, outside every tool cycle."""
    closed = inside((cycle.start, cycle.stop) for cycle in pair(prefix.messages, prefix.grammar).cycles)
    return [at for at in range(1, len(prefix.messages)) if at not in closed]
