"""Figures over many rows: means, and how sure they are.

A session's cuts are averaged first, so that a session with many counts no more than one with few; sessions are then
drawn again and again, with replacement, and the middle 95 % of what comes out is the interval.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

RESAMPLES = 1_000
LOW, HIGH = 0.025, 0.975


class Figure(NamedTuple):
    """A mean with its interval, over so many sessions. Of one session there is no interval."""

    mean: float
    low: float | None
    high: float | None
    sessions: int

    @property
    def half(self) -> float | None:
        """Half of the interval's width."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def figure(rows: Sequence[Mapping[str, Any]], name: str, seed: int = 0) -> Figure | None:
    """One figure of some rows; None where no row has it."""
    means = _by_session(rows, name)
    if not means:
        return None
    values = [means[session] for session in sorted(means)]
    middle = sum(values) / len(values)
    if len(values) == 1:
        return Figure(middle, None, None, 1)
    drawn = sorted(_mean(draw, values) for draw in _draws(len(values), seed))
    return Figure(middle, drawn[int(LOW * RESAMPLES)], drawn[int(HIGH * RESAMPLES) - 1], len(values))


def difference(
    ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], name: str, seed: int = 0
) -> Figure | None:
    """How much more one strategy has of a figure than another, session by session."""
    one, other = _by_session(ours, name), _by_session(theirs, name)
    both = [{"session": session, "gap": one[session] - other[session]} for session in one.keys() & other.keys()]
    return figure(both, "gap", seed)


def _by_session(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, float]:
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.get(name) is not None:
            found[row["session"]].append(row[name])
    return {session: sum(values) / len(values) for session, values in found.items()}


_KNOWN: dict[tuple[int, int], list[list[int]]] = {}


def _draws(count: int, seed: int) -> list[list[int]]:
    """The same draws for every figure over so many sessions, so that figures can be compared."""
    if (count, seed) not in _KNOWN:
        draw = random.Random(seed)  # noqa: S311 - resampling, not a secret
        _KNOWN[count, seed] = [draw.choices(range(count), k=count) for _ in range(RESAMPLES)]
    return _KNOWN[count, seed]


def _mean(draw: Sequence[int], values: Sequence[float]) -> float:
    return sum(values[index] for index in draw) / len(draw)
