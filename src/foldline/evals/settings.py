"""What is asked of a run, and whether it can be had.

Settings ── check ──> InputError for a strategy or a budget that does not exist
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from foldline.errors import InputError
from foldline.evals import strategies
from foldline.evals.bench import REAL, is_budget
from foldline.evals.splits import CUTS, LEAST_PREFIX

DEFAULT_BUDGETS = ("2%", "5%", "10%", "25%", REAL)

Half = Literal["first", "second"]


@dataclass(frozen=True)
class Settings:
    """What is asked of a run. `names` are the strategies; () for all."""

    budgets: tuple[str, ...] = DEFAULT_BUDGETS
    names: tuple[str, ...] = ()
    cuts: int = CUTS
    seed: int = 0
    least: int = LEAST_PREFIX
    chains: bool = True
    replays: bool = True
    jobs: int = 0
    """Processes; 0: one for each core."""
    cache: Path | None = None
    half: Half | None = None
    """Only every other session, by digest: what is fitted on one half is reported on the other."""


def check(settings: Settings) -> None:
    """Raises InputError for a strategy or a budget that does not exist."""
    for budget in settings.budgets:
        if not is_budget(budget):
            raise InputError(f"{budget[:40]!r} is no budget; give a share (10%), tokens (4000, 4k) or {REAL}")
    known = strategies.known()
    for name in settings.names:
        if name not in known:
            raise InputError(f"there is no strategy {name!r}; there are: {', '.join(map(repr, sorted(known)))}")
