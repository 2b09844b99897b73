"""Span: the messages that are to be summarised, what is known of them, and what a summary of them may rest on.

    Span ── evidence ──> what the audit of its summary asks

A value and what follows from it. Who cuts the history into spans is in spans.py, who writes of them in summarise.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from foldline.core.auditing.audit import BINDING, Evidence
from foldline.core.auditing.echoes import Heard
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.facts import Facts
from foldline.core.history.cycles import Pairing
from foldline.core.log.extract import EXTRACTED, Extractor
from foldline.core.log.logtext import reread
from foldline.core.story import Voices, voices_in
from foldline.core.work.deeds import Deed
from foldline.model import Message


@dataclass(frozen=True)
class Span:
    """What is to be summarised: messages `first` and following of the history, and what is known of them already."""

    messages: tuple[Message, ...]
    pairing: Pairing
    first: int
    facts: Facts
    """The facts of everything so far, these messages included."""
    deeds: tuple[Deed, ...] = ()
    previous: Checkpoint | None = None
    voices: Voices | None = None
    """Whose words stand in the messages, where that is known already."""
    tokens: tuple[int, ...] = ()
    """The messages' sizes, where they are known already."""
    start: int = 0
    """The place of the first message in the history at hand: the deeds' places count from there."""
    pivot: range = range(0)
    """The places of a checkpoint made with direction "from" among the messages: what it covers came after the
    messages before it."""

    def number(self, at: int) -> int:
        """The number by which facts name the message at this place of the history at hand."""
        inside = at - self.start
        return self.first + inside if inside >= self.pivot.start else at

    @cached_property
    def extractor(self) -> Extractor:
        previous, log = (self.previous.summary, self.previous.log) if self.previous else (None, ())
        if not self.pivot:
            return Extractor(
                self.messages, first=self.first, previous=previous, log=log, done=self.deeds, start=self.start
            )
        begin, end = self.start + self.pivot.start, self.start + self.pivot.stop
        done = [deed for deed in self.deeds if deed.at < begin]
        before = Extractor(self.messages[: self.pivot.start], done=done, start=self.start)
        covered = self.first + self.pivot.stop
        lines = (line._replace(message=line.message - covered) for line in before.lines)
        log = (*lines, *(log or reread(previous.get("context") if previous else "")))
        later = [deed for deed in self.deeds if deed.at >= end]
        rest = self.messages[self.pivot.stop :]
        return Extractor(rest, first=covered, previous=previous, log=log, done=later, start=end)


def evidence(span: Span, more: str = "") -> Evidence:
    """What the summary of a span may rest on, and what else its writer was shown."""
    voices, earlier = span.voices or voices_in(span.messages), tuple(_earlier(span))
    names = [call.id for message in span.messages for call in message.calls]
    everything = "\n".join((*names, *((span.previous.text,) if span.previous else ()), *voices.texts, more))
    said = voices.said.and_in(Heard.in_text(*(text for text, is_tools in earlier if not is_tools)))
    printed = voices.shown.and_in(Heard.in_text(*(text for text, is_tools in earlier if is_tools)))
    return Evidence(everything, said, printed, span.facts)


def _earlier(span: Span) -> Iterator[tuple[str, bool]]:
    """What was said before the span, and whether it may be a tool's words: an earlier summary gives it no trust.

    What tells the model what to do was audited then. The rest counts as the tools', unless extraction labelled it.
    """
    yield from ((fact.text, False) for fact in span.facts.of("user", "open", "done"))
    if span.previous is None:
        return
    extracted = span.previous.recipe.model == EXTRACTED
    for section in span.previous.summary.sections:
        if extracted and section.key == "context":
            yield from ((line.text, line.is_tools or not line.label) for line in reread(section.text))
        else:
            yield section.text, section.key not in BINDING
