"""Tokens of texts, messages and conversations; and how the provider's own numbers correct them.

Pure: knows nothing of dialects, HTTP or which tokenizer counts. What a part costs is in `sizes`; reading a provider's
usage is in `foldline.usage`; choosing a counter is in `foldline.tokens`.

    tokens = reported + ratio × (what is new − what is gone)          with a report for this conversation (an anchor)
    tokens = ratio × all                                              without

The ratio is what providers reported over what was counted, so far. A report serves only as far as the conversation it
was about is the beginning of the one asked about, so a number from before a compaction or from another branch corrects
the ratio and nothing else. Work is proportional to what is new: sums over the messages before it are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import NamedTuple

from foldline.core.counting.sizes import NOTHING, Counter, Size, Sizer, Work
from foldline.core.history.prefix import shared
from foldline.model import Conversation, Head, Message, Notice

RATIO_LEAST, RATIO_MOST = 0.5, 2.5
"""The ratio stays within these multiples of the prior. No tokenizer in use is further off, so a report beyond them
is not about this prompt: it is of a truncated one, or a sum over several calls."""

HIDDEN = 1_000
"""Tokens a provider may add unseen (its own preamble for tools, safety text) before a report counts as implausible."""

HEADLESS = 60_000
"""The same allowance where only messages were given: the report then includes the system prompt and the tools of
what may be a large agent."""

RATIO_INERTIA = 1_000
"""The present ratio weighs as much as so many tokens of a report: a greeting does not move it, a real prompt does."""

UNSURE_SHARE = 0.2
"""Where media and thinking are more than this share of the text, a report says more about them than about the
tokenizer."""

PRIOR_SPREAD = 0.30
"""How far a tokenizer's ratio may lie from the prior before anything was reported."""

LEARNT_SPREAD = 0.25
"""How far one kind of text (logs, CJK) may lie from the ratio of the whole conversation."""

ANCHOR_SPREAD = 0.01
"""How far the same prompt may differ between two reports: reminders, dates, cache marks."""

ANCHOR_LOSS = 0.25
"""A report is dropped once more than this share of its prompt is gone."""

