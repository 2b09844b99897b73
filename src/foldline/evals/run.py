"""A run: sessions found, the world they share, every strategy at every cut and budget, on all cores.

    run(paths, settings) ──> Run (rows, what was left out and why)

Each session is one piece of work. Rows are the same whatever the order of the paths, the number of processes and what
was cached; chance depends on the seed and the split alone. Plug-ins run in the processes of the pool, never in this
one; these end with it, and write nothing to stdout. Figures over many rows are made in stats.py.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from foldline.errors import FoldlineError, InputError
from foldline.evals import explained, metrics, said, strategies
from foldline.evals.bench import FAILED, REAL, Bench, Row, is_budget, is_number, tried
from foldline.evals.cache import Cache
from foldline.evals.identifiers import identifiers
from foldline.evals.metrics import World
from foldline.evals.pool import Pool, Progress, at
from foldline.evals.replay import manners, replays
from foldline.evals.splits import CUTS, LEAST_FUTURE, LEAST_PREFIX, Session, files, load, splits
from foldline.evals.strategies import PLACEBO, Strategy, ruler_version
from foldline.model import digest

DEFAULT_BUDGETS = ("2%", "5%", "10%", "25%", REAL)
HELD_OUT = 5
"""At most one in so many sessions gives its text to the generic text and is not scored itself."""

NEEDS_ANOTHER = "the placebo is another session's text, and there is no other session"

_LONE = re.compile("[\ud800-\udfff]")
"""What stands in the name of a file for bytes that are not UTF-8."""

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
class _Survey:
    """What the first look at a session tells."""

    path: Path
    digest: str = ""
    agent: str = ""
    names: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()
    folds: int = 0
    scored: bool = False
    fault: str = ""


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
        surveys = _once(pool.gathered(_survey, [(path, settings) for path in found], progress, "reading"))
        read = [survey for survey in surveys if not survey.fault]
        family = _families(read)
        scored, held = _held_out(read, family, settings.seed)
        todo = _half([survey for survey in scored if survey.scored], settings.half, family)
        if not todo:
            raise InputError(_nothing(surveys, scored, settings))
        world = World(explained.generic([survey.agent for survey in held]), _background(read, family))
        names = labels([survey.path for survey in surveys])
        others = [_other(survey, scored, family) for survey in todo]
        work = [(s.path, names[s.path], other, world, settings) for s, other in zip(todo, others, strict=True)]
        parts: list[_Part] = pool.gathered(_scored, work, progress, "scoring")
    rows = sorted((row for part in parts for row in part.rows), key=_order)
    if not rows:
        raise InputError(_no_rows(settings, None in others))
    short = [(names[s.path], s.fault or "too short to be cut") for s in surveys if s.fault or not s.scored]
    notes = [f"the strategy {name!r} does not load, and was left out: {fault}" for name, fault in faults.items()]
    notes += [NEEDS_ANOTHER] if PLACEBO in settings.names and None in others else []
    notes += [f"the budget {budget} applies at no cut" for budget in idle(rows, settings)]
    notes += [f"{part.fault}; they will be measured again" for part in parts if part.fault][:1]
    return Run(
        tuple(row for row in rows if "replay" not in row),
        tuple(row for row in rows if "replay" in row),
        len(todo),
        len({(row["session"], row["at"]) for row in rows if "at" in row}),
        tuple(names[survey.path] for survey in held),
        tuple(sorted(short)),
        settings,
        tuple(notes),
    )


def idle(rows: Sequence[Row], settings: Settings) -> list[str]:
    """The budgets that were asked for and applied at no cut. Nobody asks for those that come unasked."""
    used = {row.get("budget") for row in rows}
    asked = () if settings.budgets == DEFAULT_BUDGETS else settings.budgets
    return [budget for budget in asked if budget not in used]


def _half(surveys: list[_Survey], half: Half | None, family: Mapping[str, int]) -> list[_Survey]:
    """Every other one, with its copies. They come in the order of their digests, which is one of chance."""
    first: dict[int, int] = {}
    for number, survey in enumerate(surveys):
        first.setdefault(family[survey.digest], number)
    return [each for each in surveys if half is None or first[family[each.digest]] % 2 == (half == "second")]


def check(settings: Settings) -> None:
    """Raises InputError for a strategy or a budget that does not exist."""
    for budget in settings.budgets:
        if not is_budget(budget):
            raise InputError(f"{budget[:40]!r} is no budget; give a share (10%), tokens (4000, 4k) or {REAL}")
    known = strategies.known()
    for name in settings.names:
        if name not in known:
            raise InputError(f"there is no strategy {name!r}; there are: {', '.join(map(repr, sorted(known)))}")


def _faults(names: tuple[str, ...]) -> dict[str, str]:
    """The plug-ins that do not load, and why."""
    return {name: strategy.fault for name, strategy in strategies.strategies(names).items() if strategy.fault}


def _usable(faults: dict[str, str], asked: Sequence[str]) -> dict[str, str]:
    """The same, when none of them was asked for."""
    for name in asked:
        if name in faults:
            raise InputError(f"the strategy {name!r} does not load: {faults[name]}")
    return faults


def labels(paths: Sequence[Path]) -> dict[Path, str]:
    """For each path the shortest end of it that no other has. What is not UTF-8 in it is shown as such."""
    found: dict[Path, str] = {}
    for depth in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        ends = {path: _shown("/".join(path.parts[-depth:])) for path in paths if path not in found}
        often = Counter(_shown("/".join(path.parts[-depth:])) for path in paths)
        found |= {path: end for path, end in ends.items() if often[end] == 1}
    return {path: found.get(path, f"{_shown(path.name)} {digest(os.fsencode(path))[:8]}") for path in paths}


def _shown(text: str) -> str:
    return _LONE.sub("\ufffd", text)


def _survey(path: Path, settings: Settings) -> _Survey:
    at(f"reading {path}")
    try:
        session = load(path)
    except FoldlineError as error:
        return _Survey(path, fault=_shown(str(error)))
    finally:
        at("")
    text = said.plain(session.whole.messages)
    agent = said.agents(session.whole.messages)[: explained.FROM_EACH]
    scored = next(splits(session, settings.cuts, settings.seed, settings.least), None) is not None
    folds = len(session.whole.compactions)
    messages = frozenset(digest(said.plain([m]).encode("utf-8", "replace")) for m in session.whole.messages)
    return _Survey(path, session.digest, agent, frozenset(identifiers(text)), messages, folds, scored)


def _once(surveys: Sequence[_Survey]) -> list[_Survey]:
    """In an order that depends on the sessions' words alone, each session once."""
    found = {
        survey.digest or str(survey.path): survey for survey in sorted(surveys, key=lambda s: s.path, reverse=True)
    }
    return [found[name] for name in sorted(found)]


