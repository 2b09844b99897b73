"""A mapping that holds what was put into it last, and no more than so many entries.

    Recent(most)[key] = value ──> the entry that was put in longest ago goes, where there is one too many

Whoever also counts a lookup as a use puts the value back in. Knows nothing of locks.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """The `most` entries that were put in last, the oldest first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self.most:
            self.popitem(last=False)
