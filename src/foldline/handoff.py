"""A conversation as one text, to be pasted into a new session of any agent.

    conversation, options, meter, tokens ── steps ──> Handoff

The text is the checkpoint of the whole conversation, with nothing kept beside it; the user's latest message follows it
where it does not stand there whole. It is plain: nothing in it would be obeyed by a terminal. `steps` asks a model,
if there is one, and the archive whether a text is a checkpoint. What is handed over is neither kept nor found again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

from foldline.core.checkpoints.checkpoint import Frame, compose, snapshot_of
from foldline.core.checkpoints.notes import Composed
from foldline.core.checkpoints.returned import Returned, recognised
from foldline.core.checkpoints.user_pieces import LONG_MESSAGE
from foldline.core.counting.meter import Meter
from foldline.core.effects import Effect, Known, Tell
from foldline.core.facts import Facts
from foldline.core.fold import newest_user
from foldline.core.ground import Given, Ground, ground_of
from foldline.core.history.skeleton import Chain
from foldline.core.options import Options
from foldline.core.receipt import Attempt
from foldline.core.resume import resume
from foldline.core.said.usertext import own_words
from foldline.core.span import Span
from foldline.core.spans import Spans, covered
from foldline.core.story import Story
from foldline.core.summarise import Written, summarise
from foldline.core.words.escapes import safe_text
from foldline.core.work.ledger import Ledger
from foldline.errors import ArchiveError, CannotFit, InputError
from foldline.model import Conversation, Notice

TOKENS = 6_000
"""What a new session can take at its beginning without minding."""
SNAPSHOT_SHARE = 0.15
"""Share of the text that shows the last messages: here they are nowhere else."""
LATEST_SHARE = 0.5
"""Share of the text that the user's latest message may take after the checkpoint; a longer one is left out there."""
EXTRACT_SHARE, WRITTEN_SHARE = 0.3, 0.6
"""Shares of the rest for the summary: an extracted one leaves more to the user's words, tasks and files; one that a
model writes holds those as well, and must not end at its limit."""
SHARES = (0.96, 0.7, 0.4)
"""Shares of the room that are aimed at, until it fits: joined texts have a few tokens more than their parts, and the
shorter a text, the more of it cannot be left out."""
LATEST = "## The user's latest message, word for word"
WORDS = frozenset({"user", "rule", "decision"})
"""Facts that are words of a message: they are not repeated where it stands at the end."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """The text, its tokens, who wrote the summary in it, who was asked for one, and how many lines of each section
    found no room."""

    text: str
    tokens: int
    author: str
    attempts: tuple[Attempt, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


def steps(given: Conversation, options: Options, meter: Meter, to: int) -> Generator[Effect, Any, Handoff]:
    """The handoff in at most `to` tokens. Raises CannotFit when even the least does not fit, InputError where there is
    no message to tell of."""
    if not given.messages:
        raise InputError("the conversation has no messages, so there is nothing to hand on; give one that has begun")

    def size(text: str) -> int:
        return round(meter.text(text) * meter.ratio)

    ground, story = yield from _ground(given, options)
    matter, (latest, name) = _matter(Spans(ground, options, story)), _latest(ground)
    bare, ended = _Sheet(to, size), _Sheet(to, size, f"{LATEST}\n{latest}", name)
    is_short = size(ended.end) <= to * LATEST_SHARE
    sheet = ended if is_short and len(latest) > LONG_MESSAGE else bare
    written, composed = yield from _drafts(matter, options, sheet)
    if sheet is bare and is_short and not _stands_in(composed.text, latest):
        again = yield from _drafts(matter, options, ended, written)
        if ended.holds(again[1].text):
            sheet, (written, composed) = ended, again
    text = sheet.whole(composed.text)
    tokens = size(text)
    if tokens > to:
        what = f"the shortest continuation has {tokens:,} tokens, and {to:,} are allowed; a larger `to` would help"
        raise CannotFit(what, tokens=tokens, allowed=to)
    return Handoff(text, tokens, written.author, written.attempts, composed.left_out)


@dataclass(frozen=True, slots=True)
class _Matter:
    """What is handed over: what is summarised, what was done, and what stands around the summary."""

    span: Span
    ledger: Ledger
    frame: Frame


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What is written on: how many tokens it holds, how they are counted, what stands at its end, and the name of the
    message of which that is the text."""

    to: int
    size: Callable[[str], int]
    end: str = ""
    ends_with: str = ""

    @property
    def room(self) -> int:
        """Tokens for what stands above its end."""
        return self.to - self.size(self.end)

    def shows(self, name: str) -> bool:
        """It ends with that message, word for word."""
        return bool(name) and name == self.ends_with

    def whole(self, text: str) -> str:
        """A text on it."""
        return safe_text("\n\n".join(filter(None, (text, self.end)))) + "\n"

    def holds(self, text: str) -> bool:
        return self.size(self.whole(text)) <= self.to


