"""What a view may have: tokens at the most, tokens to aim at, tokens that leave room for the next turns, and bytes.

    ground, options, decision ── limits_of ──> ViewLimits

Where a request may have only so many bytes, text may take only a matching part of the room. Pictures are few tokens and
many bytes, as are some texts: a view that is too heavy because of them is not taken. How the room is divided is decided
in rooms.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from foldline.core.counting.budget import Budget
from foldline.core.counting.meter import Meter, Tally
from foldline.core.fold import newest_user
from foldline.core.ground import Ground
from foldline.core.options import Options
from foldline.core.policy import Decision, at_ease
from foldline.errors import CannotFit
from foldline.model import Media, Message

MARGIN = 0.97
"""Share of the bytes to aim at: a summary may have more bytes for its tokens than the messages had."""

FEWEST = 0.1
"""Tokens of a byte at the least: rulers and blanks have fewer, but what is written about them has not."""

AROUND = 60
"""Bytes around a checkpoint and what is carried behind it."""


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """The limits of one fold, in the provider's tokens and in bytes."""

    most: int
    target: int
    ease: int
    bytes: int | None = None

    def holds(self, size: Tally) -> bool:
        return size.tokens <= self.most and (self.bytes is None or size.bytes <= self.bytes)


def limits_of(ground: Ground, options: Options, meter: Meter, decision: Decision) -> ViewLimits:
    budget = options.budget
    share = 1.0 if budget.max_bytes is None else _text_share(ground, budget, budget.max_bytes, meter)
    most = min(options.to or budget.room, int(budget.room * share))
    asked_for = options.force and not options.ahead
    ease = most if asked_for else min(int(at_ease(budget) * share), most)
    return ViewLimits(most, min(int(decision.target * share), most), ease, budget.max_bytes)


def _text_share(ground: Ground, budget: Budget, most: int, meter: Meter) -> float:
    """The part of the room that text may take. The newest user message has what it has, if it can be shown whole: it
    may have many bytes for its tokens, or few, and says nothing of the others."""
    newest = newest_user(ground.messages)
    others = (message for at, message in enumerate(ground.messages) if at != newest)
    plain = tuple(message for message in others if not _shows(message))
    head, size = (meter.count(ground.conversation.with_messages(some)) for some in ((), plain))
    if size.bytes <= head.bytes:  # every message has pictures: only a finished view shows whether it fits
        return 1.0
    left = max(most - head.bytes - AROUND, 0) * MARGIN  # the head cannot be shortened
    tokens = float(head.tokens)
    if newest is not None and meter.bytes(ground.messages[newest]) <= left:
        left -= meter.bytes(ground.messages[newest])
        tokens += meter.message(ground.messages[newest]) * meter.ratio
    tokens += left * max((size.tokens - head.tokens) / (size.bytes - head.bytes), FEWEST)
    return min(tokens / budget.room, 1.0)


def _shows(message: Message) -> bool:
    """It has pictures or files."""
    parts = (*message.parts, *(part for result in message.results for part in result.content))
    return any(isinstance(part, Media) for part in parts)


def refusal(
    limits: ViewLimits, ground: Ground, options: Options, view: tuple[Message, ...], size: Tally, why: str = ""
) -> CannotFit:
    """Why nothing fits, and what would help; `why` is what else went wrong."""
    heavy = limits.bytes is not None and size.bytes > limits.bytes
    which = "with this pivot" if options.pivot is not None else "there is"
    found = f"{size.bytes:,} bytes, and {limits.bytes:,}" if heavy else f"{size.tokens:,} tokens, and {limits.most:,}"
    pins = " fewer pins," if options.pins or ground.pins else ""
    asked = not heavy and options.to is not None and limits.most == options.to
    larger = "a larger max_bytes" if heavy else "a larger `to`" if asked else "a larger window"
    if larger == "a larger window" and options.budget.reserves_for(ground.conversation.head.max_output):
        larger += ", a smaller limit for the reply"
    other = "another pivot" if options.pivot is not None else f"{larger},{pins} a smaller system prompt or fewer tools"
    beside = f" ({why})" if why else ""
    return CannotFit(
        f"the smallest view {which} has {found} are allowed; {other} would help{beside}",
        smallest=ground.conversation.with_messages(view),
        tokens=size.tokens,
        allowed=limits.most,
    )
