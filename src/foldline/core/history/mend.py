"""Puts every result where its call wants it: behind its step, in the order of the calls, with nothing between.

    messages, pairing ── mend_pairs ──> messages, and a Repair for each thing moved, quoted, added or dropped

What else a provider may refuse (ids, emptiness, who speaks first) is in repair.py, which calls this first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foldline.core.history.cycles import Pairing, Place, ToolCycle, inside
from foldline.model import Grammar, Media, Message, Origin, Part, Text, ToolResult

NO_RESULT = "[no result of this call was recorded]"
SECOND = "[a tool's second answer to the same call ({id}):]\n{text}\n[end of the tool's answer]"
ORPHAN = "[a tool's answer, whose call ({id}) is not in this conversation:]\n{text}\n[end of the tool's answer]"


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing mended: what kind, in which message (counted in the list as it was before that kind of mending), for
    which call."""

    kind: str
    message: int
    call_id: str = ""


def mend_pairs(
    messages: tuple[Message, ...], grammar: Grammar, pairing: Pairing, repairs: list[Repair]
) -> tuple[Message, ...]:
    """Every call gets its result in its place; every result without a call becomes a quotation."""
    wrong = [cycle for cycle in pairing.cycles if cycle.calls and not _in_place(messages, cycle, grammar)]
    tidy = all(not message.results or _is_tidy(message, grammar) for message in messages)
    if tidy and not wrong and not pairing.orphans and not pairing.duplicates:
        return messages
    return _Mender(messages, grammar, pairing, wrong, repairs).messages()


def _in_place(messages: Sequence[Message], cycle: ToolCycle, grammar: Grammar) -> bool:
    """All calls are answered by messages other than the step, and right behind it where the grammar demands that."""
    only = cycle.answers[0] if len(cycle.answers) == 1 else None
    if only and only.message == cycle.step_stop == cycle.stop - 1:  # as nearly always
        return messages[only.message].role != "assistant"
    if any(answer is None or messages[answer.message].role == "assistant" for answer in cycle.answers):
        return False
    if not grammar.adjacent:
        return True
    last = max(answer.message for answer in cycle.answers if answer)
    between = range(cycle.step_stop, last + 1)  # the cycle may be bound to later steps
    if grammar.results == "joined" and not grammar.merges and len(between) > 1:
        return False
    ahead = (part for index in between[:-1] for part in messages[index].parts)
    return all(messages[index].results for index in between) and all(type(part) is ToolResult for part in ahead)


def _is_tidy(message: Message, grammar: Grammar) -> bool:
    """The results stand before everything else, or alone where the grammar allows nothing beside them."""
    if len(message.parts) == len(message.results):
        return True
    kinds = [type(part) is ToolResult for part in message.parts]
    return grammar.texts_beside_results and kinds == sorted(kinds, reverse=True)


class _Mender:
    """Walks the list once and rewrites it, with the results of the wrong cycles taken out and put in place.

    A quotation must not separate a step from its answers, so it waits until the cycle it stands in is over.
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
            [(c.start, c.step_stop if c.step_stop - 1 in self.after else c.stop) for c in pairing.cycles]
        )
        self.quotes: list[Part] = []
        answers = (answer for cycle in pairing.cycles for answer in cycle.answers if answer and pairing.duplicates)
        given = (messages[answer.message].results[answer.nth] for answer in answers)
        self.told = {(result.call_id, result.ref) for result in given}

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
        """The message without what does not belong in it; nothing where nothing is left."""
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
            self.quote("orphan-result", ORPHAN, place, result)
        elif place in self.duplicates and (result.call_id, result.ref) in self.told:
            self.repairs.append(Repair("duplicate-result", place.message, result.call_id))
        elif place in self.duplicates:
            self.quote("second-result", SECOND, place, result)
        else:
            return place not in self.moved
        return False

    def quote(self, kind: str, label: str, place: Place, result: ToolResult) -> None:
        """Quotes what the tool said, labelled, with its pictures behind it."""
        lines = (part.text if isinstance(part, Text) else f"[{part.kind}]" for part in result.content)
        self.quotes.append(Text(label.format(id=result.call_id, text="\n".join(lines))))
        self.quotes.extend(part for part in result.content if isinstance(part, Media))
        self.repairs.append(Repair(kind, place.message, result.call_id))
        self.told.add((result.call_id, result.ref))

    def split(self, index: int, message: Message, results: list[Part], others: list[Part]) -> Iterator[Message]:
        """The message with its results first; as one message where the grammar allows it."""
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
