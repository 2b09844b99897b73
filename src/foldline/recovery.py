"""After a provider refused a prompt as too large: what it said, and how much smaller the next one has to be.

    error ── heard ──> Overflow ── target ──> tokens          (anything else is raised again)
    request, error ── with_smaller_output ──> request         where the reply's limit alone was in the way

Only arithmetic: folding is the engine's, trying again the compactor's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from foldline.core.budget import Budget
from foldline.core.policy import emergency
from foldline.errors import CannotFit, Overflow
from foldline.model import Conversation
from foldline.overflow import output_too_long, understand

TRIES = 3
"""How often a refused prompt is made smaller before the refusal is passed on."""
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""What providers call the limit of the reply."""
BELIEVED = 0.5
"""Share of the limit below which a refused prompt cannot lie: the reply would have to have the rest."""
RESERVE_SHARE = 8
"""Of a window that turned out smaller than thought, what is kept for the reply."""


def heard(error: Any, tries: int) -> Overflow:
    """The overflow. Raises the provider's own error when it is something else, or was tried often enough."""
    said = understand(error)
    if not isinstance(said, Overflow) or tries >= TRIES:
        raise error if isinstance(error, BaseException) else said
    if said.tokens and said.limit and said.tokens < said.limit * BELIEVED:  # nothing of that size is too large
        return Overflow(str(said), status=said.status, limit=said.limit)
    return said


def target(said: Overflow, ours: int, room: int, tries: int) -> int:
    """Tokens, by our count, of a prompt that should be taken: below the provider's limit and below what it refused."""
    scale = said.tokens / ours if said.tokens and ours else 1.0
    limit = int((said.limit or room * scale) / scale)
    return emergency(min(limit, room), tries, ours).target


def with_smaller_output(request: Mapping[str, Any], error: Exception) -> dict[str, Any] | None:
    """The same request with a smaller output limit, where that alone is in the way."""
    excess = output_too_long(error)
    name = next((key for key in OUTPUT_LIMITS if isinstance(request.get(key), int)), None)
    if excess is None or name is None or not 1 <= excess.room < request[name]:
        return None
    return {**request, name: excess.room}


def smallest(cannot: CannotFit, most: int, error: Any) -> int:
    """The size to aim at where nothing is as small as was aimed at first: just below what was refused, for the smallest
    view there is has hardly more than its frame. Raises where that is not below it."""
    if cannot.tokens > most:
        raise cannot from (error if isinstance(error, BaseException) else None)
    return most


def must_be_smaller(view: Conversation, tokens: int, refused: int, error: Any) -> None:
    """Raises where what would be sent next is no smaller than what was refused: it would be refused again. Of a history
    that lies with the provider nothing can be made smaller, and its own error says most."""
    if tokens >= refused:
        if view.head.remote and isinstance(error, BaseException):
            raise error
        what = f"the provider refused {refused:,} tokens, and no view is smaller; a larger window would help"
        cannot = CannotFit(what, smallest=view, tokens=tokens, allowed=refused - 1)
        raise cannot from (error if isinstance(error, BaseException) else None)


def learnt(budget: Budget, window: int | None) -> Budget:
    """The budget in a window that a provider named, where that is smaller than thought."""
    if window is None or window >= budget.window:
        return budget
    return replace(budget, window=window, reserve=min(budget.reserve or 0, window // RESERVE_SHARE))
