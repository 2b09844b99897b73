"""Selection: a smaller history made of whole original messages, without any model.

    messages, strategy ── select ──> Selected (messages, why each was kept, tokens before and after)

It keeps system messages, messages with a keyword, tool results, and the last few, in their order. A message is never
kept without the rest of its tool cycle, and what a promise protects (system, the newest user message, the last message)
stays whatever the strategy says; the result names such overrides. Nothing is merged or rewritten. The strategy itself,
saved and loaded, is in strategy.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from foldline.core.history.cycles import Pairing, begins_with_thinking, open_loop, pair
from foldline.core.strategy import Strategy
from foldline.core.words.keywords import pattern
from foldline.errors import MalformedInput
from foldline.model import Grammar, Message, Notice, Origin, ToolResult

__all__ = ["Selected", "Strategy", "is_users", "select"]


@dataclass(frozen=True, slots=True)
class Selected:
    """What was kept, and its measures. `reasons[i]` says why messages[i] is there."""

    messages: tuple[Message, ...]
    indices: tuple[int, ...]
    reasons: tuple[str, ...]
    count_before: int
    tokens_before: int
    tokens_after: int
    notices: tuple[Notice, ...] = ()

    @property
    def count_after(self) -> int:
        return len(self.messages)

    @property
    def tokens_saved(self) -> int:
        return self.tokens_before - self.tokens_after

    def to_json(self) -> str:
        """The figures and reasons; the messages themselves are written by their dialect."""
        names = ("count_before", "count_after", "tokens_before", "tokens_after", "tokens_saved", "indices", "reasons")
        notices = [asdict(notice) for notice in self.notices]
        return json.dumps({**{name: getattr(self, name) for name in names}, "notices": notices})

    @classmethod
    def from_json(cls, text: str, messages: Sequence[Message]) -> Selected:
        """The saved result, over the list it was made from."""
        try:
            saved = json.loads(text)
            known = {name: saved[name] for name in ("count_before", "tokens_before", "tokens_after")}
            chosen = tuple(messages[index] for index in saved["indices"])
            notices = tuple(Notice(**notice) for notice in saved["notices"])
            return cls(chosen, tuple(saved["indices"]), tuple(saved["reasons"]), **known, notices=notices)
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise MalformedInput(f"not a saved selection of these {len(messages)} messages: {error!r}") from None


def select(
    messages: Sequence[Message],
    strategy: Strategy,
    grammar: Grammar,
    size: Callable[[Message], int],
    pairing: Pairing | None = None,
) -> Selected:
    """The messages the strategy keeps. `size` measures one message in tokens."""
    pairing = pairing or pair(messages, grammar)
    reasons = _wanted(messages, strategy)
    notices = _protect(messages, reasons)
    units = _units(messages, pairing)
    _lead(messages, reasons, pairing)
    if grammar.user_first:
        _hold_system(messages, reasons)
    _complete(reasons, units)
    _separate(messages, reasons, units)
    indices = tuple(sorted(reasons))
    return Selected(
        messages=tuple(messages) if len(indices) == len(messages) else tuple(messages[index] for index in indices),
        indices=indices,
        reasons=tuple(reasons[index] for index in indices),
        count_before=len(messages),
        tokens_before=sum(map(size, messages)),
        tokens_after=sum(size(messages[index]) for index in indices),
        notices=notices,
    )


def _wanted(messages: Sequence[Message], strategy: Strategy) -> dict[int, str]:
    """What the strategy itself asks for."""
    keywords = pattern(strategy.keep_keywords)
    recent = len(messages) - strategy.keep_recent
    reasons: dict[int, str] = {}
    for index, message in enumerate(messages):
        if index >= recent:
            reasons[index] = "recent"
        elif message.role == "system" and strategy.keep_system:
            reasons[index] = "system"
        elif message.results and strategy.keep_tool_results:
            reasons[index] = "tool result"
        elif keywords and (match := keywords.search(_said(message))):
            reasons[index] = f"keyword {match.group()}"
    return reasons


def _said(message: Message) -> str:
    """A message's own text and its results': a keyword counts in either."""
    return "\n".join((message.text, *(result.text for result in message.results)))


def _protect(messages: Sequence[Message], reasons: dict[int, str]) -> tuple[Notice, ...]:
    """Keeps system messages, the newest user message and the last message, whatever the strategy says."""
    notices = []
    system = [index for index, message in enumerate(messages) if message.role == "system" and index not in reasons]
    if system:
        reasons.update(dict.fromkeys(system, "system"))
        notices.append(Notice("keep-system", f"{len(system)} system messages were kept: they always are"))
    newest = next((index for index in range(len(messages) - 1, -1, -1) if is_users(messages[index])), None)
    if newest is not None and newest not in reasons:
        reasons[newest] = "newest user message"
        notices.append(Notice("keep-newest-user", "the newest user message was kept: it always is"))
    if messages and len(messages) - 1 not in reasons:
        reasons[len(messages) - 1] = "last message"
        notices.append(Notice("keep-last", "the last message was kept: it is what the model is to answer"))
    return tuple(notices)


def is_users(message: Message) -> bool:
    """The user's own words or pictures, not a tool's answer carried under the user's name."""
    own = any(type(part) is not ToolResult for part in message.parts)
    return message.role == "user" and message.origin is Origin.USER and own


