"""One attempt at a fold: the checkpoint of everything before a cut, and the view with it.

    cut, step, rooms ── fold ──> Folded, or None where the proof refused the view

A step says how hard to try: how many messages are kept at least, how far results are shortened, how much room the
checkpoint gets. The first attempt may ask a model; what it wrote for a cut is used again at that cut. Which steps there
are, which cut each has, and which attempt is taken, is decided in compaction.py. How much room a checkpoint has is
calculated in rooms.py, what it says is made in checkpoint.py, what lies before a cut is in spans.py, and the view
behind it in views.py.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from foldline.core.checkpoints.checkpoint import Checkpoint, compose, framed, snapshot_of
from foldline.core.checkpoints.notes import Composed
from foldline.core.effects import Asking
from foldline.core.fold import ALL, BrokenPromise
from foldline.core.ground import Ground
from foldline.core.options import Options
from foldline.core.prune import PruneSettings
from foldline.core.receipt import IN_PART, Attempt
from foldline.core.rooms import Rooms
from foldline.core.span import Span
from foldline.core.spans import Spans
from foldline.core.stubbing import only, stubbed
from foldline.core.summaries.shorten import shorten
from foldline.core.summaries.summary import render
from foldline.core.summarise import Written, summarise
from foldline.core.views import Shown, Views
from foldline.core.work.ledger import Ledger
from foldline.model import Message

SNAPSHOT_SHARE = 0.12
"""Share of the checkpoint that shows the latest folded messages."""
SNAPSHOT_HEADING = 10
"""Tokens of the heading above those messages."""
CLAMPS = tuple(
    PruneSettings(limit=limit, head=limit * 4 // 7, tail=limit * 2 // 7, protect=0, worthwhile=0)
    for limit in (768_000, 384_000, 192_000, 96_000, 48_000, 24_000, 12_000, 6_000, 3_000, 1_500, 700, 260)
)
"""How far results are shortened, the gentlest first. They are shortened wherever they stand, and no more than is
needed."""
FROM_SHARE = 0.3
"""A fold of a conversation's end may have this share of the tokens it replaces: notes are to be much shorter than
that."""
SPARE = 24
"""Tokens that may stay free in an extracted checkpoint: less is not worth another try."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A view that fits, with everything that is to be kept of how it was made."""

    shown: Shown
    checkpoint: Checkpoint
    span: Span
    """What was folded."""
    written: Written
    left_out: tuple[tuple[str, int], ...] = ()
    lost: int = 0
    """How many of the user's rules it does not show. The rules of a pasted plan are not counted: there are many of
    them."""
    terse: bool = False
    """Its checkpoint has hardly more than rules and open tasks."""

    @property
    def missing(self) -> int:
        """How many rules it does not show, those of plans included."""
        return dict(self.left_out).get("rules", 0)

    @property
    def unsaid(self) -> int:
        """How many of the user's messages it does not show."""
        return dict(self.left_out).get("said", 0)

    @property
    def cost(self) -> tuple[int, bool, int]:
        """What the view costs the user, the worst first: the rules that are lost; whether it has little but a plan's
        rules and not even all of these; how many rules are missing in all."""
        return self.lost, self.terse and self.missing > 0, self.missing

    @property
    def covered(self) -> tuple[str, ...]:
        """The names of the messages that were folded."""
        return tuple(message.identity for message in self.span.messages)

    @property
    def view(self) -> tuple[Message, ...]:
        return self.shown.mended.messages

    @property
    def tokens(self) -> int:
        return self.shown.plan.tokens


class Step(NamedTuple):
    """How hard to try."""

    name: str
    keep: int
    """Messages that stay at least."""
    share: float
    """Share of its room that the checkpoint gets."""
    clamps: tuple[PruneSettings, ...] = ()
    """How results may be shortened, the gentlest first."""
    same_cut: bool = False
    """The cut is that of the first attempt, so what a model wrote for it is used again."""
    clamp_user: bool = False
    """The newest user message may be shown by its two ends."""
    terse: bool = False
    """The checkpoint has hardly more than the rules and the open tasks."""

    @property
    def is_last_resort(self) -> bool:
        """Only taken where no other view shows all rules."""
        return self.terse or self.clamp_user


