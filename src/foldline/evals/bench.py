"""One split under every strategy: folded at every budget, folded again and again, and what really was done there.

    Bench(split, …).rows(strategy) ──> a row for each budget, and for each chain

A row is measured when the cache does not have it. Which splits there are, and on how many cores, is run.py's matter.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from foldline.evals import chain, strategies
from foldline.evals.cache import Cache
from foldline.evals.metrics import Ruler, World
from foldline.evals.splits import Split, size
from foldline.evals.strategies import Strategy, source_digest

REAL, OWN = "real", "own"
"""Budgets: as large as the real compaction at this cut; whatever the strategy comes to."""
CHAIN_SHARE = 0.10
"""Of the prefix: the room of every fold in a chain."""
BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*(%|k)?", re.I)

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
        """The strategy after one, three and five folds."""
        room = round(self.split.tokens * CHAIN_SHARE)
        for folds in chain.FOLDS:
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
                   self.world.digest, source_digest("evals"))  # fmt: skip
        scores = self.cache.get(*depends)
        if scores is None:
            scores = dict(measure())
            self.cache.put(scores, *depends)
        about = {"session": self.split.session, "at": self.split.at, "strategy": strategy.name, "kind": strategy.kind}
        share = scores["tokens"] / self.split.tokens
        return {**about, "budget": budget, "asked": room, "prefix": self.split.tokens, "share": share, **scores}

    def _measured(self, strategy: Strategy, room: int, budget: str) -> Mapping[str, Any]:
        view = strategy.start()(self.split.prefix, room, self._draw(strategy))
        scores = self.ruler.score(view, strategy.frame, grounded=budget == REAL)  # beside the agent's own summary
        if strategy.kind == "attack" or strategy.name == "placebo":  # they keep nobody's words, whatever is planted
            return scores
        shown = strategy.start()(self.ruler.planted.prefix, room, self._draw(strategy))
        return {**scores, **self.ruler.survived(shown)}

    def _chained(self, strategy: Strategy, room: int, folds: int) -> Mapping[str, Any]:
        view = chain.chained(self.split, strategy, room, folds, self._draw(strategy))
        return self.ruler.score(view, strategy.frame)

    def _draw(self, strategy: Strategy) -> random.Random:
        return random.Random(f"{self.seed} {self.split.digest} {strategy.name}")  # noqa: S311 - as above


def tokens_of(budget: str, split: Split) -> int | None:
    """A budget in tokens at this split; None where it does not apply."""
    if budget == REAL:
        return size(split.real) if split.real is not None else None
    match = BUDGET.fullmatch(budget)
    if match is None:
        return None
    number, unit = float(match[1]), (match[2] or "").lower()
    return round(split.tokens * number / 100) if unit == "%" else round(number * (1000 if unit == "k" else 1))