def _units(messages: Sequence[Message], pairing: Pairing) -> list[range]:
    """The list as indivisible ranges: cycles, joined where they overlap, and every other message by itself."""
    units: list[range] = []
    cycles = {cycle.start: cycle.stop for cycle in pairing.cycles}
    index = 0
    while index < len(messages):
        stop = index + 1
        at = index
        while at < stop:
            stop = max(stop, cycles.get(at, 0))
            at += 1
        units.append(range(index, stop))
        index = stop
    return units


def _lead(messages: Sequence[Message], reasons: dict[int, str], pairing: Pairing) -> None:
    """Keeps the first step of an unfinished turn that began with thinking: a provider wants to see the thinking
    there."""
    loop = open_loop(pairing)
    if loop and begins_with_thinking(messages, loop[0]):
        reasons.setdefault(loop[0].start, "opens the turn")


def _hold_system(messages: Sequence[Message], reasons: dict[int, str]) -> None:
    """Keeps the neighbours of a system message inside the conversation: it must not stand just anywhere."""
    opened = next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))
    for index in range(opened + 1, len(messages)):
        if messages[index].role == "system":
            for beside in range(index - 1, min(index + 2, len(messages))):
                reasons.setdefault(beside, "beside a system message")


def _complete(reasons: dict[int, str], units: Sequence[range]) -> None:
    """Keeps the rest of each cycle of which a message is kept."""
    for unit in units:
        if len(unit) > 1 and any(index in reasons for index in unit):
            for index in unit:
                reasons.setdefault(index, "same tool cycle")


def _separate(messages: Sequence[Message], reasons: dict[int, str], units: Sequence[range]) -> None:
    """Keeps turns apart: the user's message before a step, and the step that ended a turn between results and the
    user's next words."""
    stepped, answered = True, False  # the last kept was a step without calls, or nothing; results came since a step
    passed: dict[str, range] = {}  # by role: the latest that was not kept since the last that was
    for unit in units:
        role, results = messages[unit.start].role, any(messages[index].results for index in unit)
        if unit.start not in reasons:
            passed |= {} if results else {role: unit}
            continue
        if role == "system":
            continue
        if role == "assistant" and stepped:
            reasons |= dict.fromkeys(passed.get("user", ()), "opens the turn")
        elif role == "user" and answered:
            reasons |= dict.fromkeys(passed.get("assistant", ()), "closes the turn")
            answered = "assistant" not in passed
        stepped = messages[unit[-1]].role == "assistant" and not messages[unit[-1]].results
        answered = results or (answered and role != "assistant")
        passed = {}