class Attempts:
    """The attempts of one fold. What a model wrote and what the proof refused is remembered between them."""

    def __init__(self, ground: Ground, options: Options, spans: Spans, views: Views) -> None:
        self.ground, self.options, self.spans, self.views = ground, options, spans, views
        self.asked: tuple[Attempt, ...] = ()
        self.by_model: dict[int, Written] = {}
        self.broken: list[str] = []
        """Why the proof refused views, with the step that made each."""

    def fold(self, cut: int, step: Step, rooms: Rooms, options: Options) -> Generator[Asking, list[Any], Folded | None]:
        """One attempt: what the checkpoint says, the checkpoint itself, and the view with it."""
        span = self.spans.span(cut)
        ledger = self.spans.ledger(span)
        settings, stay = self._clamped(cut, step, rooms)
        written, composed = yield from self._composed(cut, step, ledger, stay, rooms, options)
        checkpoint = self.spans.checkpoint(cut, span, written, ledger, composed.text)
        try:
            shown = self._shown(cut, step, checkpoint, settings, rooms)
        except BrokenPromise as broken:
            self.broken.append(f"{step.name}: {broken}")
            return None
        short = (("summary", written.left_out), (IN_PART, composed.in_part))
        left_out = (*composed.left_out, *((what, count) for what, count in short if count))
        return Folded(shown, checkpoint, span, written, left_out, composed.lost, step.terse)

    def _composed(
        self, cut: int, step: Step, ledger: Ledger, stay: int, rooms: Rooms, options: Options
    ) -> Generator[Asking, list[Any], tuple[Written, Composed]]:
        """The summary, and the text of a checkpoint with it. `stay` are the tokens of the messages behind the cut."""
        span, size = self.spans.span(cut), rooms.costs.size
        now = self.spans.with_later_commits(ledger, span)
        snapshot = self._snapshot(span, step, rooms)
        frame = self.spans.frame(cut, span, terse=step.terse)
        facts = self.spans.shown_facts(cut, span, scarce=rooms.scarce or (step.terse and not step.clamp_user))
        around = size(framed(frame)) + (size(snapshot) + SNAPSHOT_HEADING if snapshot else 0)
        if step.terse:
            room, space = rooms.terse(around, facts), 0
        else:
            left, stay = self._left(step.share, cut, stay, rooms)
            left = left if options.most is None else min(left, options.most)
            room, space = rooms.inside(step.share, around, facts, now, left, stay)
        if options.most is not None:
            room, space = min(room, options.most), min(space, max(options.most - around, 0))
        written = yield from self._written(cut, span, space, options, rooms)
        frame = replace(frame, author=written.author or frame.author)
        composed = compose(written.summary, facts, now, snapshot, frame, room, size)
        spare = room - composed.tokens
        if spare > SPARE and written.is_extract and not composed.left_out:  # the log takes what notes leave
            space = size(render(written.summary)) + spare
            longer = yield from self._written(cut, span, space, options.without_models(), rooms)
            fuller = compose(longer.summary, facts, now, snapshot, frame, room, size)
            if all(section == "read-files" for section, _ in fuller.left_out):  # a log displaces only these
                return longer, fuller
        return written, composed

    def _shown(
        self, cut: int, step: Step, checkpoint: Checkpoint, settings: PruneSettings | None, rooms: Rooms
    ) -> Shown:
        """The view with this checkpoint. Where the newest user message may be clamped, there is only as much of it as
        has room, in tokens and in bytes."""
        extent = rooms.user(checkpoint.message, self.stay(cut, settings, rooms)) if step.clamp_user else ALL
        shown = self.views.shown(cut, checkpoint, settings, extent)
        most = self.options.budget.max_bytes
        if step.clamp_user and most is not None and shown.size.bytes > most:
            lighter = rooms.lighter(extent, shown.size.bytes - most)
            return self.views.shown(cut, checkpoint, settings, lighter)
        return shown

    def _clamped(self, cut: int, step: Step, rooms: Rooms) -> tuple[PruneSettings | None, int]:
        """How the results behind the cut are shortened, and how many tokens the messages there then have."""
        if not step.clamps:
            return None, self.stay(cut, None, rooms)
        most = rooms.clamped(step.share)
        for settings in step.clamps:
            stay = self.stay(cut, settings, rooms)
            if stay <= most:
                break
        return settings, stay

    def stay(self, cut: int, settings: PruneSettings | None, rooms: Rooms) -> int:
        """Tokens of the messages from `cut` on, as the view will have them."""
        messages = self.ground.messages[cut:]
        if settings is None and not self.ground.plan.stubs:
            return sum(rooms.loose[cut:])
        pinned = [self.ground.messages[pin] for pin in self.options.pins if pin >= cut]
        pruned = stubbed(messages, settings or only(self.options.prune), self.ground.plan.stubs, pinned)
        there = sum(tokens for at, tokens in enumerate(rooms.costs.each[cut:], cut) if at in rooms.stays)
        return max(rooms.costs.together(pruned.messages) - there, 0)

    def _left(self, share: float, cut: int, stay: int, rooms: Rooms) -> tuple[int, int]:
        """What the messages that stay leave for the checkpoint, and their tokens. The end of a conversation may be much
        shorter than what there is room for: notes on it are shorter still."""
        if self.options.direction == "up-to":
            return rooms.left(share, cut, stay), stay + rooms.shown(cut)
        each = rooms.costs.each
        stay = sum(rooms.loose[:cut])
        return min(rooms.left(share, len(each), stay), int(sum(each[cut:]) * FROM_SHARE)), stay

    def _snapshot(self, span: Span, step: Step, rooms: Rooms) -> str:
        """The latest folded messages, for a checkpoint that a model writes. An extracted one needs none: its log
        ends with them."""
        if not self.options.writers:
            return ""
        room = int(rooms.checkpoint(step.share, 0) * SNAPSHOT_SHARE)
        return snapshot_of(span.messages, span.first, room, rooms.costs.size)

    def _written(
        self, cut: int, span: Span, room: int, options: Options, rooms: Rooms
    ) -> Generator[Asking, list[Any], Written]:
        """The summary of a span; one by a model is shortened to its room, and used again for the same cut."""
        written = self.by_model.get(cut)
        if written is None:
            written = yield from summarise(span, options, room, rooms.costs.size)
            self.asked += written.attempts
            if written.is_extract:  # it was chosen for this room
                return replace(written, attempts=self.asked)
            self.by_model[cut] = written
        short = shorten(written.summary, room, rooms.costs.size)
        return replace(written, summary=short.summary, attempts=self.asked, left_out=short.left_out)
