"""Mends a message list until a provider accepts it, and says what it mended.

    messages, grammar ── repair ──> Repaired (messages, repairs)

Only for views: the log keeps what came. A list that needs nothing is returned unchanged. A tool's answer without a call
is quoted in a message of its own, labelled as such; a call without an answer gets one that says so. Only repetitions,
emptiness, thinking that led to nothing and white space at the very end are dropped, and every repair is counted.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Any

from foldline.core.history.cycles import Pairing, Place, ToolCycle, begins_with_thinking, open_loop, pair
from foldline.core.history.mend import Repair, mend_pairs
from foldline.model import EMPTY, VOID, Grammar, Message, Opaque, Origin, Part, Text, Thinking, ToolCall, ToolResult

__all__ = ["Repair", "Repaired", "at_end", "inside", "repair"]

OPENING = "[the conversation begins here]"
"""Stands in for the user's first message where a provider demands one and the history has none."""
NOTHING_SAID = "[an empty message]"
NO_MESSAGE = "[the tool failed and gave no message]"
GO_ON = "[go on]"
PAUSE = "[the turn was interrupted here]"
_CONTENT = ("content", "parts")
"""The fields in which dialects keep what a message says."""
_NAMING = frozenset({"role", "name", "id", "type", "status"})
"""Fields that only identify a message, and say nothing."""
_WEIGHTLESS = frozenset({"cache_control"})
"""Fields that say nothing by themselves; an empty text with any other field, such as a signature, stays."""


@dataclass(frozen=True, slots=True)
class Repaired:
    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...] = ()

    def counts(self) -> Mapping[str, int]:
        """How many repairs there are of each kind."""
        return Counter(repair.kind for repair in self.repairs) if self.repairs else EMPTY


def repair(
    messages: Sequence[Message], grammar: Grammar, pairing: Pairing | None = None, *, thinking: bool = False
) -> Repaired:
    """The list as a provider of this grammar accepts it. Pass the pairing if you have it.

    With `thinking`, the model must think: a turn that is still using tools begins with thinking, and the user speaks
    last.
    """
    body = inside(messages, grammar, pairing)
    return at_end(body, grammar, None if body.repairs else pairing, thinking=thinking)


def inside(messages: Sequence[Message], grammar: Grammar, pairing: Pairing | None = None) -> Repaired:
    """The list repaired, but for what it needs at its very end."""
    repairs: list[Repair] = []
    known = tuple(messages)
    found = pairing or pair(known, grammar)
    named = _ids(known, grammar, found, repairs)
    found = found if named is known else pair(named, grammar)
    said = _without_empty(mend_pairs(named, grammar, found, repairs), grammar, repairs)
    found = found if said is named else pair(said, grammar)
    known = _without_dangling(said, found, repairs)
    placed = _system_inside(_opening(known, grammar, repairs), grammar, repairs)
    return Repaired(_user_between(placed, grammar, repairs), tuple(repairs))


def at_end(body: Repaired, grammar: Grammar, pairing: Pairing | None, *, thinking: bool) -> Repaired:
    """The list with what it needs at its very end, which is gone once something comes after it. Pass the body's pairing
    if you have it."""
    repairs, known = list(body.repairs), body.messages
    if thinking:  # its turn begins with thinking, and the user speaks last
        known = _user_last(_paused(known, pairing or pair(known, grammar), repairs), repairs)
    if grammar.bare_end:
        known = _without_trailing_space(known, repairs)
    return body if known is body.messages else Repaired(known, tuple(repairs))


def _ids(
    messages: tuple[Message, ...], grammar: Grammar, pairing: Pairing, repairs: list[Repair]
) -> tuple[Message, ...]:
    """Gives a new id to a call whose id is taken, and to its result."""
    if not _has_twins(messages, grammar, pairing):
        return messages
    names = _Names(messages)
    taken: set[str] = set()
    renamed: dict[tuple[type[Part], Place], str] = {}
    for cycle in pairing.cycles:
        if not grammar.unique_ids:
            taken = set()
        for place, answer in zip(cycle.calls, cycle.answers, strict=True):
            call = messages[place.message].calls[place.nth]
            if call.id in taken:
                renamed[ToolCall, place] = name = names.free(call.id)
                if answer:
                    renamed[ToolResult, answer] = name
                repairs.append(Repair("duplicate-id", place.message, call.id))
            taken.add(call.id)
    return _renamed(messages, renamed)


def _has_twins(messages: tuple[Message, ...], grammar: Grammar, pairing: Pairing) -> bool:
    """Two calls share an id where none may: in the whole list, or in one step."""
    if grammar.unique_ids:
        ids = [call.id for cycle in pairing.cycles for call in _calls(messages, cycle)]
        return len(set(ids)) < len(ids)
    several = (cycle for cycle in pairing.cycles if len(cycle.calls) > 1)
    return any(len({call.id for call in _calls(messages, cycle)}) < len(cycle.calls) for cycle in several)