def _families(surveys: Sequence[_Survey]) -> dict[str, int]:
    """By digest, of which family a session is: it and its copies, forked or resumed."""
    numbers = metrics.families([survey.messages for survey in surveys])
    return {survey.digest: number for survey, number in zip(surveys, numbers, strict=True)}


def _background(surveys: Sequence[_Survey], family: Mapping[str, int]) -> frozenset[str]:
    found: dict[int, frozenset[str]] = {}
    for survey in surveys:
        number = family[survey.digest]
        found[number] = found.get(number, frozenset()) | survey.names
    return metrics.background(found.values())


def _held_out(surveys: list[_Survey], family: Mapping[str, int], seed: int) -> tuple[list[_Survey], list[_Survey]]:
    """Those to score, and those that give the generic text. Sessions with real compactions are always scored, and so
    are those with a copy that can be."""
    copies = Counter(family[survey.digest] for survey in surveys if survey.scored)
    spare = [survey for survey in surveys if not survey.folds and copies[family[survey.digest]] <= survey.scored]
    random.Random(seed).shuffle(spare)  # noqa: S311 - a plan of measurement, not a secret
    held: list[_Survey] = []
    for survey in spare[: len(surveys) // HELD_OUT]:
        if sum(len(each.agent) for each in held) >= explained.GENERIC:
            break
        held.append(survey)
    names = {survey.digest for survey in held}
    rest = [survey for survey in surveys if survey.digest not in names]
    return (rest, held) if any(survey.scored for survey in rest) else (surveys, [])


def _other(survey: _Survey, scored: Sequence[_Survey], family: Mapping[str, int]) -> Path | None:
    """The session whose messages are this one's placebo: the next by digest that is no copy of it."""
    at = list(scored).index(survey) + 1
    strangers = (each for each in (*scored[at:], *scored[:at]) if family[each.digest] != family[survey.digest])
    return next((each.path for each in strangers), None)


def _nothing(surveys: Sequence[_Survey], scored: Sequence[_Survey], settings: Settings) -> str:
    """Why no session can be cut."""
    count, enough = len(surveys), f"{settings.least:,} tokens"
    if any(survey.scored for survey in scored):
        return f"one session, copies aside, has no {settings.half} half; leave --half out, or give more sessions"
    faults = [survey.fault for survey in surveys if survey.fault]
    why = f"; {faults[0]}" if faults else ""
    if not settings.cuts:
        return (
            f"without cuts only real compactions are measured, and none of {count} sessions has one with {enough} "
            f"before it and {LEAST_FUTURE} turns of the agent behind it; give --cuts, or a lower --shortest{why}"
        )
    return (
        f"none of {count} sessions has {enough} with {LEAST_FUTURE} turns of the agent behind them; "
        f"give longer ones, or a lower --shortest{why}"
    )


def _no_rows(settings: Settings, alone: bool) -> str:
    """Why nothing was measured at any cut."""
    if alone and settings.names == (PLACEBO,):
        return NEEDS_ANOTHER
    return (
        f"no budget of {', '.join(settings.budgets)} applies at any cut: a budget is less than the whole history, "
        f"and {REAL} needs sessions that were compacted"
    )


@lru_cache(maxsize=2)
def _loaded(path: Path, name: str = "") -> Session:
    return load(path, name)


def _scored(path: Path, name: str, other: Path | None, world: World, settings: Settings) -> _Part:
    """All rows of one session."""
    session = _loaded(path, name)
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
