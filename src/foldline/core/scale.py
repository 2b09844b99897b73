"""How large a view is as it is sent: mended, counted, and compared with the one before it.

    view ── mended ──> Repaired        view ── sized ──> Tally        last, view ── cost ──> CacheCost

For one turn. The view that was mended or counted last is not mended or counted again. How a list is mended is in
repair.py, how tokens are counted in meter.py, and what a size leads to in policy.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from foldline.core.counting.meter import Meter, Tally
from foldline.core.history.repair import Repaired
from foldline.core.history.repairer import Repairer
from foldline.core.policy import CacheCost, cache_cost
from foldline.model import Conversation, Message


class Scale:
    """Weighs the views of one conversation."""

    def __init__(self, given: Conversation, meter: Meter, repairer: Repairer) -> None:
        self._given, self._meter, self._repairer = given, meter, repairer
        self._mended: tuple[tuple[Message, ...], Repaired] = (), Repaired(())
        """The view that was mended last, and what it became."""
        self._counted: tuple[tuple[Message, ...], Tally] | None = None
        """The view that was counted last, and its size."""

    def mended(self, view: tuple[Message, ...]) -> Repaired:
        if view != self._mended[0]:
            self._mended = view, self._repairer.repair(view, thinking=self._given.head.thinks_first)
        return self._mended[1]

    def sized(self, view: tuple[Message, ...]) -> Tally:
        """The size of a view as it is sent: mending may make it larger."""
        return self.count(self.mended(view).messages)

    def count(self, view: tuple[Message, ...]) -> Tally:
        """The size of a view with nothing mended."""
        if self._counted is None or self._counted[0] != view:
            self._counted = view, self._meter.count(self._given.with_messages(view))
        return self._counted[1]

    def count_anew(self) -> None:
        """Forgets the last count: to be called when other turns may have taught the meter meanwhile."""
        self._counted = None

    def alone(self, messages: Iterable[Message]) -> int:
        """Tokens of some messages without what stands around them."""
        return round(sum(map(self._meter.message, messages)) * self._meter.ratio)

    def cost(self, last: tuple[Message, ...], view: tuple[Message, ...]) -> CacheCost:
        """What replacing the last view with this one costs in the provider's prompt cache."""
        return cache_cost(self.count(last).tokens, self.count(view).tokens, self._shared(view, last))

    def _shared(self, view: tuple[Message, ...], last: tuple[Message, ...]) -> int:
        """Tokens at the beginning that the new view has in common with the last."""
        same = 0
        for one, other in zip(view, last, strict=False):
            if one is not other and one != other:
                break
            same += 1
        return self.count(view[:same]).tokens if same else 0
