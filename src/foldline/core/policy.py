"""When to do what: rest, prune or compact; and how far to go down after a refusal. Decides; does nothing.

    tokens, budget, what happened before ── decide ──> Decision (action, target, reason)

Pruning is tried above a share of the room (`prune_at`, 70 % unless told), compaction above another (`compact_at`, all
of it unless told). After a compaction the next one waits for enough new tokens. If the room is exceeded before that,
the last one kept too much, and the next gets a smaller target. A view that is `at_ease` has room for that wait. The
cost of a broken prompt cache is calculated, and stands in the receipt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from foldline.core.counting.budget import Budget
from foldline.errors import CannotFit

Action: TypeAlias = Literal["rest", "prune", "compact"]

MIN_NEW = 0.10
"""Tokens that must have come since the last compaction before another of the same kind, as a share of the room."""
MAX_IN_ROW = 2
"""Compactions in a row without enough new tokens, after which the user is warned."""
TIGHTER = 0.5
"""The factor by which the target shrinks with each compaction in a row."""
EMERGENCY_SHARES = (0.9, 0.7, 0.5)
"""The share of what may have fitted that is tried after each refusal: counts can be far off, and there are few
tries."""
PAYBACK = 20
"""Turns within which a pruned view must save as much as the cache it broke costs: about the steps an agent takes for
one request. After that, the next fold is likely to break the cache anyway."""
CACHE_READ, CACHE_WRITE = 0.1, 1.25
"""What providers charge for cached and for newly cached tokens, as shares of the plain price."""


@dataclass(frozen=True, slots=True)
class Past:
    """What was done before in this conversation: compactions in a row, and the size of the view after the last."""

    in_row: int = 0
    tokens_after: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """An action and its reason. `target` is the size the view should then have; `storm` says that compaction keeps
    recurring, `anew` that there is room, and the checkpoint is made again for what it lacks."""

    action: Action
    reason: str
    target: int = 0
    in_row: int = 0
    storm: bool = False
    anew: bool = False


def decide(tokens: int, budget: Budget, past: Past | None = None, *, bytes_: int = 0) -> Decision:
    """What to do with a view of so many tokens and bytes."""
    past = past or Past()
    heavy = budget.max_bytes is not None and bytes_ > budget.max_bytes
    again = past.tokens_after is not None and tokens - past.tokens_after < MIN_NEW * budget.room
    waits = again and tokens <= budget.room
    if heavy or (tokens > budget.at(budget.compact_at) and not waits):
        return _compact(tokens, budget, past.in_row + 1 if again else 1, heavy)
    if tokens > budget.at(budget.prune_at):
        return Decision("prune", f"{tokens:,} tokens are over {budget.prune_at:.0%} of {budget.room:,}", budget.room)
    return Decision("rest", f"{tokens:,} tokens fit in {budget.room:,}", budget.room)


def at_ease(budget: Budget) -> int:
    """The size up to which a view can take in enough new tokens before it has to be folded again."""
    return max(budget.at(budget.compact_at) - budget.at(MIN_NEW), 1)


def _compact(tokens: int, budget: Budget, in_row: int, heavy: bool) -> Decision:
    target = max(int(budget.at(budget.target) * TIGHTER ** (in_row - 1)), 1)
    limit = budget.at(budget.compact_at)
    what = f"the request is over {budget.max_bytes:,} bytes" if heavy else f"{tokens:,} tokens are over {limit:,}"
    storm = in_row > MAX_IN_ROW
    if storm:
        what += f"; this is compaction {in_row} in a row: what cannot be folded nearly fills the window"
    return Decision("compact", what, target, in_row, storm)


def emergency(limit: int, attempt: int, smallest_so_far: int) -> int:
    """The size to aim at after a refusal: below the limit, and strictly below what was tried before, further each
    time."""
    if smallest_so_far <= 1:
        raise CannotFit("the provider refused a prompt of one token; there is none smaller", tokens=1, allowed=limit)
    share = EMERGENCY_SHARES[min(attempt, len(EMERGENCY_SHARES) - 1)]
    return max(int(min(limit, smallest_so_far - 1) * share), 1)


@dataclass(frozen=True, slots=True)
class CacheCost:
    """What a rebase costs and saves under prompt caching, in plain input tokens."""

    rewritten: int
    saved_per_turn: int

    @property
    def turns_to_pay(self) -> float:
        """Turns after which the change has paid for itself."""
        return self.rewritten / self.saved_per_turn if self.saved_per_turn else float("inf")

    @property
    def pays(self) -> bool:
        """It pays off soon enough to be worth doing for that alone."""
        return self.turns_to_pay <= PAYBACK


def cache_cost(before: int, after: int, shared_prefix: int) -> CacheCost:
    """A view of `after` tokens replaces one of `before`, of which the first `shared_prefix` stay cached."""
    fresh = max(after - shared_prefix, 0)
    return CacheCost(round(fresh * (CACHE_WRITE - CACHE_READ)), round(max(before - after, 0) * CACHE_READ))
