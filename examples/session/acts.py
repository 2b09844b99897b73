"""The acts in their order: the long session, and the short one of the next morning, which is compacted on the way."""

from __future__ import annotations

from datetime import timedelta

from session import (
    act01_look,
    act02_money,
    act03_board,
    act04_api,
    act05_redis,
    act06_sqlite,
    act07_hayate,
    act08_stats,
    act09_speed,
    act10_locks,
    act11_review,
    act12_export,
    act13_next_day,
)
from session.perform import BEGIN, Beat, opening, perform
from session.stage import Shell

LONG = (
    *act01_look.ACT,
    *act02_money.ACT,
    *act03_board.ACT,
    *act04_api.ACT,
    *act05_redis.ACT,
    *act06_sqlite.ACT,
    *act07_hayate.ACT,
    *act08_stats.ACT,
    *act09_speed.ACT,
    *act10_locks.ACT,
    *act11_review.ACT,
    *act12_export.ACT,
)
SHORT = act13_next_day.ACT
NEXT_MORNING = BEGIN + timedelta(hours=23, minutes=14)


def sessions(shell: Shell) -> tuple[tuple[Beat, ...], tuple[Beat, ...]]:
    """The long session, and the short one that goes on where it stopped."""
    long, stage = perform(LONG, shell, opening())
    short, _ = perform(SHORT, shell, stage, NEXT_MORNING)
    return long, short