TRACKS = 4
"""Conversations remembered at once: an agent, its sub-agents, a branch."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider reported. `input` is the whole prompt, cache included."""

    input: int
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """A conversation's size: the best estimate, bounds that enclose the true number, our own count, and the bytes to
    be sent."""

    tokens: int
    low: int
    high: int
    raw: int
    bytes: int
    anchored: bool = False


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a report taught. `notices` say why it taught nothing."""

    ratio: float
    anchored: bool
    notices: tuple[Notice, ...] = ()


class _Anchor(NamedTuple):
    """A report, the prompt it was about, and how many messages of that prompt the conversation still begins with."""

    reported: int
    head: Head
    then: Size
    shared: int


@dataclass(frozen=True, slots=True)
class _Track:
    """A conversation counted before: `sums[n]` is the size of its first n messages."""

    head: Head
    head_size: Size
    messages: tuple[Message, ...]
    sums: tuple[Size, ...]
    anchor: _Anchor | None = None

    @property
    def whole(self) -> Size:
        return self.head_size.plus(self.sums[-1])

    @property
    def kept(self) -> Size:
        """The part of the reported prompt that is still there."""
        if self.anchor is None:
            return NOTHING
        messages = self.sums[self.anchor.shared]
        return messages.plus(self.head_size) if _same_head(self.anchor.head, self.head) else messages

    @property
    def report(self) -> _Anchor | None:
        """The report, as long as enough of its prompt is still there."""
        anchor = self.anchor
        if anchor is None or anchor.then.minus(self.kept).raw > ANCHOR_LOSS * anchor.then.raw:
            return None
        return anchor


class Meter:
    """Counts with one counter for one model. Keep one for each model and endpoint; it is not for several threads."""

    def __init__(self, counter: Counter, *, prior: float = 1.0, spread: float = PRIOR_SPREAD) -> None:
        if not prior > 0:
            raise ValueError(f"prior is {prior}; give the tokens this model makes of one token counted, above 0")
        self.counter, self.prior, self.ratio = counter, prior, prior
        self._spread = spread
        self._sizer = Sizer(counter)
        self._recent: list[_Track] = []
        self._learnt: list[_Track] = []

    @property
    def work(self) -> Work:
        """What was counted since the beginning: messages, and characters tokenised."""
        return self._sizer.work

    def text(self, text: str) -> int:
        """Tokens of a text by our own count."""
        return self._sizer.text(text)

    def message(self, message: Message) -> int:
        """Tokens of a message by our own count, framing included."""
        size = self._sizer.message(message)
        return size.text + size.media

    def bytes(self, message: Message) -> int:
        """Bytes of a message as it came, or about as it would be written."""
        return self._sizer.message(message).bytes

    def each(self, conversation: Conversation) -> list[int]:
        """Tokens of each message by our own count, framing included."""
        totals = [size.text + size.media for size in self._follow(conversation).sums]
        return [later - former for former, later in pairwise(totals)]

    def head(self, head: Head) -> int:
        """Tokens of the system prompt and the tools by our own count, framing included."""
        return self._sizer.head(head).raw

    def count(self, conversation: Conversation) -> Tally:
        """The size of a conversation. Asked again after a message was added, only that message is counted."""
        track = self._follow(conversation)
        if (report := track.report) is None:
            return self._tally(track.whole, 0, NOTHING, NOTHING)
        return self._tally(track.whole, report.reported, track.kept, report.then.minus(track.kept))

    def learn(self, conversation: Conversation, usage: Usage) -> Lesson:
        """Take in what the provider reported for exactly this conversation as a prompt."""
        if conversation.head.remote:
            return self._nothing(
                "usage-remote", "the history lies at the provider: its usage is about more than was sent"
            )
        track = self._follow(conversation)
        size = track.whole
        if not self._plausible(size, usage.input, HIDDEN if track.head.system or track.head.tools else HEADLESS):
            told = f"{usage.input:,} tokens reported for a prompt counted as {size.raw:,}"
            return self._nothing("usage-implausible", f"{told} cannot be about this prompt: nothing was learned")
        self._adjust(size, usage.input, track.report)
        anchor = _Anchor(usage.input, track.head, size, len(track.messages))
        self._recent[0] = replace(track, anchor=anchor)
        self._learnt = [self._recent[0], *self._not_within(track)][:TRACKS]
        return Lesson(self.ratio, True)

    def _not_within(self, track: _Track) -> list[_Track]:
        """The reports about other conversations: one about a beginning of this conversation is superseded."""
        return [old for old in self._learnt if shared(old.messages, track.messages) < len(old.messages)]

    def _nothing(self, code: str, text: str) -> Lesson:
        return Lesson(self.ratio, False, (Notice(code, text),))

    def _plausible(self, size: Size, reported: int, hidden: int) -> bool:
        least = RATIO_LEAST * self.prior * (size.text - size.thinking) - HIDDEN
        most = RATIO_MOST * self.prior * size.text + size.media + size.error + hidden
        return reported > 0 and least <= reported <= most

    def _adjust(self, size: Size, reported: int, before: _Anchor | None) -> None:
        """Move the ratio by what came since the last report, or by the whole prompt if this is the first report."""
        if before is not None:
            size, reported = size.minus(before.then), reported - before.reported
        if size.media + size.thinking > UNSURE_SHARE * size.text or not self._plausible(size, reported, 0):
            return
        ratio = (RATIO_INERTIA * self.ratio + reported - size.media) / (RATIO_INERTIA + size.text)
        self.ratio = min(max(ratio, RATIO_LEAST * self.prior), RATIO_MOST * self.prior)
        self._spread = LEARNT_SPREAD

    def _tally(self, now: Size, reported: int, kept: Size, gone: Size) -> Tally:
        """The tally where the report covers `kept` and `gone`; the rest of `now` is counted, and so is what is
        subtracted."""
        new = now.minus(kept)
        middle = reported + self.ratio * (new.text - gone.text) + new.media - gone.media
        low = reported * (1 - ANCHOR_SPREAD) - self.ratio * kept.thinking + self._low(new) - self._high(gone)
        high = reported * (1 + ANCHOR_SPREAD) + self._high(new) - self._low(gone)
        tokens = max(0, round(middle))
        return Tally(
            tokens, min(tokens, max(0, math.floor(low))), max(tokens, math.ceil(high)), now.raw, now.bytes, reported > 0
        )

    def _low(self, size: Size) -> float:
        """The least it can be: thinking left out, media at low detail."""
        return max(0.0, self.ratio * ((1 - self._spread) * (size.text - size.thinking) - size.error))

    def _high(self, size: Size) -> float:
        return self.ratio * ((1 + self._spread) * size.text + size.error) + size.media

    def _follow(self, conversation: Conversation) -> _Track:
        """The conversation's own track: what it shares with an earlier one is taken over, the rest is counted."""
        head, messages = conversation.head, conversation.messages
        base, same = self._nearest(messages)
        known = base is not _EMPTY and _same_head(base.head, head)
        head_size = base.head_size if known else self._sizer.head(head)
        new = accumulate(map(self._sizer.message, messages[same:]), Size.plus, initial=base.sums[same])
        track = _Track(head, head_size, messages, base.sums[:same] + tuple(new), self._anchor(messages))
        kept = [old for old in self._recent if old is not base or same < len(base.messages)]
        self._recent = [track, *kept][:TRACKS]
        return track

    def _nearest(self, messages: tuple[Message, ...]) -> tuple[_Track, int]:
        """The track that shares most messages with these, and how many."""
        base, longest = _EMPTY, 0
        for track in (*self._recent, *self._learnt):
            if len(track.messages) > longest and (same := shared(track.messages, messages)) > longest:
                base, longest = track, same
        return base, longest

    def _anchor(self, messages: tuple[Message, ...]) -> _Anchor | None:
        """The report about most of these messages, the newest of several. What was only counted has no say in it."""
        found: _Anchor | None = None
        for track in self._learnt:
            reaches = found.shared if found else 0
            if track.anchor and len(track.messages) > reaches:
                same = shared(track.messages, messages)
                found = track.anchor._replace(shared=same) if same > reaches else found
        return found


_EMPTY = _Track(Head(), NOTHING, (), (NOTHING,))


def _same_head(one: Head, other: Head) -> bool:
    return one is other or (one.system, one.tools) == (other.system, other.tools)
