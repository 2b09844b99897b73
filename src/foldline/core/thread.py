"""What one turn of a conversation leaves for the next: what was looked at already, and which views were shown.

    Thread ── turn ──> view ── showing ──> Thread of the next turn

A view should begin with the one before it, for then the provider's prompt cache holds. Whether it does is seen here, by
what was really shown. A turn that is left nothing knows only the saved plan: how a view is made again from that is in
ground.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypeVar

from foldline.core.checkpoints.returned import Returned
from foldline.core.history.prefix import shared
from foldline.core.history.repairer import Repairer
from foldline.core.history.skeleton import Chain
from foldline.core.story import Story
from foldline.model import EMPTY, Grammar, Message, Opaque, Part, ToolResult

AnyPart = TypeVar("AnyPart", bound=Part)
BRANCHES = 4
"""Views that are remembered of histories that begin alike: forks, rewinds, requests beside the session."""


@dataclass(frozen=True, slots=True)
class Last:
    """A view that was shown, and the end of the history that it showed: its digest, and how many messages."""

    view: tuple[Message, ...] = ()
    skeleton: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Thread:
    """What one turn of a conversation hands to the next, so that each works only on what is new."""

    chain: Chain
    returned: Returned
    repairer: Repairer
    """Repairs the view."""
    story: Story
    """Follows the whole history."""
    last: tuple[Last, ...] = ()
    """What was shown last of this history, and of others that begin alike: the newest first."""

    @classmethod
    def begin(cls, grammar: Grammar) -> Thread:
        return cls(Chain(), Returned(), Repairer(grammar), Story(grammar))

    def showing(self, view: tuple[Message, ...], count: int) -> Thread:
        """The same, once this view of the turn's history is shown, which has so many messages."""
        stops = self.chain.stops
        shown = Last(view, stops[-1] if stops else "", count)
        others = (last for last in self.last if last.skeleton not in reversed(stops))
        return replace(self, last=(shown, *others)[:BRANCHES])

    def broken(self, view: tuple[Message, ...], count: int) -> Last | None:
        """What was shown last of the turn's history, if this view of it does not begin with that: what a repair put at
        its end is gone, or its plan was not found again."""
        last = self._shown_last()
        if last is None or goes_on(last.view, view):
            return None
        return last if count >= last.count or last.skeleton != self.chain.stops[-1] else None

    def is_extended_by(self, view: tuple[Message, ...]) -> bool:
        """What was shown last of the turn's history is known, and this view begins with it."""
        last = self._shown_last()
        return last is not None and goes_on(last.view, view)

    def _shown_last(self) -> Last | None:
        """What was shown last of the turn's history: of several views, that of its longest part."""
        stops = self.chain.stops
        shown = (last for last in self.last if last.skeleton in reversed(stops))
        return max(shown, key=lambda last: last.count, default=None)


def goes_on(last: tuple[Message, ...], now: tuple[Message, ...]) -> bool:
    """The later view begins with the last one, but for what the client itself sends otherwise, such as cache marks."""
    at = shared(last, now)
    there = zip_longest(last[at:], now[at : len(last)])
    return all(new is not None and (old == new or _sent_otherwise(old, new)) for old, new in there)


def _sent_otherwise(old: Message, new: Message) -> bool:
    """Both are as they came; or both are ours, such as stubs, and only their marks differ."""
    if old.role != new.role or (old.raw is None) != (new.raw is None):
        return False
    return old.raw is not None or _unmarked(old) == _unmarked(new)


def _unmarked(message: Message) -> tuple[Part, ...]:
    """The parts without a client's further fields of them, and of what stands inside results. A mark inside a result
    makes a list of its content."""
    return tuple(map(_plain, message.parts))


def _plain(part: AnyPart) -> AnyPart:
    if isinstance(part, ToolResult):
        return replace(part, content=tuple(map(_plain, part.content)), form="", extra=EMPTY)
    return part if isinstance(part, Opaque) else replace(part, extra=EMPTY)
