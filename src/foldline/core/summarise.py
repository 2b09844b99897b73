"""From a span of messages to an audited summary: ask, judge, repair, ask another, and in the end extract.

    span ── chunks ──> asks ──> replies ── accept, audit ──> Summary (or the extracted one)

A generator: it yields what to ask and is sent the answers. It never fails: the last resort needs no model. What a span
is, and what a summary of it may rest on, stands in span.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from foldline.core.asking import Ask, Reply
from foldline.core.auditing.audit import Finding, audit
from foldline.core.effects import Asking
from foldline.core.log.extract import EXTRACTED, extract
from foldline.core.options import Options, Writer
from foldline.core.receipt import WRITTEN, Attempt, together
from foldline.core.span import Span, evidence
from foldline.core.story import RECORD
from foldline.core.summaries.instructions import compact_instructions
from foldline.core.summaries.prompts import merge_request, prompt, repair_request, summary_request, version_of
from foldline.core.summaries.render import BRIEF, Chunk, EntryLimits, Glimpse, chunks, fence, glimpse
from foldline.core.summaries.styles import STYLES, Style
from foldline.core.summaries.summary import Summary, accept, render
from foldline.core.words.masks import masked
from foldline.core.words.secretfinder import MASK
from foldline.errors import CallerError, Overflow, SummaryError

MARGIN = 0.9
"""Share of a summariser's window that a request may fill: its tokens are counted with another model's tokenizer."""
SPLITS = 5
"""How many times the pieces are halved when a summariser says they are too large: from a window of 128k to one of
4k."""
WORKING = 2_048
"""Tokens of a reply besides the notes: the request asks for reasoning first, which is thrown away."""
REPLY_PART = 4
"""A reply takes at most one part in so many of a summariser's window."""
LATEST, TASK_ROOM = 6, 800
"""Messages in which the immediate task is sought, and tokens for it, where a model gave none."""
PREVIOUS_SHARE = 0.25
"""Share of a summariser's window up to which the previous checkpoint stands before what is new."""
AROUND = 110
"""Tokens of a request beside its prompts, its wishes and what is read: the two lines of the fence, the headings of the
previous checkpoint, and the words that say why a reply could not be used."""
LEAST_ROOM = 400
"""Tokens of record below which asking is pointless."""


@dataclass(frozen=True, slots=True)
class Written:
    """A summary, who wrote it, and how it came about."""

    summary: Summary
    author: str
    attempts: tuple[Attempt, ...] = ()
    findings: tuple[Finding, ...] = ()
    chunks: tuple[tuple[int, int], ...] = ()
    left_out: int = 0
    """Lines of the summary that found no room."""

    @property
    def is_extract(self) -> bool:
        """No model wrote it: its lines are the conversation's own."""
        return self.author == EXTRACTED


def summarise(
    span: Span, options: Options, room: int, size: Callable[[str], int]
) -> Generator[Asking, list[Any], Written]:
    """The best summary that can be had, of at most about `room` tokens."""
    attempts: list[Attempt] = []
    for writer in options.writers:
        desk = _Desk(span, options, writer, room, size)
        try:
            written = yield from desk.write()
        except (SummaryError, CallerError) as error:
            attempts += [*_once(desk.attempts), desk.attempt(f"{type(error).__name__}: {error}")]
            continue
        return replace(written, attempts=(*attempts, *written.attempts))
    return _extracted(span, room, size, tuple(attempts))


def _extracted(span: Span, room: int, size: Callable[[str], int], attempts: tuple[Attempt, ...]) -> Written:
    summary = span.extractor.summary(span.facts, room, size)
    return Written(summary, EXTRACTED, attempts, chunks=((span.first, span.first + len(span.messages)),))


def _once(attempts: Sequence[Attempt]) -> Iterator[Attempt]:
    """Each attempt once, with how many there were: of many pieces, many may fail alike."""
    for attempt, times in Counter(attempts).items():
        yield attempt if times == 1 else replace(attempt, outcome=f"{attempt.outcome} ({times:,} times)")