def _drafts(
    matter: _Matter, options: Options, sheet: _Sheet, written: Written | None = None
) -> Generator[Effect, Any, tuple[Written, Composed]]:
    """The summary and what stands around it, smaller each time until it fits."""
    written, composed = yield from _draft(matter, options, sheet, SHARES[0], written)
    for share in SHARES[1:]:
        if sheet.holds(composed.text):
            break
        written, composed = yield from _draft(matter, options, sheet, share, written)
    return written, composed


def _draft(
    matter: _Matter, options: Options, sheet: _Sheet, share: float, written: Written | None
) -> Generator[Effect, Any, tuple[Written, Composed]]:
    """One attempt, in this share of the room. A model is asked once: what it wrote stays; an extract is made again."""
    span, aim = matter.span, int(sheet.room * share)
    if written is None:
        part = _part(aim, matter.frame, WRITTEN_SHARE if options.writers else EXTRACT_SHARE, sheet)
        written = yield from summarise(span, options, part, sheet.size)
    elif written.is_extract:
        part = _part(aim, matter.frame, EXTRACT_SHARE, sheet)
        again = yield from summarise(span, options.without_models(), part, sheet.size)
        written = replace(again, attempts=written.attempts)
    return written, _composed(matter, written, aim, sheet)


def _ground(given: Conversation, options: Options) -> Generator[Effect, Any, tuple[Ground, Story]]:
    """The history, with checkpoints in it known for what they are, and its story."""
    followed, story = Returned(), Story(given.grammar)
    followed.follow(given.messages)
    known = (yield Known(followed.texts)) if followed.texts else {}
    if isinstance(known, ArchiveError):
        yield Tell(Notice("archive-failed", f"no checkpoint was known: {known}"))
        known = {}
    found = recognised(given, options, followed, known)
    story.follow(found.messages, listen=bool(options.writers))
    digests = Chain().digests(found.conversation.messages)
    start = Given(found.conversation, found.messages, digests, story.pairing, found.returned)
    return ground_of(start, None), story


def _matter(spans: Spans) -> _Matter:
    """The whole history. Who reads it did not live through it: nothing is passed over in silence."""
    span = spans.span(len(spans.ground.messages))
    manner = resume(replace(spans.manner(span), silent=False))
    frame = Frame(covered(span), "", manner, kept_tail=False, transcript=spans.options.transcript)
    return _Matter(span, spans.ledger(span), frame)


def _part(room: int, frame: Frame, share: float, sheet: _Sheet) -> int:
    """Tokens for the summary: its share of what the snapshot and the last words leave."""
    return max(int((room * (1 - SNAPSHOT_SHARE) - sheet.size(frame.resume)) * share), 0)


def _composed(matter: _Matter, written: Written, room: int, sheet: _Sheet) -> Composed:
    span, frame = matter.span, replace(matter.frame, author=written.author)
    snapshot = snapshot_of(span.messages, span.first, int(room * SNAPSHOT_SHARE), sheet.size)
    told = (fact.kind in WORDS and not fact.attached and sheet.shows(fact.source) for fact in span.facts.facts)
    facts = Facts(tuple(fact for fact, again in zip(span.facts.facts, told, strict=True) if not again))
    return compose(written.summary, facts, matter.ledger, snapshot, frame, room, sheet.size)


def _latest(ground: Ground) -> tuple[str, str]:
    """What the user said last, as far as it is not behind a checkpoint, and the name of that message."""
    at = newest_user(ground.messages[ground.begin :])
    message = ground.messages[ground.begin + at] if at is not None else None
    return (own_words(message), message.identity) if message else ("", "")


def _stands_in(text: str, said: str) -> bool:
    """Each of its lines does, whatever marks them there as a quotation."""
    return all(line.strip() in text for line in said.splitlines())