def _calls(messages: tuple[Message, ...], cycle: ToolCycle) -> Iterator[ToolCall]:
    return (messages[place.message].calls[place.nth] for place in cycle.calls)


class _Names:
    """Gives out ids that no call and no result has."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.taken = {call.id for message in messages for call in message.calls}
        self.taken |= {result.call_id for message in messages for result in message.results}
        self.numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))

    def free(self, name: str) -> str:
        found = next(free for number in self.numbers[name] if (free := f"{name}_{number}") not in self.taken)
        self.taken.add(found)
        return found


def _renamed(messages: tuple[Message, ...], renamed: Mapping[tuple[type[Part], Place], str]) -> tuple[Message, ...]:
    def parts(index: int, message: Message) -> Iterator[Part]:
        nth = {ToolCall: 0, ToolResult: 0}
        for part in message.parts:
            if isinstance(part, (ToolCall, ToolResult)):
                name = renamed.get((type(part), Place(index, nth[type(part)])))
                nth[type(part)] += 1
                part = _called(part, name) if name else part
            yield part

    touched = {place.message for _, place in renamed}
    return tuple(
        message.with_parts(parts(index, message)) if index in touched else message
        for index, message in enumerate(messages)
    )


def _called(part: ToolCall | ToolResult, name: str) -> ToolCall | ToolResult:
    """The part under another name, without the provider's own id for it, which was used twice as well."""
    extra = {key: value for key, value in part.extra.items() if key != "id"} or EMPTY
    return (
        replace(part, id=name, extra=extra) if isinstance(part, ToolCall) else replace(part, call_id=name, extra=extra)
    )


def _without_empty(messages: tuple[Message, ...], grammar: Grammar, repairs: list[Repair]) -> tuple[Message, ...]:
    """Removes empty texts where they are refused, and empty messages, except the user's: these separate two model
    steps. A result without content gets an empty text where its provider wants one; content in an unknown form is
    quoted.
    """
    if not repairs and all(_is_full(message, grammar) for message in messages):  # as nearly always
        return messages
    found: list[Message] = []
    for index, message in enumerate(messages):
        if _is_full(message, grammar) or _directs(message):
            found.append(message)
            continue
        kind, said = _saying(message)
        repairs.append(Repair(kind, index))
        found += [said] if said else []
    return tuple(found) if repairs else messages


def _saying(message: Message) -> tuple[str, Message | None]:
    """What was wrong with a message that has empty parts, and the message without them, if anything is left."""
    unread = {key: value for key, value in message.extra.items() if key in _CONTENT and value}
    if unread and not message.parts:
        extra = {key: value for key, value in message.extra.items() if key not in unread}
        return "unread-content", replace(message.with_parts(map(_quoted, unread.values())), extra=extra)
    parts = tuple(_filled(part) for part in message.parts if _says(part))
    if parts:
        return "void-result" if any(map(_is_void, message.parts)) else "empty-text", message.with_parts(parts)
    return "empty-message", _program(NOTHING_SAID) if message.role == "user" else None


def _is_full(message: Message, grammar: Grammar) -> bool:
    parts = message.parts
    if any(map(_is_void, parts)):
        return False
    if len(parts) == 1 and not grammar.empty_text:
        return _stays(parts[0])
    return bool(parts) and (grammar.empty_text or all(map(_stays, parts)))


def _directs(message: Message) -> bool:
    """A system message without words that sets something by another field: it is not empty."""
    fields = (value for key, value in message.extra.items() if key not in _NAMING and key not in _CONTENT)
    return message.role == "system" and not message.parts and any(fields)


def _quoted(value: Any) -> Text:
    return Text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _is_void(part: Part) -> bool:
    return type(part) is ToolResult and part.form == VOID


def _stays(part: Part) -> bool:
    """The part says something, so it stays as it is."""
    if type(part) is ToolResult:
        return not part.is_error or any(map(_says, part.content))
    return _says(part)


def _says(part: Part) -> bool:
    return type(part) is not Text or bool(part.text.strip()) or not part.extra.keys() <= _WEIGHTLESS


def _filled(part: Part) -> Part:
    """The part with what it lacks: a failure must have a message, and an answer must have content."""
    if isinstance(part, ToolResult) and not _stays(part):
        return replace(part, content=(Text(NO_MESSAGE),))
    return replace(part, content=(Text(""),), form="") if isinstance(part, ToolResult) and _is_void(part) else part


