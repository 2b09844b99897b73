"""M6: what a whole session costs under prompt caching when a strategy keeps it in half of its size.

    replay(session, strategy) ──> cost against no management

Every turn of the agent is a request. What it shares with the request before, from the start, is read from the cache;
the rest is written to it. The window is half of the session, so that every session has to be managed. Strategies fold
when the window is full, down to a quarter of it. Our compactor decides for itself when to prune and when to fold, as it
does when it serves an agent: with the settings it comes with, with the same quarter, and set to thrift.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from foldline.compactor import Compactor
from foldline.core.counting.budget import Budget
from foldline.core.counting.meter import Meter
from foldline.core.policy import CACHE_READ, CACHE_WRITE
from foldline.errors import CannotFit
from foldline.evals import said
from foldline.evals.splits import Session, faults, meter, prepared
from foldline.evals.strategies import OURS, Strategy
from foldline.model import Conversation, Message, Origin
from foldline.tokens import best_counter

WINDOW = 0.5
"""Share of the session that the window holds."""
TARGET = 0.25
"""Share of the window that a fold leaves."""

AS_IT_COMES = Budget(window=200_000, reserve=0)
MANNERS: Mapping[str, Budget] = {
    "": replace(AS_IT_COMES, target=TARGET),
    " as it comes": AS_IT_COMES,
    " thrifty": replace(AS_IT_COMES, target=TARGET, prune_at=0.5, compact_at=0.8),
}
"""How our compactor may be set, by what is said behind its name. Thrift is less to read on every turn."""

Manage = Callable[[Sequence[Message]], Sequence[Message]]


def manners(strategy: Strategy) -> dict[str, Budget]:
    """How the strategy is set, by what it is then called."""
    found = MANNERS if strategy.name == OURS else {"": AS_IT_COMES}
    return {strategy.name + name: manner for name, manner in found.items()}


def replays(session: Session, strategy: Strategy, seed: int = 0) -> dict[str, float | None]:
    """The input cost of the session with the strategy, against that without, in each of its manners."""
    return {name: replay(session, strategy, seed, manner) for name, manner in manners(strategy).items()}


def replay(session: Session, strategy: Strategy, seed: int = 0, manner: Budget = AS_IT_COMES) -> float | None:
    """The input cost of the session with the strategy, set in a manner, against that without; None when the provider
    would refuse what the strategy leaves."""
    original = [message for message in session.whole.messages if message.origin is not Origin.SUMMARY]
    whole = prepared(session.whole, original)
    window = round(sum(map(meter().message, whole.messages)) * WINDOW)
    ours = strategy.name == OURS
    manage = _fitting(whole, replace(manner, window=window)) if ours else _folding(whole, strategy, window, seed)
    try:
        return cost(whole.messages, _accepted(whole, manage)) / cost(whole.messages, tuple)
    except _Refused:
        return None


class _Refused(Exception):
    """The provider would not take a view."""


def _accepted(whole: Conversation, manage: Manage) -> Manage:
    """The same, with every view looked at that is not the one before and what came since."""
    before: Sequence[Message] = ()

    def checked(messages: Sequence[Message]) -> Sequence[Message]:
        nonlocal before
        view = manage(messages)
        folded = _shared(before, view) < len(before)
        if folded and faults(whole.with_messages(view)) and not faults(whole.with_messages(messages)):
            raise _Refused
        before = view
        return view

    return checked


def cost(messages: Sequence[Message], manage: Manage) -> float:
    """What the requests of all turns cost, in tokens at the plain price."""
    total, before = 0.0, list[Message]()
    for at in said.steps(messages):
        view = list(manage(messages[:at]))
        shared = _shared(before, view)
        total += CACHE_READ * _tokens(view[:shared]) + CACHE_WRITE * _tokens(view[shared:])
        before = view
    return total


def _shared(one: Sequence[Message], other: Sequence[Message]) -> int:
    """How many messages two requests begin with in common."""
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] is not other[at] and one[at] != other[at]), most)


def _tokens(messages: Sequence[Message]) -> int:
    return sum(map(meter().message, messages))


def _folding(whole: Conversation, strategy: Strategy, window: int, seed: int) -> Manage:
    """Folds when the window is full."""
    fold, draw = strategy.start(), random.Random(seed)  # noqa: S311 - chance for the floor, not a secret
    view, seen = list[Message](), 0

    def manage(messages: Sequence[Message]) -> Sequence[Message]:
        nonlocal view, seen
        view, seen = [*view, *messages[seen:]], len(messages)
        if _tokens(view) > window:
            view = list(fold(whole.with_messages(view), round(window * TARGET), draw).messages)
        return view

    return manage


def _fitting(whole: Conversation, budget: Budget) -> Manage:
    """Our compactor, asked before every request as an agent would ask it."""
    compactor = Compactor(budget, meter=Meter(best_counter()), secret=b"foldline eval")

    def manage(messages: Sequence[Message]) -> Sequence[Message]:
        given = whole.with_messages(messages)
        try:
            return compactor.fit(given).view.messages
        except CannotFit:
            return messages

    return manage
