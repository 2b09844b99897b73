"""Mends a message list until a provider accepts it, and says what it mended.

    messages, grammar ── repair ──> Repaired (messages, repairs)

Only for views: the log keeps what came. A list that needs nothing is given back as it is. What a tool said without
being asked is quoted and labelled as such; what a call never got is said to be missing; nothing is dropped but
repetitions and emptiness, and everything is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from foldline.core.cycles import Pairing, Place, ToolCycle, pair
from foldline.model import Grammar, Message, Origin, Part, Text, Thinking, ToolCall, ToolResult

NO_RESULT = "[no result of this call was recorded]"
OPENING = "[the conversation begins here]"
"""Stands for the user's first message where a provider demands one and the history has none."""
ORPHAN = "[a tool's answer, whose call ({id}) is not in this conversation:]\n{text}\n[end of the tool's answer]"


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing mended: what kind, in which message of the list as it was, for which call."""

    kind: str
    message: int
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Repaired:
    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...] = ()

    def counts(self) -> Mapping[str, int]:
        """How many of each kind."""
        return Counter(repair.kind for repair in self.repairs)


def repair(messages: Sequence[Message], grammar: Grammar, pairing: Pairing | None = None) -> Repaired:
    """The list as a provider of this grammar accepts it. Give the pairing if you have it."""
    known = tuple(messages)
    repairs: list[Repair] = []
    for mend in (_ids, _pairs, _emptiness, _opening):
        known = mend(known, grammar, pairing, repairs)
        pairing = pairing if known is messages else None
    return Repaired(known, tuple(repairs))


def _ids(
    messages: tuple[Message, ...], grammar: Grammar, pairing: Pairing | None, repairs: list[Repair]
) -> tuple[Message, ...]:
    """Gives a call whose id is taken another one, and its result with it."""
    pairing = pairing or pair(messages, grammar)
    taken: set[str] = set()
    renamed: dict[tuple[type[Part], Place], str] = {}
    for cycle in pairing.cycles:
        if not grammar.unique_ids:
            taken = set()
        for place, answer in zip(cycle.calls, cycle.answers, strict=True):
            call = messages[place.message].calls[place.nth]
            if call.id in taken:
                name = _free_name(call.id, taken)
                renamed[ToolCall, place] = name
                if answer:
                    renamed[ToolResult, answer] = name
                repairs.append(Repair("duplicate-id", place.message, call.id))
            taken.add(renamed.get((ToolCall, place), call.id))
    return _renamed(messages, renamed) if renamed else messages


def _free_name(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _renamed(messages: tuple[Message, ...], renamed: Mapping[tuple[type[Part], Place], str]) -> tuple[Message, ...]:
    def parts(index: int, message: Message) -> Iterator[Part]:
        nth = {ToolCall: 0, ToolResult: 0}
        for part in message.parts:
            if isinstance(part, (ToolCall, ToolResult)):
                name = renamed.get((type(part), Place(index, nth[type(part)])))
                nth[type(part)] += 1
                if name:
                    yield replace(part, id=name) if isinstance(part, ToolCall) else replace(part, call_id=name)
                    continue
            yield part

    touched = {place.message for _, place in renamed}
    return tuple(
        message.with_parts(parts(index, message)) if index in touched else message
        for index, message in enumerate(messages)
    )


def _pairs(
    messages: tuple[Message, ...], grammar: Grammar, pairing: Pairing | None, repairs: list[Repair]
) -> tuple[Message, ...]:
    """Every call gets its result in its place; every result without a call becomes a quotation."""
    pairing = pairing or pair(messages, grammar)
    faults = {place.message for place in (*pairing.orphans, *pairing.duplicates)}
    wrong = [cycle for cycle in pairing.cycles if cycle.calls and not _in_place(messages, cycle, grammar)]
    early = {index for index, message in enumerate(messages) if message.results and not _results_first(message)}
    if not faults and not wrong and not early:
        return messages
    return _Mender(messages, grammar, pairing, wrong, repairs).messages()


def _in_place(messages: Sequence[Message], cycle: ToolCycle, grammar: Grammar) -> bool:
    """All calls are answered, and where the grammar demands it, right behind the step."""
    if None in cycle.answers:
        return False
    if not grammar.adjacent:
        return True
    between = range(cycle.step_stop, cycle.stop)
    if grammar.results == "joined" and not grammar.merges and len(between) > 1:
        return False
    ahead = (part for index in between[:-1] for part in messages[index].parts)
    return all(messages[index].results for index in between) and all(type(part) is ToolResult for part in ahead)


def _results_first(message: Message) -> bool:
    kinds = [type(part) is ToolResult for part in message.parts]
    return kinds == sorted(kinds, reverse=True)


class _Mender:
    """Walks the list once and writes it anew, with the results of the wrong cycles taken out and set in place."""

    def __init__(
        self,
        messages: Sequence[Message],
        grammar: Grammar,
        pairing: Pairing,
        wrong: Sequence[ToolCycle],
        repairs: list[Repair],
    ) -> None:
        self.old, self.grammar, self.repairs = messages, grammar, repairs
        self.quoted = set(pairing.orphans)
        self.dropped = set(pairing.duplicates)
        self.moved = {answer for cycle in wrong for answer in cycle.answers if answer}
        self.after = {cycle.step_stop - 1: cycle for cycle in wrong}

    def messages(self) -> tuple[Message, ...]:
        found: list[Message] = []
        for index, message in enumerate(self.old):
            found.extend(self.mended(index, message))
            if index in self.after:
                found.extend(self.answers(self.after[index]))
        return tuple(found)

    def mended(self, index: int, message: Message) -> Iterator[Message]:
        """The message without what does not belong in it; not at all when nothing is left."""
        if not message.results:
            yield message
            return
        results: list[Part] = []
        others: list[Part] = []
        nth = -1
        for part in message.parts:
            if not isinstance(part, ToolResult):
                others.append(part)
                continue
            nth += 1
            place = Place(index, nth)
            if place in self.quoted:
                others.append(_quotation(part))
                self.repairs.append(Repair("orphan-result", index, part.call_id))
            elif place in self.dropped:
                self.repairs.append(Repair("duplicate-result", index, part.call_id))
            elif place not in self.moved:
                results.append(part)
        yield from self.split(index, message, results, others)

    def split(self, index: int, message: Message, results: list[Part], others: list[Part]) -> Iterator[Message]:
        """Results first, then the rest: in one message where the grammar allows it."""
        if (*results, *others) == message.parts:
            yield message
            return
        if len(results) + len(others) == len(message.parts) and others and results:
            self.repairs.append(Repair("text-before-result", index))
        if results and (self.grammar.texts_beside_results or not others):
            yield message.with_parts((*results, *others))
        else:
            if results:
                yield message.with_parts(results)
            if others:
                yield replace(message.with_parts(others), role="user", form="", extra={}, rows=())

    def answers(self, cycle: ToolCycle) -> Iterator[Message]:
        """The results of a cycle that was wrong, in the order of its calls, behind its step."""
        found: list[ToolResult] = []
        for place, answer in zip(cycle.calls, cycle.answers, strict=True):
            call = self.old[place.message].calls[place.nth]
            if answer is None:
                found.append(ToolResult(call.id, (Text(NO_RESULT),), is_error=True, name=call.name))
                last = cycle.stop == len(self.old)
                self.repairs.append(Repair("pending-call" if last else "missing-result", place.message, call.id))
            else:
                found.append(self.old[answer.message].results[answer.nth])
                self.repairs.append(Repair("misplaced-result", answer.message, call.id))
        groups = [found] if self.grammar.results == "joined" else [[result] for result in found]
        for group in groups:
            yield Message(self.grammar.results_role, Origin.TOOL, tuple(group))


def _quotation(result: ToolResult) -> Text:
    return Text(ORPHAN.format(id=result.call_id, text=result.text))


def _emptiness(
    messages: tuple[Message, ...], grammar: Grammar, _: Pairing | None, repairs: list[Repair]
) -> tuple[Message, ...]:
    """Takes away empty texts where they are refused, and steps that are nothing but thinking."""
    found = []
    for index, message in enumerate(messages):
        parts = message.parts if grammar.empty_text else tuple(part for part in message.parts if not _is_empty(part))
        if len(parts) != len(message.parts):
            repairs.append(Repair("empty-text", index))
            message = message.with_parts(parts)
        if parts or (not message.parts and grammar.empty_text):
            found.append(message)
    return _without_dangling(tuple(found), grammar, repairs)


def _is_empty(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _without_dangling(messages: tuple[Message, ...], grammar: Grammar, repairs: list[Repair]) -> tuple[Message, ...]:
    """A provider refuses thinking that leads to nothing."""
    gone: set[int] = set()
    for cycle in pair(messages, grammar).cycles:
        step = range(cycle.start, cycle.step_stop)
        kinds = {type(part) for index in step for part in messages[index].parts}
        if kinds == {Thinking}:
            gone.update(step)
            repairs.append(Repair("dangling-thinking", cycle.start))
    return tuple(message for index, message in enumerate(messages) if index not in gone) if gone else messages


def _opening(
    messages: tuple[Message, ...], grammar: Grammar, _: Pairing | None, repairs: list[Repair]
) -> tuple[Message, ...]:
    if not grammar.user_first:
        return messages
    first = next((index for index, message in enumerate(messages) if message.role != "system"), None)
    if first is None or messages[first].role == "user":
        return messages
    repairs.append(Repair("no-user-first", first))
    opening = Message("user", Origin.PROGRAM, (Text(OPENING),))
    return (*messages[:first], opening, *messages[first:])
