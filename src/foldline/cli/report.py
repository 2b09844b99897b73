"""What `foldline inspect` finds out: where the tokens of a conversation are, and what could free some.

    conversation, meter ── inspect ──> Inspection

Pure: it draws nothing and reads no file. The same value becomes the table for people and the JSON for programs, so its
field names are documented in docs/cli.md. Nothing is changed: prune, select and cut are tried on copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from foldline.cli.screen import count
from foldline.core.counting.meter import Meter
from foldline.core.history.cuts import MIN_KEEP, choose, legal
from foldline.core.history.cycles import Pairing, pair
from foldline.core.history.repair import repair
from foldline.core.prune import prune
from foldline.core.said.usertext import own_words
from foldline.core.select import Strategy, select
from foldline.core.words.text import head
from foldline.model import Conversation, Head, Media, Message, Notice, Origin, Part, Thinking, ToolCall, ToolResult

QUARTERS = ("oldest quarter", "second quarter", "third quarter", "newest quarter")
SIZES = (250, 1_000, 4_000, 16_000)
"""Borders between sizes of results, in tokens: a line, a screen, a file, a large file, and what fills windows."""
KEPT_PART = 4
"""The second cut shown keeps the last quarter of the tokens."""
TURN_LENGTH = 80
"""Characters of what the user said that are enough to know it again."""
UNKNOWN_TOOL = "(unknown)"
"""Where results go whose call is not in the conversation."""


@dataclass(frozen=True, slots=True)
class Share:
    """One row of a table: how many parts (or messages) it stands for, and their tokens."""

    name: str
    count: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Turn:
    """Where the user spoke: the message's number, from 1, the tokens of all messages before it, and its first words."""

    number: int
    tokens_before: int
    text: str


@dataclass(frozen=True, slots=True)
class Tier:
    """One way of making room: what it would free, what would be left, and what it would do."""

    name: str
    freed: int
    left: int
    detail: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """Everything `inspect` tells. The true size is between `low` and `high`; `full` is the share of the window."""

    dialect: str
    model: str
    window: int | None
    full: float | None
    tokens: int
    low: int
    high: int
    counter: str
    messages: int
    cycles: int
    cuts: int
    compactions: int
    repairs: Mapping[str, int]
    notices: tuple[Notice, ...]
    by_origin: tuple[Share, ...]
    by_tool: tuple[Share, ...]
    by_age: tuple[Share, ...]
    by_size: tuple[Share, ...]
    turns: tuple[Turn, ...]
    tiers: tuple[Tier, ...]

    def to_json(self) -> dict[str, Any]:
        """The documented shape."""
        return asdict(self)


class Scale:
    """Weighs parts and messages in the model's tokens: our count of text times the meter's ratio; media as they are."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._frame = meter.message(Message("user", Origin.USER, ()))
        self._known: dict[int, tuple[Message, float]] = {}  # by id, with the message, so that the id stays its own

    @property
    def frame(self) -> float:
        return self._frame * self._meter.ratio

    def part(self, part: Part) -> float:
        raw = self._raw(part)
        pictures = (part,) if isinstance(part, Media) else part.content if isinstance(part, ToolResult) else ()
        media = sum(self._raw(inner) for inner in pictures if isinstance(inner, Media))
        return media + (raw - media) * self._meter.ratio

    def message(self, message: Message) -> float:
        if id(message) not in self._known:
            self._known[id(message)] = (message, self.frame + sum(map(self.part, message.parts)))
        return self._known[id(message)][1]

    def messages(self, messages: Iterable[Message]) -> float:
        return sum(map(self.message, messages))

    def head(self, head: Head) -> float:
        """The system prompt and the tools, with the framing of the whole."""
        return self._meter.count(Conversation("", (), head)).raw * self._meter.ratio

    def _raw(self, part: Part) -> int:
        return self._meter.message(Message("user", Origin.USER, (part,))) - self._frame


class _Sums:
    """Rows of a table being filled."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._rows: dict[str, tuple[int, float]] = dict.fromkeys(names, (0, 0.0))

    def add(self, name: str, tokens: float, count: int = 1) -> None:
        had = self._rows.get(name, (0, 0.0))
        self._rows[name] = (had[0] + count, had[1] + tokens)

    def shares(self) -> tuple[Share, ...]:
        return tuple(Share(name, count, round(tokens)) for name, (count, tokens) in self._rows.items())

    def largest_first(self) -> tuple[Share, ...]:
        return tuple(sorted(self.shares(), key=lambda share: (-share.tokens, share.name)))


def inspect(conversation: Conversation, meter: Meter, *, model: str = "", window: int | None = None) -> Inspection:
    """Where the tokens of a conversation are. `model` is told when the conversation does not name its own."""
    messages, scale = conversation.messages, Scale(meter)
    tally = meter.count(conversation)
    pairing = pair(messages, conversation.grammar)
    return Inspection(
        dialect=conversation.dialect,
        model=model or conversation.head.model,
        window=window,
        full=round(tally.tokens / window, 4) if window else None,
        tokens=tally.tokens,
        low=tally.low,
        high=tally.high,
        counter=meter.counter.name,
        messages=len(messages),
        cycles=sum(bool(cycle.calls) for cycle in pairing.cycles),
        cuts=len(legal(messages, pairing) - {0}),
        compactions=len(conversation.compactions),
        repairs=dict(repair(messages, conversation.grammar, pairing, thinking=conversation.head.thinks_first).counts()),
        notices=conversation.notices,
        by_origin=_by_origin(conversation, scale),
        by_tool=_by_tool(messages, pairing, scale),
        by_age=_by_age(messages, scale),
        by_size=_by_size(messages, scale),
        turns=tuple(_turns(messages, scale)),
        tiers=_tiers(conversation, pairing, scale, meter, tally.tokens),
    )


