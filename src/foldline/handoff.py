"""A conversation as one text, to be pasted into a new session of any agent.

    conversation, options, meter, tokens ── steps ──> Handoff

The text is the checkpoint of the whole conversation, with nothing kept beside it; the user's latest message follows it
where it does not stand there whole. It is plain: nothing in it would be obeyed by a terminal. `steps` asks a model,
if there is one, and nobody else. Knows nothing of archives: what is handed over is neither kept nor found again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

from foldline.core.checkpoint import Composed, Frame, compose, snapshot_of
from foldline.core.cycles import pair
from foldline.core.deeds import deeds
from foldline.core.effects import Effect
from foldline.core.escapes import safe_text
from foldline.core.facts import facts_of
from foldline.core.fold import newest_user
from foldline.core.ledger import ledger_of
from foldline.core.meter import Meter
from foldline.core.options import Options
from foldline.core.receipt import Attempt
from foldline.core.resume import resume
from foldline.core.summarise import EXTRACTED, Span, Written, summarise
from foldline.core.user_pieces import LONG_MESSAGE
from foldline.errors import CannotFit
from foldline.model import Conversation

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
    """The handoff in at most `to` tokens. Raises CannotFit when even the least does not fit."""

    def size(text: str) -> int:
        return round(meter.text(text) * meter.ratio)

    span, latest = _all_of(given), _latest(given)
    bare, ended = _Sheet(to, size), _Sheet(to, size, f"{LATEST}\n{latest}")
    is_short = size(ended.end) <= to * LATEST_SHARE
    sheet = ended if is_short and len(latest) > LONG_MESSAGE else bare
    written, composed = yield from _drafts(span, options, sheet)
    if sheet is bare and is_short and not _stands_in(composed.text, latest):
        again = yield from _drafts(span, options, ended, written)
        if ended.holds(again[1].text):
            sheet, (written, composed) = ended, again
    text = sheet.whole(composed.text)
    tokens = size(text)
    if tokens > to:
        what = f"the shortest continuation has {tokens:,} tokens, and {to:,} are allowed; a larger `to` would help"
        raise CannotFit(what, tokens=tokens, allowed=to)
    return Handoff(text, tokens, written.author, written.attempts, composed.left_out)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What is written on: how many tokens it holds, how they are counted, and what stands at its end."""

    to: int
    size: Callable[[str], int]
    end: str = ""

    @property
    def room(self) -> int:
        """Tokens for what stands above its end."""
        return self.to - self.size(self.end)

    def whole(self, text: str) -> str:
        """A text on it."""
        return safe_text("\n\n".join(filter(None, (text, self.end)))) + "\n"

    def holds(self, text: str) -> bool:
        return self.size(self.whole(text)) <= self.to


def _drafts(
    span: Span, options: Options, sheet: _Sheet, written: Written | None = None
) -> Generator[Effect, Any, tuple[Written, Composed]]:
    """The summary and what stands around it, smaller each time until it fits."""
    written, composed = yield from _draft(span, options, sheet, SHARES[0], written)
    for share in SHARES[1:]:
        if sheet.holds(composed.text):
            break
        written, composed = yield from _draft(span, options, sheet, share, written)
    return written, composed


def _draft(
    span: Span, options: Options, sheet: _Sheet, share: float, written: Written | None
) -> Generator[Effect, Any, tuple[Written, Composed]]:
    """One attempt, in this share of the room. A model is asked once: what it wrote stays; an extract is made again."""
    frame, aim = _frame(span, options), int(sheet.room * share)
    if written is None:
        part = _part(aim, frame, WRITTEN_SHARE if options.writers else EXTRACT_SHARE, sheet)
        written = yield from summarise(span, options, part, sheet.size)
    elif written.author == EXTRACTED:
        part = _part(aim, frame, EXTRACT_SHARE, sheet)
        again = yield from summarise(span, options.without_models(), part, sheet.size)
        written = replace(again, attempts=written.attempts)
    return written, _composed(span, written, frame, aim, sheet)


def _all_of(given: Conversation) -> Span:
    pairing = pair(given.messages, given.grammar)
    done = tuple(deeds(given.messages, pairing))
    return Span(given.messages, pairing, 0, facts_of(given.messages, done), done)


def _frame(span: Span, options: Options) -> Frame:
    """What stands around the summary. Who reads it did not live through the conversation: nothing is passed over."""
    manner = resume(replace(options.manner, silent=False))
    return Frame(len(span.messages), "", manner, kept_tail=False, transcript=options.transcript)


def _part(room: int, frame: Frame, share: float, sheet: _Sheet) -> int:
    """Tokens for the summary: its share of what the snapshot and the last words leave."""
    return max(int((room * (1 - SNAPSHOT_SHARE) - sheet.size(frame.resume)) * share), 0)


def _composed(span: Span, written: Written, frame: Frame, room: int, sheet: _Sheet) -> Composed:
    snapshot = snapshot_of(span.messages, 0, int(room * SNAPSHOT_SHARE), sheet.size)
    frame = replace(frame, author=written.author)
    return compose(written.summary, span.facts, ledger_of(span.deeds), snapshot, frame, room, sheet.size)


def _latest(given: Conversation) -> str:
    """What the user said last."""
    at = newest_user(given.messages)
    return given.messages[at].text.strip() if at is not None else ""


def _stands_in(text: str, said: str) -> bool:
    """Each of its lines does, whatever marks them there as a quotation."""
    return all(line.strip() in text for line in said.splitlines())
