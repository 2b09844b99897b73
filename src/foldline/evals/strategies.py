"""Every strategy that is measured, by name: ours, everyone else's, the floor, the attacks, and any that is plugged in.

    strategies() ──> Strategy (name, kind, version, fold)

A fold takes a conversation, the tokens it may keep and chance, and gives a smaller conversation. A plug-in is a
function `f(messages, budget)` in the entry point group `foldline.strategies`: it is given the messages as its provider
takes them, plain dicts, and gives such messages back, or one text. How they work is in baselines.py and core/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, TypeAlias

import foldline
from foldline import sources
from foldline.compactor import Compactor
from foldline.core.budget import Budget
from foldline.core.meter import Meter
from foldline.core.prune import PruneSettings, prune
from foldline.core.select import Strategy as Selection
from foldline.core.select import select
from foldline.dialects.convert import as_request
from foldline.errors import CannotFit
from foldline.evals import baselines
from foldline.evals.baselines import Draw
from foldline.evals.splits import meter, size
from foldline.evals.units import noted
from foldline.model import Conversation, digest
from foldline.tokens import best_counter

OURS = "foldline"
"""Our compactor without a model."""
GROUP = "foldline.strategies"
"""The entry point group of plug-ins."""
Kind: TypeAlias = Literal["ours", "baseline", "floor", "attack", "plugin", "real"]
_SLOTS = ("messages", "input", "contents")
"""Where requests keep their messages."""
Fold: TypeAlias = Callable[[Conversation, int, Draw], Conversation]

_FRAME = re.compile(r"\boriginal [0-9a-f]{8,}\b|\[[\d,–-]+(?: [a-z ]+)?\]|\b[\d,]+ (?:more )?characters\b|foldline\w*")
"""What our views say of themselves: references to originals, numbers of messages, counts of what was left out."""


@dataclass(frozen=True)
class Strategy:
    """A way of making a conversation smaller. `start` gives a fresh fold: one that may remember its own folds."""

    name: str
    kind: Kind
    start: Callable[[], Fold]
    version: str
    sized: bool = True
    """It keeps to a budget; otherwise it is measured once, at the size it comes to."""
    frame: Callable[[str], str] = str


def strategies() -> dict[str, Strategy]:
    """All of them, plug-ins last."""
    found = [*_ours(), *_baselines()]
    plugged = [_plugged(point) for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]
    return {strategy.name: strategy for strategy in (*found, *plugged)}


def _ours() -> list[Strategy]:
    version = source_digest("core", "prompts", "compactor.py", "tokens.py")
    ours = partial(Strategy, kind="ours", version=version, frame=_unframed)
    return [
        ours(OURS, start=compacting),
        ours("foldline select", start=lambda: _selected),
        ours("foldline prune", start=lambda: _pruned, sized=False),
    ]


def _unframed(text: str) -> str:
    return _FRAME.sub(" ", text)


def _baselines() -> list[Strategy]:
    version = source_digest("evals")
    table: Mapping[str, tuple[Kind, Fold]] = {
        "sliding window": ("baseline", baselines.window),
        "head + tail": ("baseline", baselines.head_tail),
        "old results masked": ("baseline", baselines.masked),
        "masks naming": ("baseline", baselines.masked_naming),
        "clipped 500+200": ("baseline", baselines.clipped),
        "user, paths, errors, tail": ("baseline", baselines.told_and_paths),
        "random messages": ("floor", baselines.random_messages),
        "attack: identifiers": ("attack", baselines.identifier_list),
        "attack: identifiers, words": ("attack", baselines.identifier_words),
        "agent's own words": ("baseline", baselines.own_words),
        "user's and agent's words": ("baseline", baselines.both_words),
    }
    return [Strategy(name, kind, partial(_same, fold), version) for name, (kind, fold) in table.items()]


def _same(fold: Fold) -> Fold:
    return fold


def placebo(other: Conversation) -> Strategy:
    """The placebo, which needs another session."""
    return Strategy("placebo", "floor", partial(_same, baselines.placebo(other.messages)), source_digest("evals"))


def compacting() -> Fold:
    """Our compactor without a model. It remembers its folds, as one does that serves an agent."""
    compactor = Compactor(Budget(window=1 << 40, reserve=0), meter=Meter(best_counter()), secret=b"foldline eval")

    def fold(given: Conversation, room: int, _: Draw) -> Conversation:
        free = meter().count(given).raw - size(given.messages)
        try:
            return compactor.compact(given, to=room + free).view
        except CannotFit as error:
            smallest: Conversation = error.smallest  # larger than asked: its size is told beside its scores
            return smallest

    return fold


def _selected(given: Conversation, room: int, _: Draw) -> Conversation:
    """Selection by keywords and recency, with as many recent messages as fit."""
    best = _select(given, 0)
    low, high = 0, len(given.messages) if size(best.messages) <= room else 0
    while low < high:
        middle = (low + high + 1) // 2
        found = _select(given, middle)
        if size(found.messages) <= room:
            low, best = middle, found
        else:
            high = middle - 1
    return best


def _select(given: Conversation, recent: int) -> Conversation:
    strategy = Selection(keep_recent=recent, keep_tool_results=False)
    return given.with_messages(select(given.messages, strategy, given.grammar, meter().message).messages)


def _pruned(given: Conversation, _: int, __: Draw) -> Conversation:
    return given.with_messages(prune(given.messages, PruneSettings()).messages)


def _plugged(point: EntryPoint) -> Strategy:
    """A strategy of somebody else's."""
    made = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    return Strategy(point.name, "plugin", partial(_adapted, point), made)


def _adapted(point: EntryPoint) -> Fold:
    return adapted(point.load())


def adapted(function: Callable[[list[Any], int], Any]) -> Fold:
    """A plain function over plain messages, as a fold."""

    def fold(given: Conversation, room: int, _: Draw) -> Conversation:
        request = as_request(given)
        slot = next((key for key in _SLOTS if isinstance(request, dict) and key in request), None)
        answer = function(request[slot] if slot else request, room)
        if isinstance(answer, str):
            return noted(given, answer)
        return replace(sources.read(list(answer), given.dialect), head=given.head)

    return fold


@lru_cache
def source_digest(*names: str) -> str:
    """The version of our own code: what was measured with other code is measured again."""
    root = Path(foldline.__file__).parent
    found = [path for name in names for path in ([root / name] if "." in name else sorted((root / name).rglob("*")))]
    return digest(b"\0".join(path.read_bytes() for path in found if path.suffix in (".py", ".md")))[:16]


def nothing() -> Fold:
    """For what was folded by others: there is nothing to run."""
    raise AssertionError("a real compaction is not run again")
