"""How much a prompt may use: window less reserve, and the marks at which something is done.

Values only. Which model has which window is in `foldline.models`; what to do at a mark is in `policy`.

    |<------------------------------ window ------------------------------>|
    |<-------------------- room ------------------------->|<--- reserve -->|
    |              target          prune_at     compact_at|   the reply    |
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self, TypedDict, Unpack

from foldline.core.arguments import is_whole
from foldline.errors import InvalidSetting
from foldline.model import Notice

RESERVE_PART = 8
"""The reserve for the reply where none is given: one part in eight of the window."""

RESERVE_MOST = 16_384
"""The most tokens of such a reserve: longer replies are rare, and whoever wants one says so in the request."""

OUTPUT_PART = 2
"""A request's own output limit may take at most half of the window: larger limits are wishes, not needs."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model. `max_output` is the longest reply it can write; None: not known."""

    name: str
    window: int
    max_output: int | None = None
    source: str = ""
    notices: tuple[Notice, ...] = ()


class Marks(TypedDict, total=False):
    """The marks of a budget that differ from the default."""

    prune_at: float
    compact_at: float
    target: float


@dataclass(frozen=True)
class Budget:
    """Tokens of the window, tokens kept for the reply, and the marks between, as shares of the room.

    `max_bytes` is the largest request the provider takes, whatever its tokens: pictures are few tokens and many bytes.
    Messages, system prompt and tools are counted: take off what else a request has, such as a schema for its reply.
    """

    window: int
    reserve: int | None = None
    max_bytes: int | None = None
    prune_at: float = 0.70
    compact_at: float = 1.0
    target: float = 0.50
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    room: int = field(init=False)
    """What a prompt may use: window less reserve."""

    def __post_init__(self) -> None:
        _positive("window", self.window)
        if self.max_bytes is not None:
            _positive("max_bytes", self.max_bytes)
        reserve = _default_reserve(self.window) if self.reserve is None else self.reserve
        if not is_whole(reserve) or reserve < 0:
            raise InvalidSetting(
                f"reserve is {reserve!r}; give the tokens to keep for the reply: a whole number from 0"
            )
        if reserve >= self.window:
            said = f"reserve ({reserve:,}) leaves no room in a window of {self.window:,}; make it smaller"
            raise InvalidSetting(said)
        self._check_marks()
        object.__setattr__(self, "reserve", reserve)
        object.__setattr__(self, "room", self.window - reserve)

    def _check_marks(self) -> None:
        marks = (self.target, self.prune_at, self.compact_at)
        numbers = all(isinstance(mark, (int, float)) for mark in marks)
        if not numbers or not 0 < self.target <= self.prune_at <= self.compact_at <= 1:
            raise InvalidSetting(
                "the marks must rise from above 0 to 1: target ≤ prune_at ≤ compact_at; "
                f"they are {', '.join(map(str, marks))}"
            )

    @classmethod
    def of(
        cls, info: ModelInfo, *, reserve: int | None = None, max_bytes: int | None = None, **marks: Unpack[Marks]
    ) -> Self:
        """The budget of a model. The reserve is never more than the model can write."""
        if reserve is None:
            reserve = min(_default_reserve(info.window), info.max_output or info.window)
        return cls(info.window, reserve, max_bytes, notices=info.notices, **marks)

    def at(self, share: float) -> int:
        """A mark in tokens."""
        return round(self.room * share)

    def reserving(self, max_output: int | None) -> Self:
        """The same budget with room for a request's own output limit, where that is more than the reserve."""
        wanted = self._wanted(max_output)
        return replace(self, reserve=wanted) if wanted > self.window - self.room else self

    def reserves_for(self, max_output: int | None) -> bool:
        """The reserve is as large as it is for the sake of a request's own output limit."""
        return 0 < self._wanted(max_output) == self.window - self.room

    def _wanted(self, max_output: int | None) -> int:
        return min(max_output or 0, self.window // OUTPUT_PART)


def _default_reserve(window: int) -> int:
    return min(window // RESERVE_PART, RESERVE_MOST)


def _positive(name: str, value: int) -> None:
    if not is_whole(value):
        raise InvalidSetting(f"{name} is {value!r}; it must be a whole number")
    if value <= 0:
        raise InvalidSetting(f"{name} is {value}; it must be 1 or more")
