"""Which of the sessions that were found are scored, and what all of them share.

    survey(path) ──> Surveys ── sampled ──> Sample

A file has a survey for each conversation in it; they are made in a process of the pool. What is chosen depends on the
sessions' words, the seed and the half alone, not on the order of the paths. Each session counts once, and its copies,
forked or resumed, stay together.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foldline.dialects import several
from foldline.errors import FoldlineError, InputError
from foldline.evals import explained, metrics, said
from foldline.evals.identifiers import identifiers
from foldline.evals.metrics import World
from foldline.evals.pool import at
from foldline.evals.settings import Half, Settings
from foldline.evals.splits import LEAST_FUTURE, Place, Session, load, splits
from foldline.model import digest

HELD_OUT = 5
"""At most one in so many sessions gives its text to the generic text and is not scored itself."""

_LONE = re.compile("[\ud800-\udfff]")
"""What stands in the name of a file for bytes that are not UTF-8."""


@dataclass(frozen=True)
class Survey:
    """What the first look at a session tells."""

    place: Place
    digest: str = ""
    agent: str = ""
    names: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()
    folds: int = 0
    scored: bool = False
    fault: str = ""


@dataclass(frozen=True)
class Sample:
    """The sessions to score, in an order that depends on their words alone, and what was not chosen."""

    scored: tuple[Survey, ...]
    held: tuple[Survey, ...]
    """They give the generic text, and are not scored themselves."""
    others: tuple[Place | None, ...]
    """For each to score the session whose messages are its placebo."""
    world: World
    names: Mapping[Place, str]
    """What each session is called in rows."""
    short: tuple[tuple[str, str], ...]
    """What could not be read or is too short, and why."""


def survey(path: Path, settings: Settings) -> list[Survey]:
    at(f"reading {path}")
    try:
        first = load(path)
        found = list(several(first.whole))
    except FoldlineError as error:
        return [Survey(Place(path), fault=_shown(str(error)))]
    finally:
        at("")
    if len(found) == 1:
        return [_surveyed(Place(path), first, settings)]
    return [_surveyed(Place(path, pick), Session(path.name, whole), settings) for pick, whole in enumerate(found)]


def _surveyed(place: Place, session: Session, settings: Settings) -> Survey:
    whole = session.whole.messages
    text = said.plain(whole)
    agent = said.agents(whole)[: explained.FROM_EACH]
    scored = next(splits(session, settings.cuts, settings.seed, settings.least), None) is not None
    folds = len(session.whole.compactions)
    messages = frozenset(digest(said.plain([m]).encode("utf-8", "replace")) for m in whole)
    return Survey(place, session.digest, agent, frozenset(identifiers(text)), messages, folds, scored)


def sampled(surveys: Sequence[Survey], settings: Settings) -> Sample:
    """Chooses. Raises InputError when no session can be scored."""
    found = _once(surveys)
    read = [survey for survey in _weighty(found) if not survey.fault]
    family = _families(read)
    spared, held = _held_out(read, family, settings.seed)
    scored = _half([survey for survey in spared if survey.scored], settings.half, family)
    if not scored:
        raise InputError(_nothing(found, spared, settings))
    names = labels([survey.place for survey in found])
    unfit = [survey for survey in found if survey.fault or not survey.scored]
    return Sample(
        tuple(scored),
        tuple(held),
        tuple(_other(survey, spared, family) for survey in scored),
        World(explained.generic([survey.agent for survey in held]), _background(read, family)),
        names,
        tuple(sorted((names[survey.place], survey.fault or "too short to be cut") for survey in unfit)),
    )


def labels(places: Sequence[Place]) -> dict[Place, str]:
    """For each the shortest end of its path that no other file's has. What is not UTF-8 in it is shown as such."""
    paths, found = dict.fromkeys(place.path for place in places), dict[Path, str]()
    for depth in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        ends = {path: _shown("/".join(path.parts[-depth:])) for path in paths}
        often = Counter(ends.values())
        found |= {path: end for path, end in ends.items() if path not in found and often[end] == 1}
    for path in paths:
        found.setdefault(path, f"{_shown(path.name)} {digest(os.fsencode(path))[:8]}")
    return {each: found[each.path] + ("" if each.pick is None else f"#{each.pick}") for each in places}


def _shown(text: str) -> str:
    return _LONE.sub("\ufffd", text)


def _once(surveys: Sequence[Survey]) -> list[Survey]:
    """In an order that depends on the sessions' words alone, each session once."""
    found = {
        survey.digest or str(survey.place.path): survey
        for survey in sorted(surveys, key=lambda s: (s.place.path, s.place.pick or 0), reverse=True)
    }
    return [found[name] for name in sorted(found)]


def _weighty(surveys: Sequence[Survey]) -> Iterator[Survey]:
    """Without the further sessions of a file that are too short to be scored: a list of hundreds would decide what
    stands everywhere, and which sessions give the generic text."""
    yield from (survey for survey in surveys if survey.scored or not survey.place.pick)


def _families(surveys: Sequence[Survey]) -> dict[str, int]:
    """By digest, of which family a session is: it and its copies, forked or resumed."""
    numbers = metrics.families([survey.messages for survey in surveys])
    return {survey.digest: number for survey, number in zip(surveys, numbers, strict=True)}


def _background(surveys: Sequence[Survey], family: Mapping[str, int]) -> frozenset[str]:
    found: dict[int, frozenset[str]] = {}
    for survey in surveys:
        number = family[survey.digest]
        found[number] = found.get(number, frozenset()) | survey.names
    return metrics.background(found.values())


def _held_out(surveys: list[Survey], family: Mapping[str, int], seed: int) -> tuple[list[Survey], list[Survey]]:
    """Those to score, and those that give the generic text. Sessions with real compactions are always scored, and so
    are those with a copy that can be."""
    copies = Counter(family[survey.digest] for survey in surveys if survey.scored)
    spare = [survey for survey in surveys if not survey.folds and copies[family[survey.digest]] <= survey.scored]
    random.Random(seed).shuffle(spare)  # noqa: S311 - a plan of measurement, not a secret
    held: list[Survey] = []
    for survey in spare[: len(surveys) // HELD_OUT]:
        if sum(len(each.agent) for each in held) >= explained.GENERIC:
            break
        held.append(survey)
    names = {survey.digest for survey in held}
    rest = [survey for survey in surveys if survey.digest not in names]
    return (rest, held) if any(survey.scored for survey in rest) else (surveys, [])


def _other(survey: Survey, scored: Sequence[Survey], family: Mapping[str, int]) -> Place | None:
    """The session whose messages are this one's placebo: the next by digest that is no copy of it."""
    at = list(scored).index(survey) + 1
    strangers = (each for each in (*scored[at:], *scored[:at]) if family[each.digest] != family[survey.digest])
    return next((each.place for each in strangers), None)


def _nothing(surveys: Sequence[Survey], scored: Sequence[Survey], settings: Settings) -> str:
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


def _half(surveys: list[Survey], half: Half | None, family: Mapping[str, int]) -> list[Survey]:
    """Every other one, with its copies. They come in the order of their digests, which is one of chance."""
    first: dict[int, int] = {}
    for number, survey in enumerate(surveys):
        first.setdefault(family[survey.digest], number)
    return [each for each in surveys if half is None or first[family[each.digest]] % 2 == (half == "second")]
