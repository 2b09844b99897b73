"""What lies before a cut: the messages that are folded, what is known of them, and the checkpoint that stands for them.

    cut ── span, shown_facts, ledger, frame ──> what a checkpoint is composed from ── checkpoint ──> one row

Where to cut is decided in compaction.py; how the view looks then, in views.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from foldline.core.checkpoints.checkpoint import Checkpoint, Frame, Recipe
from foldline.core.facts import Facts
from foldline.core.ground import Ground, within
from foldline.core.lifting import facts_of, is_stopped, last_heard, last_work, now_of
from foldline.core.options import Options
from foldline.core.resume import Manner, resume, tersely
from foldline.core.said.usertext import own_words
from foldline.core.span import Span
from foldline.core.story import Story
from foldline.core.summarise import Written
from foldline.core.work.ledger import Ledger, ledger_of
from foldline.model import Message, Origin


class Spans:
    """The spans of one fold, by their cuts."""

    def __init__(
        self, ground: Ground, options: Options, story: Story, newest: int | None = None, each: Sequence[int] = ()
    ) -> None:
        """`newest` is the place of the user message that the view shows itself, `each` the tokens of each message."""
        self.ground, self.options, self.story = ground, options, story
        self.newest, self.each = newest, each
        self._found: dict[int, Span] = {}

    def span(self, cut: int) -> Span:
        """What lies before a cut; worked out once, however many attempts have that cut."""
        if cut not in self._found:
            self._found[cut] = self._span(cut)
        return self._found[cut]

    def _span(self, cut: int) -> Span:
        ground, listens = self.ground, bool(self.options.writers)
        start, stop = self._ends(cut)
        messages = ground.messages[start:stop]
        past = ground.past if self.options.direction != "from" or ground.past in self._inner(messages) else None
        pivot = _pivot(past, messages)
        first = start if past is None else past.stop - pivot.stop
        return Span(
            messages,
            within(ground.given, start, stop),
            first,
            self._facts(messages, start, first, self._before(past, messages), pivot),
            self.story.deeds(start, stop),
            past,
            self.story.voices(start, stop) if listens else None,
            tuple(self.each[start:stop]) if listens else (),
            start,
            pivot,
        )

    def _facts(
        self, messages: Sequence[Message], start: int, first: int, before: Sequence[Checkpoint], pivot: range
    ) -> Facts:
        """The facts of the span and of all before it, as they stand at the end of the history: a checkpoint that
        described the end of its span would be out of date."""
        history, stop = self.ground.messages, start + len(messages)
        done = self.story.deeds(start + pivot.stop, stop)
        facts = facts_of(messages[pivot.stop :], done, first=first + pivot.stop, start=start + pivot.stop)
        known = [checkpoint.facts for checkpoint in before]
        texts = {checkpoint.text for checkpoint in before}
        if pivot:
            earlier = self.story.deeds(start, start + pivot.start)
            known.insert(0, facts_of(messages[: pivot.start], earlier, first=start, start=start).without(texts))
        if known:
            facts = reduce(Facts.then, known).since(done).then(facts.without(texts))
        later, after = self.story.deeds(stop, len(history)), first + len(messages)
        now = now_of(history[stop:], later, first=after, start=stop)
        last, worked = (after - stop + at for at in (last_heard(history), last_work(history)))
        return facts.since(later).then(now).ending(last, worked, stopped=is_stopped(history))

    def _inner(self, messages: Sequence[Message]) -> list[Checkpoint]:
        """Checkpoints among the folded messages: what each was made from is better known than its text."""
        texts = {message.text for message in messages if message.origin is Origin.SUMMARY}
        return [checkpoint for checkpoint in self.ground.returned if checkpoint.text in texts]

    def _before(self, past: Checkpoint | None, messages: Sequence[Message]) -> list[Checkpoint]:
        """All checkpoints that the span's own builds on, the oldest first."""
        inner = self._inner(messages)
        return inner if past is None or past in inner else [past, *inner]

    def _ends(self, cut: int) -> tuple[int, int]:
        """The first message that is folded, and the one after the last."""
        return (cut, len(self.ground.messages)) if self.options.direction == "from" else (self.ground.begin, cut)

    def shown_facts(self, cut: int, span: Span, *, scarce: bool = False) -> Facts:
        """The facts that the notes show. A user message that the view itself shows is not repeated, nor, where room
        is scarce, are the rules in it. An earlier message with the same words is another one."""
        if self.options.direction == "from":
            return span.facts
        newest = () if self.newest is None else (self.newest,)
        shown = {at for at in (*newest, *self.ground.pins, *self.options.pins) if at < cut}
        numbers = {span.number(at) for at in shown if at >= span.start}
        sources = {self.ground.messages[at].identity for at in shown if at < span.start}
        kinds = ("user", "rule", "decision") if scarce else ("user",)
        repeats = (fact.kind in kinds and (fact.at in numbers or fact.source in sources) for fact in span.facts.facts)
        return Facts(tuple(fact for fact, again in zip(span.facts.facts, repeats, strict=True) if not again))

    def ledger(self, span: Span) -> Ledger:
        """What was done up to the end of the span."""
        before = (checkpoint.ledger for checkpoint in self._before(span.previous, span.messages))
        found = reduce(Ledger.then, (*before, ledger_of(span.deeds)))
        return replace(found, commit="open", since=()) if span.pivot else found  # what changed first is not known

    def with_later_commits(self, ledger: Ledger, span: Span) -> Ledger:
        """The ledger as a checkpoint shows it: the messages that stay may have commits, too."""
        stop = span.start + len(span.messages)
        return ledger.as_of(ledger_of(self.story.deeds(stop, len(self.ground.messages))))

    def frame(self, cut: int, span: Span, *, terse: bool = False) -> Frame:
        kept = cut < len(self.ground.messages) and self.options.direction == "up-to"
        manner, begun = self.manner(span), self._is_begun(cut)
        text = tersely(manner) if terse else resume(manner, self.options.abilities)
        return Frame(covered(span), "a model", text, kept, self.options.transcript, self.options.plan, begun, terse)

    def manner(self, span: Span) -> Manner:
        """How the agent is told to go on: whether it waits, or was stopped, is seen from how the history ends."""
        history = self.ground.messages
        last = history[last_heard(history)]
        waits = last.origin is Origin.ASSISTANT and not last.calls and bool(span.facts.of("approval"))
        return replace(self.options.manner, waits=waits, stopped=is_stopped(history))

    def _is_begun(self, cut: int) -> bool:
        """The newest user message stands behind the checkpoint, and work on it began before the cut."""
        newest = self.newest
        if newest is None or self.options.direction == "from":
            return False
        return newest < cut and any(message.role == "assistant" for message in self.ground.messages[newest:cut])

    def checkpoint(self, cut: int, span: Span, written: Written, ledger: Ledger, text: str) -> Checkpoint:
        options, digests = self.options, self.ground.digests
        suffix = options.direction == "from"
        return Checkpoint(
            text=text,
            skeleton=digests[-1] if suffix else digests[cut - 1],
            start=cut if suffix else 0,
            stop=len(self.ground.messages) if suffix else covered(span),
            recipe=Recipe(
                written.summary.style,
                options.focus,
                written.author,
                written.summary.version,
                options.direction,
                options.manner.kind,
            ),
            summary=written.summary,
            facts=span.facts,
            ledger=ledger,
            generation=span.previous.generation + 1 if span.previous else 1,
            parent=span.previous.ref if span.previous else "",
            scope=options.scope,
        )


def _pivot(past: Checkpoint | None, messages: Sequence[Message]) -> range:
    """The places of a checkpoint made with direction "from", and of the message it carries, among these messages.
    The messages before it came before all that it covers. Empty for other checkpoints."""
    if past is None or past.recipe.direction != "from":
        return range(0)
    at = next((at for at, one in enumerate(messages) if one.origin is Origin.SUMMARY and one.text == past.text), None)
    if at is None:
        return range(0)
    said = past.facts.of("user")[-1:]
    carried = said and [own_words(message) for message in messages[at + 1 : at + 2]] == [said[0].text]
    return range(at, at + 1 + bool(carried))


def covered(span: Span) -> int:
    """How many messages a checkpoint of this span stands for, those of its ancestors included."""
    return len(span.messages) - span.pivot.stop + (span.previous.stop if span.previous else 0)
