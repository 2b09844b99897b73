"""Whole pieces of a conversation, for strategies that keep some of them: a tool cycle, or a message by itself.

    units(conversation)               indivisible, in order, system messages aside
    assembled(conversation, kept)     the conversation with only those, mended so that a provider takes it

What to keep is decided in baselines.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from foldline.core.history.cycles import pair
from foldline.core.history.repair import repair
from foldline.evals.splits import size
from foldline.model import Conversation, Message, Origin, Part, Text, ToolResult

NOTHING = "(nothing of the history fits here)"
SPARE = 24
"""Tokens left free for what mending adds: an opening where a provider wants the user first, a word between turns."""


@dataclass(frozen=True)
class Unit:
    """Messages that stay together, with their place and their tokens."""

    at: int
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        return size(self.messages)


def units(conversation: Conversation) -> list[Unit]:
    messages = conversation.messages
    stops = {cycle.start: cycle.stop for cycle in pair(messages, conversation.grammar).cycles}
    found: list[Unit] = []
    at = 0
    while at < len(messages):
        stop, inner = at + 1, at
        while inner < stop:  # cycles that overlap are one unit
            stop = max(stop, stops.get(inner, 0))
            inner += 1
        if messages[at].role != "system":
            found.append(Unit(at, messages[at:stop]))
        at = stop
    return found


def assembled(conversation: Conversation, kept: Iterable[Unit]) -> Conversation:
    """System messages, and the units in their order."""
    places = {unit.at: unit.messages for unit in kept}
    system = {at: (message,) for at, message in enumerate(conversation.messages) if message.role == "system"}
    whole = {**system, **places}
    messages = [message for at in sorted(whole) for message in whole[at]]
    if not places:
        messages.append(Message("user", Origin.PROGRAM, (Text(NOTHING),)))
    return conversation.with_messages(repair(messages, conversation.grammar).messages)


def noted(conversation: Conversation, text: str, kept: Iterable[Unit] = ()) -> Conversation:
    """A view that is one message of text under the user's name, and units behind it."""
    first = Unit(-1, (Message("user", Origin.SUMMARY, (Text(text or "(nothing)"),)),))
    return assembled(conversation, [first, *kept])


def is_result(message: Message, part: Part) -> bool:
    """A tool's answer, also where a transcript writes it as text."""
    return type(part) is ToolResult or (type(part) is Text and message.origin is Origin.TOOL)


def result_text(part: Part) -> str:
    return part.text if isinstance(part, (ToolResult, Text)) else ""


def with_results(message: Message, change: Callable[[str], str]) -> Message:
    """The message with the text of its tools' answers changed."""
    if not any(is_result(message, part) for part in message.parts):
        return message
    return message.with_parts(_changed(message, part, change) for part in message.parts)


def _changed(message: Message, part: Part, change: Callable[[str], str]) -> Part:
    if not is_result(message, part):
        return part
    text = change(result_text(part))
    if isinstance(part, ToolResult):
        return replace(part, content=(Text(text),)) if text != part.text else part
    return replace(part, text=text) if isinstance(part, Text) else part


def newest(found: Sequence[Unit], room: int) -> list[Unit]:
    """As many of the last units as fit, one after the other; the first that does not is clipped into what is left."""
    kept: list[Unit] = []
    for unit in reversed(found):
        if unit.tokens > room:
            kept += clamped(unit, room)
            break
        kept.append(unit)
        room -= unit.tokens
    return kept[::-1]


def clamped(unit: Unit, room: int) -> list[Unit]:
    """The unit with its results cut until it fits; nothing when it cannot."""
    for length in (4000, 2000, 1000, 400, 100):
        short = Unit(unit.at, tuple(with_results(m, lambda text, n=length: text[-n:]) for m in unit.messages))  # type: ignore[misc]
        if short.tokens <= room:
            return [short]
    return []