class _Desk:
    """One model at work on one span."""

    def __init__(self, span: Span, options: Options, writer: Writer, room: int, size: Callable[[str], int]) -> None:
        self.span, self.options, self.writer, self.size = span, options, writer, size
        self.request, self.style = _wanted(options, span)
        limits: EntryLimits = BRIEF if options.style == "brief" else EntryLimits()
        self.limits = replace(limits, secrets=not options.mask_secrets)
        self._hidden: Callable[[str], str] = masked if options.mask_secrets else str
        """A text as the model is shown it."""
        self.reply_tokens = min(writer.max_tokens, room + WORKING, writer.window // REPLY_PART)
        before = (fact.text for fact in span.facts.of("user") if fact.at < span.first)
        self.instructions = compact_instructions(span.messages, (*options.memory, *before), self._hidden)
        self.focus = self._hidden(options.focus)
        self.attempts: list[Attempt] = []
        self.replies: list[Reply] = []
        """All that it answered: what came of it cost all of them."""

    def write(self) -> Generator[Asking, list[Any], Written]:
        """Reads the record whole or in pieces; halves the pieces when the model says they are too large."""
        room = self._record_room()
        for refused in range(SPLITS + 1):
            if room < LEAST_ROOM:
                raise Overflow(f"the window of {self.writer.name} has no room for any record")
            try:
                return (yield from self._read(room, careful=refused > 0))
            except Overflow as error:
                self.attempts.append(Attempt(self.writer.name, f"too large in pieces of {room:,} tokens: {error}"))
                room = min(room, (error.limit or room * 2) - self._overhead()) // 2
        raise Overflow(f"{self.writer.name} refuses even small pieces")

    def _read(self, room: int, careful: bool) -> Generator[Asking, list[Any], Written]:
        """Reads all pieces at once; after a refusal one goes ahead, so that another refusal costs one request and
        not all."""
        span = self.span
        found = chunks(span.messages, span.pairing, self.limits, room, self.size, span.first, self._tokens, self._seen)
        pieces = found or [Chunk(0, 0, "(nothing)")]
        earlier = self._in_pieces(room)
        asks = [self._ask(self._fenced(text), self._fresh) for text in earlier]
        first = self.request if not earlier else self._fresh
        opens = span.previous is not None and not earlier
        asks += [self._ask(self._record(piece, opens), first, previous=opens) for piece in pieces[:1]]
        asks += [self._ask(self._fenced(piece.text), self._fresh) for piece in pieces[1:]]
        ahead = 1 if careful and len(asks) > 1 else 0
        summaries = (yield from self._answers(asks[:ahead])) if ahead else []
        summaries += yield from self._answers(asks[ahead:])
        summary = summaries[0]
        while len(summaries) > 1:
            summaries = yield from self._merged(summaries, room)
            summary = summaries[0]
        audited = audit(summary, evidence(self.span, self._masks))
        findings = tuple(finding._replace(text=masked(finding.text)) for finding in audited.findings)
        return Written(
            self._finished(_masked(audited.summary)),
            self.writer.name,
            (*_once(self.attempts), self.attempt(WRITTEN)),
            findings,
            tuple((self.span.first + piece.start, self.span.first + piece.stop) for piece in pieces),
        )

    def _answers(self, asks: Sequence[Ask]) -> Generator[Asking, list[Any], list[Summary]]:
        """A summary for every ask. A reply that cannot be used is asked for once more, with the reason."""
        replies = yield from self._heard(asks)
        found: list[Summary | None] = []
        again: list[tuple[int, Ask]] = []
        for number, (ask, reply) in enumerate(zip(asks, replies, strict=True)):
            summary, fault = self._judged(reply)
            found.append(summary)
            if summary is None:
                self.attempts.append(Attempt(self.writer.name, fault))
                again.append((number, self._again(ask, reply, fault)))
        if again:
            repaired = yield from self._heard([ask for _, ask in again])
            for (number, _), reply in zip(again, repaired, strict=True):
                found[number] = accept(_expect(reply), self.style)
        return [summary for summary in found if summary is not None]

    def _heard(self, asks: Sequence[Ask]) -> Generator[Asking, list[Any], list[Reply | CallerError]]:
        replies: list[Reply | CallerError] = yield Asking(tuple(asks))
        self.replies += [reply for reply in replies if isinstance(reply, Reply)]
        return replies

    def attempt(self, outcome: str) -> Attempt:
        """How it ended, with what all of it cost."""
        read = together(reply.input_tokens for reply in self.replies)
        wrote = together(reply.output_tokens for reply in self.replies)
        return Attempt(self.writer.name, outcome, read, wrote)

    def _again(self, ask: Ask, reply: Reply | CallerError, fault: str) -> Ask:
        """The same request with the reason. A model whose reply was cut off may write more, since its thinking
        counts too."""
        if not isinstance(reply, Reply) or reply.stop != "length":
            return repair_request(ask, fault)
        spare = int(self.writer.window * (1 - MARGIN))
        most = min(2 * ask.max_tokens, ask.max_tokens + spare, self.writer.max_tokens)
        return replace(repair_request(ask, f"{fault}; be briefer"), max_tokens=max(ask.max_tokens, most))

    def _judged(self, reply: Reply | CallerError) -> tuple[Summary | None, str]:
        try:
            return accept(_expect(reply), self.style), ""
        except SummaryError as error:
            return None, str(error)

    def _merged(self, summaries: Sequence[Summary], room: int) -> Generator[Asking, list[Any], list[Summary]]:
        """Fewer summaries than before: as many together as fit into one request, two at least."""
        groups: list[list[str]] = [[]]
        used = 0
        for summary in summaries:
            text = self._hidden(render(summary))
            used += self.size(text)
            if used > room and len(groups[-1]) > 1:
                groups.append([])
                used = self.size(text)
            groups[-1].append(text)
        asks = [
            merge_request(
                self._fresh,
                group,
                self._fenced("\n\n".join(group)),
                focus=self.focus,
                instructions=self.instructions,
                max_tokens=self.reply_tokens,
            )
            for group in groups
        ]
        return (yield from self._answers([self._to(ask) for ask in asks]))

    def _finished(self, summary: Summary) -> Summary:
        """The summary with its prompt's version, and with an immediate task even if the model gave none, or would go
        on with what the user stopped."""
        versioned = replace(summary, version=version_of(self.request))
        asked = self.span.facts.first("immediate")
        if versioned.immediate_task and not (asked and asked.is_stopped):
            return versioned
        latest = extract(self.span.messages[-LATEST:], self.span.facts, TASK_ROOM, self.size)
        return versioned.with_section("immediate", latest.immediate_task)

    @cached_property
    def _seen(self) -> Sequence[Glimpse]:
        """Each message as the record shows it. What was kept of earlier turns is not masked."""
        voices = self.span.voices
        if voices and voices.glimpses and self.limits == RECORD:
            return voices.glimpses
        return [glimpse(message, self.limits) for message in self.span.messages]

    @cached_property
    def _tokens(self) -> Sequence[int]:
        """The messages' sizes; where a mask is shown, that of what is shown: it may be longer than the secret."""
        known = self.span.tokens
        if not known or self.limits.secrets:
            return known
        shown = zip(self._seen, known, strict=True)
        return [self.size(text) if MASK in text else tokens for (text, *_), tokens in shown]

    @property
    def _masks(self) -> str:
        """The lines with masks that the model was shown: the conversation has secrets in their place."""
        if self.limits.secrets:
            return ""
        texts = (*(text for text, *_ in self._seen), self._previous[0], self.instructions, self.focus)
        return "\n".join(line for text in texts if MASK in text for line in text.split("\n") if MASK in line)

    @cached_property
    def _previous(self) -> tuple[str, int]:
        """The previous checkpoint as it is shown to the model, and its tokens."""
        text = self._hidden(render(self.span.previous.summary)) if self.span.previous else ""
        return text, self.size(text) if text else 0

    @property
    def _is_long(self) -> bool:
        """The previous checkpoint, perhaps a work log, would leave too little of the window for what is new."""
        return self._previous[1] > self.writer.window * PREVIOUS_SHARE

    def _in_pieces(self, room: int) -> list[str]:
        """The previous checkpoint in pieces of its own, where it is too long to stand before the record; else none."""
        if not self._is_long:
            return []
        pieces: list[list[str]] = [[]]
        used = 0
        for line in self._previous[0].split("\n"):
            tokens = self.size(line) + 1
            if used + tokens > room and pieces[-1]:
                pieces.append([])
                used = 0
            pieces[-1].append(line)
            used += tokens
        count = len(pieces)
        texts = ("\n".join(lines) for lines in pieces)
        return [f"[previous checkpoint, part {number} of {count}]\n{text}" for number, text in enumerate(texts, 1)]

    def _record(self, piece: Chunk, opens: bool) -> str:
        if opens:
            return self._fenced(f"[previous checkpoint]\n{self._previous[0]}\n\n[since then]\n{piece.text}")
        return self._fenced(piece.text)

    def _fenced(self, text: str) -> str:
        return fence(text, self.options.secret)

    @property
    def _fresh(self) -> str:
        """The request for a record without a checkpoint before it: a later piece, or several summaries to be merged."""
        return "checkpoint" if self.request == "update" else self.request

    def _ask(self, record: str, name: str, *, previous: bool = False) -> Ask:
        return self._to(
            summary_request(
                name,
                record,
                focus=self.focus,
                instructions=self.instructions,
                max_tokens=self.reply_tokens,
                previous=previous,
            )
        )

    def _to(self, ask: Ask) -> Ask:
        return replace(ask, who="model" if self.writer is self.options.model else "fallback")

    def _overhead(self) -> int:
        """Tokens of a request besides its record: the prompts, the previous checkpoint, and the reply."""
        earlier = ["previous"] if self.span.previous and self.request != "update" else []
        names = ("system", "frame", "analysis", "reminder", "focus", "project", self.request, *earlier)
        fixed = sum(self.size(prompt(name).text) for name in names)
        previous = 0 if self._is_long else self._previous[1]
        return fixed + previous + self.size(self.focus + self.instructions) + self.reply_tokens + AROUND

    def _record_room(self) -> int:
        return int(self.writer.window * MARGIN) - self._overhead()


def _wanted(options: Options, span: Span) -> tuple[str, Style]:
    """The request's name and the style of its answer. An existing checkpoint is updated, not written anew."""
    if options.style == "checkpoint":
        return ("update" if span.previous else "checkpoint"), STYLES["checkpoint"]
    if options.style == "full" and options.direction == "from":
        return "from", STYLES["from"]
    if options.style == "full" and not options.force:
        return "up-to", STYLES["up-to"]
    return options.style, STYLES[options.style]


def _expect(reply: Reply | CallerError) -> Reply:
    if isinstance(reply, CallerError):
        raise reply
    if reply.stop == "overflow":
        raise Overflow("the reply ended where the window does")
    return reply


def _masked(summary: Summary) -> Summary:
    """What a model wrote, without the secrets that it copied: notes outlive results. The user's own words, secrets
    and all, are quoted beside it."""
    return replace(summary, sections=tuple(part._replace(text=masked(part.text)) for part in summary.sections))
