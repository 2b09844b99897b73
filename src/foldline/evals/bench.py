"""One split under every strategy: folded at every budget, folded again and again, and what really was done there.

    Bench(split, …).rows(strategy) ──> a row for each budget, and for each chain

A row is measured when the cache does not have it. Which splits there are, and on how many cores, is run.py's matter.
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from functools import partial
from typing import Any

from foldline.evals import chain, strategies
from foldline.evals.cache import Cache
from foldline.evals.metrics import SCORES, Ruler, World
from foldline.evals.splits import Split, size
from foldline.evals.strategies import Strategy, ruler_version

REAL, OWN = "real", "own"
"""Budgets: as large as the real compaction at this cut; whatever the strategy comes to."""
CHAIN_SHARE = 0.10
"""Of the prefix: the room of every fold in a chain."""
BUDGET = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*(%|k)?", re.I)
FAILED = "failed"
"""Where a row says why there are no scores in it."""
_ALWAYS = {"valid", "tokens", *(name for name in SCORES if not name.startswith("kept"))}
"""What every row has, if only to say that there is no such figure."""

Row = dict[str, Any]


class Bench:
    """One split, its ruler made when a row is not known yet."""

    def __init__(self, split: Split, world: World, seed: int, cache: Cache) -> None:
        self.split, self.world, self.seed, self.cache = split, world, seed, cache
        self._ruler: Ruler | None = None

    @property
    def ruler(self) -> Ruler:
        self._ruler = self._ruler or Ruler(self.split, self.world)
        return self._ruler

    def rows(self, strategy: Strategy, budgets: tuple[str, ...]) -> Iterator[Row]:
        """The strategy at each budget that applies here."""
        for budget, room in self._rooms(strategy, budgets):
            yield self._known(strategy, budget, room, partial(self._measured, strategy, room, budget))

    def chains(self, strategy: Strategy) -> Iterator[Row]:
        """The strategy after one, three and five folds, where the prefix has so many parts."""
        room = round(self.split.tokens * CHAIN_SHARE)
        for folds in chain.FOLDS:
            if not chain.can(self.split.prefix, folds):
                continue
            yield self._known(strategy, f"{folds} folds", room, partial(self._chained, strategy, room, folds))

    def real(self) -> Iterator[Row]:
        """The compaction that the agent's own program did here."""
        if self.split.real is None:
            return
        view = self.split.prefix.with_messages(self.split.real)
        real = Strategy("the agent's own summary", "real", strategies.nothing, "")
        yield self._known(real, REAL, size(view.messages), lambda: self.ruler.score(view, grounded=True))

    def _rooms(self, strategy: Strategy, budgets: tuple[str, ...]) -> Iterator[tuple[str, int]]:
        if not strategy.sized:
            yield OWN, self.split.tokens
            return
        for budget in budgets:
            room = tokens_of(budget, self.split)
            if room is not None and room < self.split.tokens:
                yield budget, room

    def _known(self, strategy: Strategy, budget: str, room: int, measure: Callable[[], Mapping[str, Any]]) -> Row:
        depends = (self.split.digest, strategy.name, strategy.version, budget, room, self.seed,
                   self.world.digest, ruler_version())  # fmt: skip
        scores = self.cache.get(*depends)
        if scores is None or not _is_whole(scores):
            scores = dict(tried(strategy, measure))
            if FAILED not in scores:
                self.cache.put(scores, *depends)
        about = {"session": self.split.session, "at": self.split.at, "strategy": strategy.name, "kind": strategy.kind}
        size = {} if FAILED in scores else {"share": scores["tokens"] / self.split.tokens}
        return {**about, "budget": budget, "asked": room, "prefix": self.split.tokens, **size, **scores}

    def _measured(self, strategy: Strategy, room: int, budget: str) -> Mapping[str, Any]:
        view = strategy.start()(self.split.prefix, room, self._draw(strategy))
        scores = self.ruler.score(view, strategy.frame, grounded=budget == REAL)  # beside the agent's own summary
        if not strategy.told:
            return scores
        shown = strategy.start()(self.ruler.planted.prefix, room, self._draw(strategy))
        return {**scores, **self.ruler.survived(shown)}

    def _chained(self, strategy: Strategy, room: int, folds: int) -> Mapping[str, Any]:
        view = chain.chained(self.split.prefix, strategy, room, folds, self._draw(strategy))
        shown = chain.chained(self.ruler.planted.prefix, strategy, room, folds, self._draw(strategy))
        return {**self.ruler.score(view, strategy.frame), **self.ruler.survived(shown)}

    def _draw(self, strategy: Strategy) -> random.Random:
        return random.Random(f"{self.seed} {self.split.digest} {strategy.name}")  # noqa: S311 - as above


def tried(strategy: Strategy, measure: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """What was measured; of a plug-in that fails, why. What a plug-in prints goes to stderr."""
    if strategy.kind != "plugin":
        return measure()
    try:
        with redirect_stdout(sys.stderr):
            return measure()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plug-in may end in any way: sys.exit, a cancelled task, a failed assertion
        return {FAILED: strategies.why(error)}


def _is_whole(scores: Mapping[str, Any]) -> bool:
    """A row that was kept is one that could have been measured."""
    numbers = all(value is None or is_number(value) for value in scores.values())
    return numbers and scores.keys() >= _ALWAYS and is_number(scores["tokens"])


def is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def is_budget(text: str) -> bool:
    """It names a size."""
    match = BUDGET.fullmatch(text)
    return text in (REAL, OWN) or (match is not None and float(match[1]) > 0)


def tokens_of(budget: str, split: Split) -> int | None:
    """A budget in tokens at this split; None where it does not apply."""
    if budget == REAL:
        return size(split.real) if split.real is not None else None
    match = BUDGET.fullmatch(budget)
    if match is None:
        return None
    number, unit = float(match[1]), (match[2] or "").lower()
    return round(split.tokens * number / 100) if unit == "%" else round(number * (1000 if unit == "k" else 1))
