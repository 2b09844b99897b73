"""A run: every strategy at every cut and budget of the sessions that are found, on all cores.

    paths ── survey ── sampled ──> Sample ── strategies ──> Run (rows, what was left out and why)

Each session is one piece of work; which are scored is chosen in sample.py. Rows are the same whatever the order of the
paths, the number of processes and what was cached; chance depends on the seed and the split alone. Plug-ins run in the
processes of the pool, never in this one; these end with it, and write nothing to stdout. Figures over many rows are
made in stats.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from foldline.errors import InputError
from foldline.evals import strategies
from foldline.evals.bench import FAILED, REAL, Bench, Row, is_number, tried
from foldline.evals.cache import Cache
from foldline.evals.metrics import World
from foldline.evals.pool import Pool, Progress, at
from foldline.evals.replay import manners, replays
from foldline.evals.sample import sampled, survey
from foldline.evals.settings import DEFAULT_BUDGETS, Settings, check
from foldline.evals.splits import Place, Session, files, load, splits
from foldline.evals.strategies import PLACEBO, Strategy, ruler_version

NEEDS_ANOTHER = "the placebo is another session's text, and there is no other session"


@dataclass(frozen=True)
class Run:
    """Everything measured, and what was not: files that could not be read, sessions too short. A row in which a plug-in
    failed has the reason under `failed`, and no scores."""

    rows: tuple[Row, ...]
    replays: tuple[Row, ...] = ()
    sessions: int = 0
    splits: int = 0
    held_out: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    settings: Settings = field(default_factory=Settings)
    notes: tuple[str, ...] = ()
    """What else there is to say: a cache that cannot be written, a plug-in that does not load."""


@dataclass(frozen=True)
class _Part:
    """What one session gave."""

    rows: list[Row]
    fault: str = ""
    """Why rows could not be kept."""


def run(paths: Sequence[Path], settings: Settings, progress: Progress = lambda *_: None) -> Run:
    """Measures. Raises InputError when there is nothing to measure."""
    check(settings)
    found = files(paths)
    if not found:
        raise InputError(f"there is no file in {', '.join(map(str, paths))}; name transcripts, or a folder of them")
    with Pool(settings.jobs or os.cpu_count() or 1) as pool:
        faults = _usable(pool.gathered(_faults, [(settings.names,)])[0], settings.names)
        surveys = pool.gathered(survey, [(path, settings) for path in found], progress, "reading")
        sample = sampled([each for inside in surveys for each in inside], settings)
        todo = zip(sample.scored, sample.others, strict=True)
        work = [(each.place, sample.names[each.place], other, sample.world, settings) for each, other in todo]
        parts: list[_Part] = pool.gathered(_scored, work, progress, "scoring")
    rows = sorted((row for part in parts for row in part.rows), key=_order)
    alone = None in sample.others
    if not rows:
        raise InputError(_no_rows(settings, alone))
    return Run(
        tuple(row for row in rows if "replay" not in row),
        tuple(row for row in rows if "replay" in row),
        len(sample.scored),
        len({(row["session"], row["at"]) for row in rows if "at" in row}),
        tuple(sample.names[each.place] for each in sample.held),
        sample.short,
        settings,
        tuple(_notes(rows, settings, faults, alone, [part.fault for part in parts if part.fault])),
    )


def _notes(
    rows: Sequence[Row], settings: Settings, faults: Mapping[str, str], alone: bool, unkept: Sequence[str]
) -> Iterator[str]:
    for name, fault in faults.items():
        yield f"the strategy {name!r} does not load, and was left out: {fault}"
    if alone and PLACEBO in settings.names:
        yield NEEDS_ANOTHER
    for budget in idle(rows, settings):
        yield f"the budget {budget} applies at no cut"
    for fault in unkept[:1]:
        yield f"{fault}; they will be measured again"


def idle(rows: Sequence[Row], settings: Settings) -> list[str]:
    """The budgets that were asked for and applied at no cut. Nobody asks for those that come unasked."""
    used = {row.get("budget") for row in rows}
    asked = () if settings.budgets == DEFAULT_BUDGETS else settings.budgets
    return [budget for budget in asked if budget not in used]


def _faults(names: tuple[str, ...]) -> dict[str, str]:
    """The plug-ins that do not load, and why."""
    return {name: strategy.fault for name, strategy in strategies.strategies(names).items() if strategy.fault}


def _usable(faults: dict[str, str], asked: Sequence[str]) -> dict[str, str]:
    """The same, when none of them was asked for."""
    for name in asked:
        if name in faults:
            raise InputError(f"the strategy {name!r} does not load: {faults[name]}")
    return faults


def _no_rows(settings: Settings, alone: bool) -> str:
    """Why nothing was measured at any cut."""
    if alone and settings.names == (PLACEBO,):
        return NEEDS_ANOTHER
    return (
        f"no budget of {', '.join(settings.budgets)} applies at any cut: a budget is less than the whole history, "
        f"and {REAL} needs sessions that were compacted"
    )


@lru_cache(maxsize=2)
def _loaded(place: Place, name: str = "") -> Session:
    return load(place, name)


def _scored(place: Place, name: str, other: Place | None, world: World, settings: Settings) -> _Part:
    """All rows of one session."""
    session = _loaded(place, name)
    chosen = [strategy for strategy in strategies.strategies(settings.names).values() if not strategy.fault]
    if other is not None and (not settings.names or PLACEBO in settings.names):
        chosen.append(strategies.placebo(_loaded(other).whole))
    cache = Cache(settings.cache)
    rows: list[Row] = []
    for split in splits(session, settings.cuts, settings.seed, settings.least):
        bench = Bench(split, world, settings.seed, cache)
        for strategy in chosen:
            at(f"{strategy.name!r} in {name}")
            rows += bench.rows(strategy, settings.budgets)
            rows += bench.chains(strategy) if settings.chains and _honest(strategy) else ()
        at(f"the agent's own summary in {name}")
        rows += bench.real() if REAL in settings.budgets else ()
    for strategy in filter(_honest, chosen if settings.replays else ()):
        at(f"the cost of {strategy.name!r} in {name}")
        rows += _replayed(session, strategy, settings, cache)
    at("")
    return _Part(rows, cache.fault)


def _honest(strategy: Strategy) -> bool:
    """One that somebody would use, and that keeps to a budget."""
    return strategy.sized and strategy.kind in ("ours", "baseline", "plugin")


def _replayed(session: Session, strategy: Strategy, settings: Settings, cache: Cache) -> list[Row]:
    depends = ("replay", session.digest, strategy.name, strategy.version, settings.seed, ruler_version())
    names = manners(strategy)
    costs: Mapping[str, Any] = (cache.get(*depends) or {}).get("costs", {})
    if not isinstance(costs, dict) or costs.keys() != names.keys() or not all(map(_is_cost, costs.values())):
        costs = tried(strategy, lambda: replays(session, strategy, settings.seed))
        if FAILED not in costs:
            cache.put({"costs": costs}, *depends)
    same = {"session": session.name, "kind": strategy.kind}
    failed = {FAILED: costs[FAILED]} if FAILED in costs else {}
    return [{**same, "strategy": name, "replay": costs.get(name), **failed} for name in names]


def _is_cost(value: object) -> bool:
    return value is None or is_number(value)


def _order(row: Row) -> tuple[Any, ...]:
    return row["session"], row.get("at", -1), row.get("budget", ""), row["strategy"]