def _by_origin(conversation: Conversation, scale: Scale) -> tuple[Share, ...]:
    sums = _Sums()
    head = conversation.head
    system = scale.head(Head(system=head.system))
    if system:
        sums.add("system prompt" if head.system else "framing", system, len(head.system))
    if head.tools:
        sums.add("tool definitions", scale.head(head) - system, len(head.tools))
    for message in conversation.messages:
        sums.add(_heading(message.parts[0], message) if message.parts else message.origin.value, scale.frame, 0)
        for part in message.parts:
            sums.add(_heading(part, message), scale.part(part))
    return sums.largest_first()


def _heading(part: Part, message: Message) -> str:
    """Under which heading a part is counted: what it is, where that says more than who spoke."""
    kinds = {Thinking: "thinking", ToolCall: "tool calls", ToolResult: "tool results"}
    return kinds.get(type(part), message.origin.value)


def _by_tool(messages: Sequence[Message], pairing: Pairing, scale: Scale) -> tuple[Share, ...]:
    """Each tool's calls, with the tokens of the calls and of their results."""
    sums = _Sums()
    for cycle in pairing.cycles:
        for place, answer in zip(cycle.calls, cycle.answers, strict=True):
            call = messages[place.message].calls[place.nth]
            sums.add(call.name or UNKNOWN_TOOL, scale.part(call))
            if answer is not None:
                sums.add(call.name or UNKNOWN_TOOL, scale.part(messages[answer.message].results[answer.nth]), 0)
    for place in (*pairing.orphans, *pairing.duplicates):
        result = messages[place.message].results[place.nth]
        sums.add(result.name or UNKNOWN_TOOL, scale.part(result), 0)
    return sums.largest_first()


def _by_age(messages: Sequence[Message], scale: Scale) -> tuple[Share, ...]:
    borders = [len(messages) * quarter // len(QUARTERS) for quarter in range(len(QUARTERS) + 1)]
    return tuple(
        Share(name, stop - start, round(scale.messages(messages[start:stop])))
        for name, (start, stop) in zip(QUARTERS, pairwise(borders), strict=True)
    )


def _by_size(messages: Sequence[Message], scale: Scale) -> tuple[Share, ...]:
    names = _size_names()
    sums = _Sums(names)
    for message in messages:
        for result in message.results:
            tokens = scale.part(result)
            sums.add(names[sum(tokens >= border for border in SIZES)], tokens)
    return sums.shares()


def _size_names() -> tuple[str, ...]:
    between = (f"{low:,} to {high:,}" for low, high in pairwise(SIZES))
    return (f"under {SIZES[0]:,}", *between, f"{SIZES[-1]:,} and more")


def _turns(messages: Sequence[Message], scale: Scale) -> Iterable[Turn]:
    before = 0.0
    for number, message in enumerate(messages, 1):
        words = own_words(message)
        if words:
            yield Turn(number, round(before), head(" ".join(words.split()), TURN_LENGTH))
        before += scale.message(message)


def _tiers(conversation: Conversation, pairing: Pairing, scale: Scale, meter: Meter, tokens: int) -> tuple[Tier, ...]:
    """What is pruned or selected is counted as those commands count it, so that they free what was said here."""

    def tier(name: str, freed: int, detail: str) -> Tier:
        return Tier(name, freed, max(0, tokens - freed), detail)

    def without(messages: tuple[Message, ...]) -> int:
        return tokens - meter.count(conversation.with_messages(messages)).tokens

    messages = conversation.messages
    pruned = prune(messages)
    chosen = select(messages, Strategy(), conversation.grammar, lambda message: round(scale.message(message)), pairing)
    return (
        tier("prune", without(pruned.messages), f"{count(len(pruned.stubs), 'result')} shortened"),
        tier("select", without(chosen.messages), f"{count(chosen.count_after, 'message')} kept"),
        *(tier(name, *cut) for name, cut in _cuts(messages, pairing, scale)),
    )


def _cuts(messages: Sequence[Message], pairing: Pairing, scale: Scale) -> Iterable[tuple[str, tuple[int, str]]]:
    """Folding everything but the end, at two places. The summary that would stand for it is not counted."""
    positions, sizes = legal(messages, pairing), [round(scale.message(message)) for message in messages]
    places = {
        f"cut, last {MIN_KEEP} messages kept": choose(positions, sizes),
        "cut, last 25 % kept": choose(positions, sizes, tokens=sum(sizes) // KEPT_PART),
    }
    for name, place in places.items():
        yield name, (sum(sizes[:place]), f"{count(place, 'message')} folded" if place else "too short to cut")