def _without_dangling(messages: tuple[Message, ...], pairing: Pairing, repairs: list[Repair]) -> tuple[Message, ...]:
    """Removes thinking at the end of a step, which providers refuse: it leads to nothing."""
    cut: dict[int, int] = {}  # message → how many of its parts stay
    for cycle in pairing.cycles:
        for index in range(cycle.step_stop - 1, cycle.start - 1, -1):
            parts = messages[index].parts
            if parts and type(parts[-1]) is not Thinking:  # as nearly always
                break
            stays = len(parts)
            while stays and type(parts[stays - 1]) is Thinking:
                stays -= 1
            if stays < len(parts):
                cut[index] = stays
            if stays:
                break
    repairs.extend(Repair("dangling-thinking", index) for index in sorted(cut))
    shortened = (
        (message.with_parts(message.parts[: cut[index]]) if index in cut else message, cut.get(index))
        for index, message in enumerate(messages)
    )
    return tuple(message for message, stays in shortened if stays != 0) if cut else messages


def _opening(messages: tuple[Message, ...], grammar: Grammar, repairs: list[Repair]) -> tuple[Message, ...]:
    """Adds a message of the program's where the user must speak first, or where mending has left nothing."""
    first = next((index for index, message in enumerate(messages) if message.role != "system"), None)
    if first is None and not repairs:
        return messages
    if first is not None and (messages[first].role == "user" or not grammar.user_first):
        return messages
    at = len(messages) if first is None else first
    repairs.append(Repair("no-user-first", at))
    return (*messages[:at], _program(OPENING), *messages[at:])


def _user_between(messages: tuple[Message, ...], grammar: Grammar, repairs: list[Repair]) -> tuple[Message, ...]:
    """Puts a message between two steps where turns must alternate and the second step calls tools."""
    if grammar.merges or not grammar.user_first:
        return messages
    meeting = {
        index
        for index, (before, after) in enumerate(pairwise(messages), 1)
        if before.role == after.role == "assistant" and after.calls
    }
    repairs.extend(Repair("no-user-between", index) for index in sorted(meeting))
    pieces = ((_program(GO_ON), message) if index in meeting else (message,) for index, message in enumerate(messages))
    return tuple(message for piece in pieces for message in piece) if meeting else messages


def _system_inside(messages: tuple[Message, ...], grammar: Grammar, repairs: list[Repair]) -> tuple[Message, ...]:
    """Moves system messages where the user must speak first: each stands between the user and the model, or at the
    end."""
    if not grammar.user_first or not any(message.role == "system" for message in messages):
        return messages
    found: list[Message] = []
    waiting: list[Message] = []
    for message in messages:
        if message.role == "system":
            waiting.append(message)
            continue
        if message.role == "assistant" and found and _takes_system(found[-1]):
            found += waiting
            waiting = []
        found.append(message)
    if waiting and found and not _takes_system(found[-1]):
        found.append(_program(GO_ON))
    placed = (*found, *waiting)
    if placed == messages:
        return messages
    moved = (index for index, message in enumerate(messages) if message.role == "system" != placed[index].role)
    repairs.extend(Repair("system-place", index) for index in moved)
    return placed


def _takes_system(before: Message) -> bool:
    """A system message may follow: the user, or a tool of the provider's own, spoke last."""
    last = before.parts[-1] if before.parts else None
    return before.role != "assistant" or (isinstance(last, Opaque) and last.kind.endswith("_tool_result"))


def _paused(messages: tuple[Message, ...], pairing: Pairing, repairs: list[Repair]) -> tuple[Message, ...]:
    """Ends a turn that is using tools and did not begin with thinking, so that the next one can."""
    loop = open_loop(pairing)
    if not loop or begins_with_thinking(messages, loop[0]):
        return messages
    repairs.append(Repair("no-thinking-first", loop[0].start))
    return (*messages, Message("assistant", Origin.PROGRAM, (Text(PAUSE),)))


def _user_last(messages: tuple[Message, ...], repairs: list[Repair]) -> tuple[Message, ...]:
    if not messages or messages[-1].role != "assistant":
        return messages
    repairs.append(Repair("no-user-last", len(messages) - 1))
    return (*messages, _program(GO_ON))


def _without_trailing_space(messages: tuple[Message, ...], repairs: list[Repair]) -> tuple[Message, ...]:
    """Removes white space from the very end of a list that ends with the assistant's words. Once something comes after
    them they are shown as they came: a view that goes on is then another, and is told as such."""
    last = messages[-1] if messages else None
    end = last.parts[-1] if last and last.role == "assistant" and last.parts else None
    if not last or type(end) is not Text or not end.text.strip() or end.text == end.text.rstrip():
        return messages
    repairs.append(Repair("trailing-space", len(messages) - 1))
    return (*messages[:-1], last.with_parts((*last.parts[:-1], replace(end, text=end.text.rstrip()))))


def _program(text: str) -> Message:
    return Message("user", Origin.PROGRAM, (Text(text),))
