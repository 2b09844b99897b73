"""A run: sessions found, the world they share, every strategy at every cut and budget, on all cores.

    run(paths, settings) ──> Run (rows, what was left out and why)

Each session is one piece of work. Rows are the same whatever the order of the paths, the number of processes and what
was cached; chance depends on the seed and the split alone. Figures over many rows are made in stats.py.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from foldline.errors import FoldlineError, InputError
from foldline.evals import explained, metrics, said, strategies
from foldline.evals.bench import BUDGET, OWN, REAL, Bench, Row
from foldline.evals.cache import Cache
from foldline.evals.identifiers import identifiers
from foldline.evals.metrics import World
from foldline.evals.replay import replays
from foldline.evals.splits import CUTS, LEAST_PREFIX, Session, files, load, splits
from foldline.evals.strategies import Strategy, source_digest

DEFAULT_BUDGETS = ("2%", "5%", "10%", "25%", REAL)
HELD_OUT = 5
"""At most one in so many sessions gives its text to the generic text and is not scored itself."""

Progress = Callable[[int, int, str], None]
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


@dataclass(frozen=True)
class Run:
    """Everything measured, and what was not: files that could not be read, sessions too short."""

    rows: tuple[Row, ...]
    replays: tuple[Row, ...] = ()
    sessions: int = 0
    splits: int = 0
    held_out: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True)
class _Survey:
    """What the first look at a session tells."""

    path: Path
    digest: str = ""
    agent: str = ""
    names: frozenset[str] = frozenset()
    folds: int = 0
    scored: bool = False
    fault: str = ""


def run(paths: Sequence[Path], settings: Settings, progress: Progress = lambda *_: None) -> Run:
    """Measures. Raises InputError when there is nothing to measure."""
    check(settings)
    found = files(paths)
    with ProcessPoolExecutor(settings.jobs or os.cpu_count() or 1) as pool:
        surveys = _once(_gathered(pool, _survey, [(path, settings) for path in found], progress, "reading"))
        scored, held = _held_out([survey for survey in surveys if not survey.fault], settings.seed)
        todo = _half([survey for survey in scored if survey.scored], settings.half)
        if not todo:
            raise InputError(_nothing(surveys, settings.least))
        world = World(
            explained.generic([survey.agent for survey in held]),
            metrics.background(survey.names for survey in surveys if not survey.fault),
        )
        work = [(survey.path, _other(survey, scored), world, settings) for survey in todo]
        parts = _gathered(pool, _scored, work, progress, "scoring")
    rows = sorted((row for part in parts for row in part), key=_order)
    short = [(s.path.name, s.fault or "too short to be cut") for s in surveys if s.fault or not s.scored]
    return Run(
        tuple(row for row in rows if "replay" not in row),
        tuple(row for row in rows if "replay" in row),
        len(todo),
        len({(row["session"], row["at"]) for row in rows if "at" in row}),
        tuple(survey.path.name for survey in held),
        tuple(sorted(short)),
        settings,
    )


def _half(surveys: list[_Survey], half: Half | None) -> list[_Survey]:
    """They come in the order of their digests, which is one of chance."""
    return surveys if half is None else surveys[half == "second" :: 2]


def check(settings: Settings) -> None:
    """Raises InputError for a strategy or a budget that does not exist."""
    for budget in settings.budgets:
        if budget not in (REAL, OWN) and not BUDGET.fullmatch(budget):
            raise InputError(f"{budget!r} is no budget; give a share (10%), tokens (4000, 4k) or {REAL}")
    known = {*strategies.strategies(), "placebo"}
    for name in settings.names:
        if name not in known:
            raise InputError(f"there is no strategy {name!r}; there are: {', '.join(sorted(known))}")


def _gathered(
    pool: ProcessPoolExecutor,
    function: Callable[..., Any],
    work: Sequence[tuple[Any, ...]],
    progress: Progress,
    what: str,
) -> list[Any]:
    """The results in the order of the work. The first error ends everything that has not begun."""
    waiting: dict[Future[Any], int] = {pool.submit(function, *each): at for at, each in enumerate(work)}
    found: list[Any] = [None] * len(work)
    progress(0, len(work), what)
    try:
        for number, future in enumerate(as_completed(waiting), 1):
            found[waiting[future]] = future.result()
            progress(number, len(work), what)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    return found


def _survey(path: Path, settings: Settings) -> _Survey:
    try:
        session = load(path)
    except FoldlineError as error:
        return _Survey(path, fault=str(error))
    text = said.plain(session.whole.messages)
    agent = said.agents(session.whole.messages)[: explained.FROM_EACH]
    scored = next(splits(session, settings.cuts, settings.seed, settings.least), None) is not None
    folds = len(session.whole.compactions)
    return _Survey(path, session.digest, agent, frozenset(identifiers(text)), folds, scored)


def _once(surveys: Sequence[_Survey]) -> list[_Survey]:
    """In an order that depends on the sessions' words alone, each session once."""
    found = {
        survey.digest or str(survey.path): survey for survey in sorted(surveys, key=lambda s: s.path, reverse=True)
    }
    return [found[name] for name in sorted(found)]


