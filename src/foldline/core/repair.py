"""Mends a message list until a provider accepts it, and says what it mended.

    messages, grammar ── repair ──> Repaired (messages, repairs)

Only for views: the log keeps what came. A list that needs nothing is given back as it is. What a tool said without
being asked is quoted in a message of its own, labelled as such; what a call never got is said to be missing; nothing is
dropped but repetitions, emptiness and thinking that led to nothing, and everything is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from foldline.core.cycles import Pairing, Place, ToolCycle, inside, pair
from foldline.model import Grammar, Message, Origin, Part, Text, Thinking, ToolCall, ToolResult

NO_RESULT = "[no result of this call was recorded]"
OPENING = "[the conversation begins here]"
"""Stands for the user's first message where a provider demands one and the history has none."""
NOTHING_SAID = "[an empty message]"
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
    return _renamed(messages, renamed) if renamed else messages


class _Names:
    """Gives out ids that nobody has: neither a call nor a result, wherever it stands."""

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
    wrong = [cycle for cycle in pairing.cycles if cycle.calls and not _in_place(messages, cycle, grammar)]
    tidy = all(not message.results or _is_tidy(message, grammar) for message in messages)
    if tidy and not wrong and not pairing.orphans and not pairing.duplicates:
        return messages
    return _Mender(messages, grammar, pairing, wrong, repairs).messages()


def _in_place(messages: Sequence[Message], cycle: ToolCycle, grammar: Grammar) -> bool:
    """All calls are answered, not by the step itself, and where the grammar demands it right behind it."""
    if any(answer is None or messages[answer.message].role == "assistant" for answer in cycle.answers):
        return False
    if not grammar.adjacent:
        return True
    between = range(cycle.step_stop, cycle.stop)
    if grammar.results == "joined" and not grammar.merges and len(between) > 1:
        return False
    ahead = (part for index in between[:-1] for part in messages[index].parts)
    return all(messages[index].results for index in between) and all(type(part) is ToolResult for part in ahead)


def _is_tidy(message: Message, grammar: Grammar) -> bool:
    """Its results stand before everything else, or alone where nothing else may stand beside them."""
    kinds = [type(part) is ToolResult for part in message.parts]
    return all(kinds) or (grammar.texts_beside_results and kinds == sorted(kinds, reverse=True))


class _Mender:
    """Walks the list once and writes it anew, with the results of the wrong cycles taken out and set in place.

    A quotation may not part a step from its answers: it waits until the cycle it stands in is over.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        grammar: Grammar,
        pairing: Pairing,
        wrong: Sequence[ToolCycle],
        repairs: list[Repair],
    ) -> None:
        self.old, self.grammar, self.repairs = messages, grammar, repairs
        self.orphans, self.duplicates = set(pairing.orphans), set(pairing.duplicates)
        self.moved = {answer for cycle in wrong for answer in cycle.answers if answer}
        self.after = {cycle.step_stop - 1: cycle for cycle in wrong}
        self.inside = inside(
            (cycle.start, cycle.step_stop if cycle.step_stop - 1 in self.after else cycle.stop)
            for cycle in pairing.cycles
        )
        self.quotes: list[Part] = []

    def messages(self) -> tuple[Message, ...]:
        found: list[Message] = []
        for index, message in enumerate(self.old):
            mended = list(self.mended(index, message)) if message.results else [message]
            if index not in self.inside:
                found.extend(self.quotations())
            found.extend(mended)
            if index in self.after:
                found.extend(self.answers(self.after[index]))
        return (*found, *self.quotations())

    def quotations(self) -> Iterator[Message]:
        if self.quotes:
            yield Message("user", Origin.TOOL, tuple(self.quotes))
            self.quotes = []

    def mended(self, index: int, message: Message) -> Iterator[Message]:
        """The message without what does not belong in it; not at all when nothing is left."""
        results: list[Part] = []
        others: list[Part] = []
        nth = -1
        for part in message.parts:
            if not isinstance(part, ToolResult):
                others.append(part)
                continue
            nth += 1
            if self.stays(Place(index, nth), part):
                results.append(part)
        yield from self.split(index, message, results, others)

    def stays(self, place: Place, result: ToolResult) -> bool:
        if place in self.orphans:
            self.quotes.append(Text(ORPHAN.format(id=result.call_id, text=result.text)))
            self.repairs.append(Repair("orphan-result", place.message, result.call_id))
        elif place in self.duplicates:
            self.repairs.append(Repair("duplicate-result", place.message, result.call_id))
        else:
            return place not in self.moved
        return False

    def split(self, index: int, message: Message, results: list[Part], others: list[Part]) -> Iterator[Message]:
        """Results first, then the rest: in one message where the grammar allows it."""
        if (*results, *others) == message.parts and _is_tidy(message, self.grammar):
            yield message
            return
        if results and others and len(results) + len(others) == len(message.parts):
            self.repairs.append(Repair("text-beside-result", index))
        if results and (self.grammar.texts_beside_results or not others):
            yield message.with_parts((*results, *others))
            return
        if results:
            yield message.with_parts(results)
        if others and (results or message.role == "tool"):
            yield Message("user", message.origin, tuple(others))
        elif others:
            yield message.with_parts(others)

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


def _emptiness(
    messages: tuple[Message, ...], grammar: Grammar, _: Pairing | None, repairs: list[Repair]
) -> tuple[Message, ...]:
    """Takes away empty texts where they are refused, and thinking that leads to nothing."""
    if not grammar.empty_text:
        messages = _without_empty(messages, repairs)
    return _without_dangling(messages, grammar, repairs)


def _without_empty(messages: tuple[Message, ...], repairs: list[Repair]) -> tuple[Message, ...]:
    """Empty texts go; so do messages that were nothing else, but the user's stay, for they part two model steps."""
    found: list[Message] = []
    for index, message in enumerate(messages):
        parts = tuple(part for part in message.parts if not _is_empty(part))
        if parts and len(parts) == len(message.parts):
            found.append(message)
            continue
        repairs.append(Repair("empty-text" if parts else "empty-message", index))
        if parts:
            found.append(message.with_parts(parts))
        elif message.role == "user":
            found.append(Message("user", Origin.PROGRAM, (Text(NOTHING_SAID),)))
    return tuple(found) if found != list(messages) else messages


def _is_empty(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _without_dangling(messages: tuple[Message, ...], grammar: Grammar, repairs: list[Repair]) -> tuple[Message, ...]:
    """A provider refuses thinking at the end of a step: it leads to nothing."""
    cut: dict[int, int] = {}  # message → how many of its parts stay
    for cycle in pair(messages, grammar).cycles:
        for index in reversed(range(cycle.start, cycle.step_stop)):
            parts = messages[index].parts
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


def _opening(
    messages: tuple[Message, ...], grammar: Grammar, _: Pairing | None, repairs: list[Repair]
) -> tuple[Message, ...]:
    """Where the user must speak first, and where mending has left nothing, the program says that it begins here."""
    first = next((index for index, message in enumerate(messages) if message.role != "system"), None)
    if first is None and not repairs:
        return messages
    if first is not None and (messages[first].role == "user" or not grammar.user_first):
        return messages
    at = len(messages) if first is None else first
    repairs.append(Repair("no-user-first", at))
    opening = Message("user", Origin.PROGRAM, (Text(OPENING),))
    return (*messages[:at], opening, *messages[at:])
