"""A conversation as one text, to be pasted into a new session of any agent.

    conversation, options, meter, tokens ── steps ──> Handoff

The text is the checkpoint of the whole conversation, with nothing kept beside it; the user's latest message follows it
where it is too long to be quoted there. It is plain: nothing in it would be obeyed by a terminal. `steps` asks a model,
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
from foldline.errors import CannotFit
from foldline.model import Conversation

TOKENS = 6_000
"""What a new session can take at its beginning without minding."""
SNAPSHOT_SHARE = 0.15
"""Share of the text that shows the last messages: here they are nowhere else."""
QUOTED = 600
"""Characters of the user's latest message that a checkpoint quotes in any case; a longer one follows it whole, …"""
LATEST_SHARE = 0.5
"""… unless it would take more than this share of the text."""
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

    sheet = _Sheet(to, size, _latest(given, int(to * LATEST_SHARE), size))
    written, composed = yield from _drafts(_all_of(given), options, sheet)
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


def _drafts(span: Span, options: Options, sheet: _Sheet) -> Generator[Effect, Any, tuple[Written, Composed]]:
    """The summary and what stands around it, smaller each time until it fits. A model is asked once."""
    frame = _frame(span, options)
    aims = [int(sheet.room * share) for share in SHARES]
    share = WRITTEN_SHARE if options.writers else EXTRACT_SHARE
    written = yield from summarise(span, options, _part(aims[0], frame, share, sheet), sheet.size)
    composed = _composed(span, written, frame, aims[0], sheet)
    for aim in aims[1:]:
        if sheet.holds(composed.text):
            break
        if written.author == EXTRACTED:
            quiet = options.without_models()
            again = yield from summarise(span, quiet, _part(aim, frame, EXTRACT_SHARE, sheet), sheet.size)
            written = replace(again, attempts=written.attempts)
        composed = _composed(span, written, frame, aim, sheet)
    return written, composed


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


def _latest(given: Conversation, most: int, size: Callable[[str], int]) -> str:
    """What the user said last, where it is too long to be quoted whole and short enough to be added."""
    at = newest_user(given.messages)
    text = given.messages[at].text if at is not None else ""
    added = f"{LATEST}\n{text.strip()}"
    return added if len(text) > QUOTED and size(added) <= most else ""