def _held_out(surveys: Sequence[_Survey], seed: int) -> tuple[list[_Survey], list[_Survey]]:
    """Those to score, and those that give the generic text. Sessions with real compactions are always scored."""
    spare = [survey for survey in surveys if not survey.folds]
    random.Random(seed).shuffle(spare)  # noqa: S311 - a plan of measurement, not a secret
    held: list[_Survey] = []
    for survey in spare[: len(surveys) // HELD_OUT]:
        if sum(len(each.agent) for each in held) >= explained.GENERIC:
            break
        held.append(survey)
    names = {survey.digest for survey in held}
    return [survey for survey in surveys if survey.digest not in names], held


def _other(survey: _Survey, scored: Sequence[_Survey]) -> Path | None:
    """The session whose messages are this one's placebo: the next by digest."""
    if len(scored) < 2:
        return None
    return scored[(list(scored).index(survey) + 1) % len(scored)].path


def _nothing(surveys: Sequence[_Survey], least: int) -> str:
    faults = [survey.fault for survey in surveys if survey.fault]
    why = f"; {faults[0]}" if faults else ""
    return (
        f"none of {len(surveys)} sessions has {least:,} tokens with 10 turns of the agent behind them; "
        f"give longer ones, or a lower --shortest{why}"
    )


@lru_cache(maxsize=2)
def _loaded(path: Path) -> Session:
    return load(path)


def _scored(path: Path, other: Path | None, world: World, settings: Settings) -> list[Row]:
    """All rows of one session."""
    session = _loaded(path)
    known = strategies.strategies()
    if other is not None:
        known["placebo"] = strategies.placebo(_loaded(other).whole)
    chosen = [strategy for name, strategy in known.items() if not settings.names or name in settings.names]
    cache = Cache(settings.cache)
    rows: list[Row] = []
    for split in splits(session, settings.cuts, settings.seed, settings.least):
        bench = Bench(split, world, settings.seed, cache)
        rows += [row for strategy in chosen for row in bench.rows(strategy, settings.budgets)]
        rows += [row for s in chosen if settings.chains and _honest(s) for row in bench.chains(s)]
        rows += bench.real() if REAL in settings.budgets else []
    if settings.replays:
        rows += [row for s in chosen if _honest(s) for row in _replayed(session, s, settings, cache)]
    return rows


def _honest(strategy: Strategy) -> bool:
    """One that somebody would use, and that keeps to a budget."""
    return strategy.sized and strategy.kind in ("ours", "baseline", "plugin")


def _replayed(session: Session, strategy: Strategy, settings: Settings, cache: Cache) -> list[Row]:
    depends = ("replay", session.digest, strategy.name, strategy.version, settings.seed, source_digest("evals"))
    known = cache.get(*depends)
    if known is None:
        known = {"costs": replays(session, strategy, settings.seed)}
        cache.put(known, *depends)
    same = {"session": session.name, "kind": strategy.kind}
    return [{**same, "strategy": name, "replay": cost} for name, cost in known["costs"].items()]


def _order(row: Row) -> tuple[Any, ...]:
    return row["session"], row.get("at", -1), row.get("budget", ""), row["strategy"]
