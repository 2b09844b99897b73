"""After a provider refused a prompt as too large: what it said, and how much smaller the next one has to be.

    error ── heard ──> Overflow ── target ──> tokens          (anything else is raised again)
    request, error ── with_smaller_output ──> request         where the reply's limit alone was in the way
    request, excess ── lowered ──> path, limit                the same for who writes it into the bytes himself

Only arithmetic: folding is the engine's, trying again the compactor's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

from foldline.core.counting.budget import Budget
from foldline.core.policy import emergency
from foldline.errors import CannotFit, Overflow
from foldline.model import Conversation
from foldline.overflow import Excess, output_too_long, understand

Path: TypeAlias = tuple[str, ...]
"""The way from the top of a request to a value inside it."""
TRIES = 3
"""How often a refused prompt is made smaller before the refusal is passed on."""
_CONFIGS = ("generationConfig", "generation_config", "config")
"""Where Gemini's requests keep their settings: over HTTP, as protobuf spells it, in its SDK."""
OUTPUT_LIMITS: tuple[Path, ...] = (
    ("max_completion_tokens",),
    ("max_tokens",),
    ("max_output_tokens",),
    *product(_CONFIGS, ("maxOutputTokens", "max_output_tokens")),
)
"""Where requests keep the limit of the reply. Of two, servers go by the first."""
THINKING: tuple[Path, ...] = (
    ("thinking", "budget_tokens"),
    ("reasoning", "max_tokens"),
    *product(_CONFIGS, ("thinkingConfig", "thinking_config"), ("thinkingBudget", "thinking_budget")),
)
"""Where Anthropic, OpenRouter and Gemini keep what may be thought before the answer, out of the same limit."""
USEFUL = 1_000
"""Tokens that are left for the answer itself, at the least: a call with a short edit. Less ends in the middle of it."""
BELIEVED = 0.5
"""Share of the limit below which a refused prompt cannot lie: the reply would have to have the rest. Nor can it lie so
far below the least that we take it for: then the numbers are about something else, such as a text that is quoted."""
RESERVE_PART = 8
"""Of a window that turned out smaller than thought, what is kept for the reply."""


def heard(error: Any, tries: int, least: int = 0, taken: int = 0) -> Overflow:
    """The overflow, as far as it can be believed. Raises the provider's own error when it is something else, or was
    tried often enough."""
    said = understand(error)
    if not isinstance(said, Overflow) or tries >= TRIES:
        raise error if isinstance(error, BaseException) else said
    return believed(said, least, taken)


def believed(said: Overflow, least: int, taken: int) -> Overflow:
    """The overflow with those of its numbers that can be about a prompt of `least` tokens or more, of a provider that
    has answered one of `taken`."""
    tokens, limit = said.tokens, said.limit
    if tokens and tokens < least * BELIEVED:
        tokens = limit = None
    if limit and limit < taken:
        limit = None
    if tokens and limit and tokens < limit * BELIEVED:  # nothing of that size is too large
        tokens = None
    same = (tokens, limit) == (said.tokens, said.limit)
    return said if same else Overflow(str(said), status=said.status, tokens=tokens, limit=limit)


class Windows:
    """What is known of models' windows beside the budget: the limits that providers named, and how much they took."""

    def __init__(self, taken: dict[str, int] | None = None) -> None:
        self._limits: dict[str, int] = {}
        self.taken = {} if taken is None else taken
        """The largest prompt of each model that was answered, in tokens."""

    def took(self, model: str, tokens: int) -> None:
        """A prompt of so many tokens was answered: a limit below that was none, or holds no longer."""
        self.taken[model] = max(tokens, self.taken.get(model, 0))
        if self._limits.get(model, tokens) < tokens:
            del self._limits[model]

    def named(self, model: str, limit: int | None) -> None:
        """The provider named its limit, which holds from now on."""
        if limit is not None and limit >= self.taken.get(model, 0):
            self._limits[model] = min(limit, self._limits.get(model, limit))

    def within(self, budget: Budget, model: str) -> Budget:
        """The budget in the window that was named, where that is smaller than thought."""
        window = self._limits.get(model)
        if window is None or window >= budget.window:
            return budget
        return replace(budget, window=window, reserve=min(budget.reserve or 0, window // RESERVE_PART))


def target(said: Overflow, ours: int, room: int, tries: int) -> int:
    """Tokens, by our count, of a prompt that should be taken: below the provider's limit and below what it refused."""
    scale = said.tokens / ours if said.tokens and ours else 1.0
    limit = int((said.limit or room * scale) / scale)
    return emergency(min(limit, room), tries, ours)


def with_smaller_output(request: Mapping[str, Any], error: Exception) -> dict[str, Any] | None:
    """The same request with a smaller output limit, where that alone is in the way."""
    excess = output_too_long(error)
    found = lowered(request, excess) if excess is not None else None
    return _with(request, *found) if found is not None else None


def lowered(request: Any, excess: Excess) -> tuple[Path, int] | None:
    """Where a request keeps its output limit, and the limit that fits.

    None where too little would be left: a provider refuses a limit that is not above what may be thought, and half an
    answer is none. Then a fold helps.
    """
    if excess.room < _thinking(request) + USEFUL:
        return None
    paths = (path for path, wished in _whole_numbers(request, OUTPUT_LIMITS) if excess.room < wished)
    path = next(paths, None)
    return (path, excess.room) if path is not None else None


def _thinking(request: Any) -> int:
    """Tokens that a request wants to think at the most. Gemini's -1 (as it likes) is no number of tokens."""
    return max((0, *(wished for _, wished in _whole_numbers(request, THINKING))))


def _whole_numbers(request: Any, paths: tuple[Path, ...]) -> Iterator[tuple[Path, int]]:
    """Those of the paths at which a number is, and the numbers."""
    for path in paths:
        value = request
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if isinstance(value, int):
            yield path, value


def _with(request: Mapping[str, Any], path: Path, value: int) -> dict[str, Any]:
    """The request with another value at a path that it has."""
    first, rest = path[0], path[1:]
    return {**request, first: _with(request[first], rest, value) if rest else value}


def require_below(cannot: CannotFit, most: int, error: Any) -> None:
    """Raises where the smallest view there is has more than `most` tokens: there is nothing smaller to try."""
    if cannot.tokens > most:
        raise cannot from _cause(error)


def must_be_smaller(view: Conversation, tokens: int, refused: int, error: Any) -> None:
    """Raises where what would be sent next is no smaller than what was refused: it would be refused again. Of a history
    that lies with the provider nothing can be made smaller, and its own error says most."""
    if tokens >= refused:
        if view.head.remote and isinstance(error, BaseException):
            raise error
        what = f"the provider refused {refused:,} tokens, and no view is smaller; a larger window would help"
        cannot = CannotFit(what, smallest=view, tokens=tokens, allowed=refused - 1)
        raise cannot from _cause(error)


def _cause(error: Any) -> BaseException | None:
    """What a provider refused with may be an exception, or a response that tells of it."""
    return error if isinstance(error, BaseException) else None
