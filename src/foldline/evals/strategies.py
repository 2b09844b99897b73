"""Every strategy that is measured, by name: ours, everyone else's, the floor, the attacks, and any that is plugged in.

    strategies() ──> Strategy (name, kind, version, fold)

A fold takes a conversation, the tokens it may keep and chance, and gives a smaller conversation. A plug-in is a
function `f(messages, budget)` in the entry point group `foldline.strategies`: it is given the messages as its provider
takes them, plain dicts, and gives such messages back, or one text. How they work is in baselines.py and core/.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, TypeAlias

import zstandard

import foldline
from foldline import sources
from foldline.compactor import Compactor
from foldline.core.counting.budget import Budget
from foldline.core.counting.meter import Meter
from foldline.core.prune import PruneSettings, prune
from foldline.core.select import Strategy as Selection
from foldline.core.select import select
from foldline.dialects.convert import SLOTS, as_request
from foldline.errors import CannotFit
from foldline.evals import baselines, said
from foldline.evals.baselines import Draw
from foldline.evals.splits import meter, size
from foldline.evals.units import noted
from foldline.model import Conversation, digest
from foldline.tokens import best_counter

OURS = "foldline"
"""Our compactor without a model."""
PLACEBO = "placebo"
"""Another session's text. There is none where only one session is measured."""
GROUP = "foldline.strategies"
"""The entry point group of plug-ins."""
Kind: TypeAlias = Literal["ours", "baseline", "floor", "attack", "plugin", "real"]
RULER = (
    *("evals", "dialects", "validators", "errors.py", "model.py", "sources.py", "tokens.py", "core/arguments.py"),
    *(f"core/counting/{name}.py" for name in ("estimate", "images", "meter", "sizes")),
    *(f"core/history/{name}.py" for name in ("cycles", "mend", "prefix", "repair")),
)
"""The code that reads, cuts and measures: every row depends on it, whatever the strategy."""
DOORS = frozenset({"cli", "mcp", "proxy", "tools", "conformance.py", "testing.py"})
"""What no strategy is made of. Everything else may be part of ours."""
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
    told: bool = True
    """It may keep what the user said: constraints are planted to see whether it does."""
    fault: str = ""
    """Why it cannot be run: a plug-in that does not load."""


def strategies(names: Collection[str] = ()) -> dict[str, Strategy]:
    """All of them, or those named; plug-ins last. No other plug-in is loaded."""
    found = [strategy for strategy in (*_ours(), *_baselines()) if not names or strategy.name in names]
    plugged = [_plugged(point) for point in _points() if not names or point.name in names]
    return {strategy.name: strategy for strategy in (*found, *plugged)}


def known() -> set[str]:
    """The names of all there are."""
    return {strategy.name for strategy in (*_ours(), *_baselines())} | {point.name for point in _points()} | {PLACEBO}


def _points() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _ours() -> list[Strategy]:
    version = source_digest(*_inside())
    ours = partial(Strategy, kind="ours", version=version, frame=_unframed)
    return [
        ours(OURS, start=compacting),
        ours("foldline select", start=lambda: _selected),
        ours("foldline prune", start=lambda: _pruned, sized=False),
    ]


def _unframed(text: str) -> str:
    return _FRAME.sub(" ", text)


def _baselines() -> list[Strategy]:
    version = ruler_version()
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
        "attack: shuffled lines": ("attack", baselines.shuffled_lines),
        "agent's own words": ("baseline", baselines.own_words),
        "user's and agent's words": ("baseline", baselines.both_words),
    }
    return [
        Strategy(name, kind, partial(_same, fold), version, told=not name.startswith("attack: identifiers"))
        for name, (kind, fold) in table.items()
    ]


def _same(fold: Fold) -> Fold:
    return fold


def placebo(other: Conversation) -> Strategy:
    """The placebo, which needs another session."""
    version = f"{ruler_version()} {digest(said.plain(other.messages).encode('utf-8', 'surrogatepass'))}"
    return Strategy(PLACEBO, "floor", partial(_same, baselines.placebo(other.messages)), version, told=False)


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
    """A strategy of somebody else's, with its fault when it does not load."""
    made = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    try:
        with redirect_stdout(sys.stderr):
            function = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Strategy(point.name, "plugin", nothing, made, fault=why(error))
    return Strategy(point.name, "plugin", lambda: adapted(function), f"{made} {_code(function, point)}")


def _code(function: Any, point: EntryPoint) -> str:
    """The version of a plug-in's code: of the files that name its function and that hold it."""
    modules = [sys.modules.get(name) for name in (point.module, getattr(function, "__module__", None) or "")]
    found = {str(path) for module in modules if (path := getattr(module, "__file__", None))}
    return digest(b"\0".join(Path(path).read_bytes() for path in sorted(found)))[:16]


def why(error: BaseException) -> str:
    """What went wrong, in one line."""
    return " ".join("".join(traceback.format_exception_only(error)).split())


def adapted(function: Callable[[list[Any], int], Any]) -> Fold:
    """A plain function over plain messages, as a fold."""

    def fold(given: Conversation, room: int, _: Draw) -> Conversation:
        request = as_request(given)
        slot = next((key for key in SLOTS if isinstance(request, dict) and key in request), None)
        answer = function(request[slot] if slot else request, room)
        if isinstance(answer, str):
            return noted(given, answer)
        if not isinstance(answer, Iterable):
            raise TypeError(f"it gave back {answer!r:.40}, which is neither messages nor a text")
        return replace(sources.read(list(answer), given.dialect), head=given.head)

    return fold


@lru_cache(maxsize=1)
def ruler_version() -> str:
    """Of everything that measures, and of what counts and packs for it."""
    return f"{source_digest(*RULER)} zstd {zstandard.ZSTD_VERSION} {type(best_counter()).__name__}"


def _inside() -> list[str]:
    """All of our code but the doors."""
    root = Path(foldline.__file__).parent
    names = sorted(path.name for path in root.iterdir() if path.is_dir() or path.suffix == ".py")
    return [name for name in names if name not in DOORS]


@lru_cache
def source_digest(*names: str) -> str:
    """The version of our own code: what was measured with other code is measured again."""
    root = Path(foldline.__file__).parent
    found = [path for name in names for path in ([root / name] if "." in name else sorted((root / name).rglob("*")))]
    return digest(b"\0".join(path.read_bytes() for path in found if path.suffix in (".py", ".md")))[:16]


def nothing() -> Fold:
    """For what was folded by others, and for what does not load: there is nothing to run."""
    raise AssertionError("there is nothing to run")
