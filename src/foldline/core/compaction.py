"""Finding a view that fits: where to cut, how much to clamp, how large the checkpoint may be.

    ground, target ── attempts, each smaller than the last ──> Folded (view, checkpoint, plan)

The first attempt keeps as much tail as the target allows; later ones keep less, clamp bulky results wherever they
stand, fold everything, and at last, if nothing else fits, clamp the newest user message itself. A view should leave
room for the next turns: where no attempt leaves enough, the one that leaves most is taken. The user's rules outrank
that: among views that fit, the one that omits the fewest rules wins. If no view can hold all rules of a pasted plan,
the rest of the checkpoint still gets its share. A model is asked once, for the first attempt; the rest is extraction.
If the last attempt does not fit either, CannotFit carries it. What a view may have is in limits.py, what a checkpoint
says is made in checkpoint.py, how much room it has in rooms.py, what lies before a cut is in spans.py, and the view
behind it in views.py.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from foldline.core.budget import Budget
from foldline.core.checkpoint import Checkpoint, compose, framed, snapshot_of
from foldline.core.cuts import MIN_KEEP, choose, legal, rules_of
from foldline.core.cycles import Pairing
from foldline.core.effects import Asking
from foldline.core.fold import BrokenPromise, with_cycles
from foldline.core.ground import Ground
from foldline.core.limits import limits_of, refusal
from foldline.core.meter import Meter, Tally
from foldline.core.options import Options
from foldline.core.policy import Decision
from foldline.core.prune import PruneSettings
from foldline.core.receipt import IN_PART, Attempt
from foldline.core.rooms import Rooms
from foldline.core.shorten import shorten
from foldline.core.spans import Spans
from foldline.core.story import Story
from foldline.core.stubbing import only, stubbed
from foldline.core.summarise import EXTRACTED, Span, Written, summarise
from foldline.core.summary import render
from foldline.core.usertext import guide_in
from foldline.core.views import Shown, Views
from foldline.model import Message, Notice

SNAPSHOT_SHARE = 0.12
"""Share of the checkpoint that shows the latest folded messages."""
SNAPSHOT_HEADING = 10
"""Tokens above them."""
CLAMPS = tuple(
    PruneSettings(limit=limit, head=limit * 4 // 7, tail=limit * 2 // 7, protect=0, worthwhile=0)
    for limit in (768_000, 384_000, 192_000, 96_000, 48_000, 24_000, 12_000, 6_000, 3_000, 1_500, 700, 260)
)
"""Results are shortened wherever they stand, no more than it takes."""
FROM_SHARE = 0.3
"""Share of the tokens of a conversation's end that notes on it may have."""
SPARE = 24
"""Tokens that may stay free in a checkpoint that quotes."""
AS_MUCH = 0.5
"""Share of the turns that could come before the next fold, given for seeing the last step: an agent that does not see
what its tool said calls it again."""
LAST_STEP = 2
"""Messages of the last step: a call and its answer."""


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
    """How many of the user's rules it does not show. Those of a plan, which has many, are not among them."""
    terse: bool = False
    """Its checkpoint has hardly more than rules and open tasks."""

    @property
    def missing(self) -> int:
        """How many rules it does not show, those of plans included."""
        return dict(self.left_out).get("rules", 0)

    @property
    def cost(self) -> tuple[int, bool, int]:
        """What it costs the user, the gravest first: rules that are lost; to know nothing but a plan's rules, and not
        all of these; other rules of plans."""
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


class _Step(NamedTuple):
    """How hard to try."""

    name: str
    keep: int
    """Messages kept at least, beside what a model wrote …"""
    least: int
    """… and beside a log, which tells in order what was done before them."""
    clamps: tuple[PruneSettings, ...] = ()
    """How results may be shortened, the gentlest first."""
    told: float = 1.0
    """Share of its room that a checkpoint gets from a model …"""
    quoted: float = 1.0
    """… and from extraction, which loses more by being shorter."""
    same_cut: bool = False
    """The cut is that of the first attempt: what a model wrote serves again."""
    clamp_user: bool = False
    """The newest user message may be shown by its two ends."""
    terse: bool = False
    """The checkpoint has hardly more than the rules and the open tasks."""

    @property
    def is_last_resort(self) -> bool:
        """Taken for want of another view that shows the rules."""
        return self.terse or self.clamp_user


_FOLD_ALL = _Step("fold all", 0, 0, CLAMPS[-1:], told=0.5, quoted=0.98)
"""Half of its room is what a model's text can be cut to before it says too little. Each step of extraction has a
hundredth or two less: texts joined have a few tokens more than their parts, and what was just too large fits then."""
_CLAMP_USER = _FOLD_ALL._replace(name="clamp user", told=0.25, quoted=0.95, clamp_user=True)
"""The message's ends take the room: a quarter is about the rules and the task."""
_STEPS = (
    _Step("keep the tail", MIN_KEEP, LAST_STEP),
    _Step("shorten results", MIN_KEEP, LAST_STEP, CLAMPS, told=0.7, quoted=0.99, same_cut=True),
    _Step("keep the last message", 1, 1, CLAMPS[-1:], told=0.5, quoted=0.97),
    _FOLD_ALL,
    _FOLD_ALL._replace(name="fold all, tell little", terse=True),
    _CLAMP_USER,
    _CLAMP_USER._replace(name="clamp user, tell little", terse=True),
)
BROKEN = "a view was made and not taken ({}); this is a fault of Foldline, please report it"
"""Said of views that the proof refused, with the step that made them."""


class Compaction:
    """One fold. `run` yields what to ask and gives the first attempt that fits; None where there is nothing to fold."""

    def __init__(
        self, ground: Ground, options: Options, budget: Budget, meter: Meter, decision: Decision, story: Story
    ) -> None:
        self.ground, self.options, self.budget, self.meter = ground, options, budget, meter
        self.decision = decision
        self.pairing: Pairing = story.pairing
        self.limits = limits_of(ground, options, budget, meter, decision)
        self.rooms = self._rooms()
        self.size = self.rooms.size
        self.spans = Spans(ground, options, story, self.rooms)
        self.views = Views(ground, options, meter, self.pairing, decision.in_row)
        self.asked: tuple[Attempt, ...] = ()
        self.by_model: dict[int, Written] = {}
        self.broken: list[str] = []
        """Why views were not taken that the proof refused."""

    def _rooms(self, clamp_user: bool = False) -> Rooms:
        return Rooms(
            self.ground,
            self.meter,
            self.limits,
            with_cycles(self.options.pins, self.pairing),
            guide=None if self.options.guide is None else guide_in(self.ground.messages[self.options.guide]),
            by_model=bool(self.options.voices),
            clamp_user=clamp_user,
        )

    def _share(self, step: _Step) -> float:
        return step.told if self.rooms.by_model else step.quoted

    def run(self) -> Generator[Asking, list[Any], Folded | None]:
        found: list[Folded] = []
        chosen = yield from self._chosen(found)
        return self._with_log(self._admitting(self._accounted(chosen, found))) if chosen else None

    def _chosen(self, found: list[Folded]) -> Generator[Asking, list[Any], Folded | None]:
        """The best attempt. All of them are put into `found`."""
        fitting: list[Folded] = []
        seeing: list[Folded] = []
        options = self.options
        cut: int | None = None
        for step in _STEPS:
            cut = cut if step.same_cut else self._cut(step)
            if cut is None or not self._is_due(step, cut, fitting):
                continue
            if step.clamp_user:
                self.rooms = self._rooms(clamp_user=True)
            folded = yield from self._fold(cut, step, options)
            options = replace(options, cheap=None, fallback=None)  # a model is asked once
            found += [folded] if folded else []
            if folded and self._holds(folded.view):
                heavy = self._is_heavy(cut, folded)
                eased = folded.tokens <= self.rooms.ease and not heavy
                sees = cut < len(self.ground.messages)
                if eased and sees and not folded.missing:
                    return folded
                fitting.append(folded)
                seeing += [folded] if sees and not heavy else []
        if fitting:
            least = min(folded.cost for folded in fitting)
            return self._longest(*([one for one in some if one.cost == least] for some in (fitting, seeing)))
        self._raise_unless_it_fits(min(found, key=_tokens_of, default=None))
        return None

    def _admitting(self, folded: Folded) -> Folded:
        """With a notice where another view was tried first and refused by the proof: that is a fault of ours."""
        faults = tuple(Notice("view-refused", BROKEN.format(why)) for why in dict.fromkeys(self.broken))
        return replace(folded, shown=replace(folded.shown, notices=(*folded.shown.notices, *faults)))

    def _is_due(self, step: _Step, cut: int, fitting: Sequence[Folded]) -> bool:
        """The step is worth trying after those that fitted so far."""
        if step.is_last_resort and not all(folded.missing for folded in fitting):
            return False  # there is a view already that shows all rules
        if step.terse and not step.clamp_user and not fitting:
            return False  # nothing fits with the message whole: by its ends, it leaves room for more than this
        return bool(step.clamps) or not self._is_crowded(cut, step)

    def _with_log(self, folded: Folded) -> Folded:
        """With the lines that the next log is chosen from: a log of a log would forget more each time."""
        if folded.written.author != EXTRACTED:
            return folded
        log = folded.span.extractor.kept(folded.written.summary.get("context"), self.size)
        return replace(folded, checkpoint=replace(folded.checkpoint, log=log))

    def _accounted(self, chosen: Folded, found: Sequence[Folded]) -> Folded:
        """With the reason why what a model wrote is not what is shown, where that is so."""
        by_model = [folded for folded in found if folded.written.author != EXTRACTED]
        if chosen.written.author != EXTRACTED or not by_model:
            return chosen
        least = min(by_model, key=_tokens_of)
        why = f"a view with it has {least.tokens:,} tokens, and {self.limits.most:,} are allowed"
        if least.tokens <= self.limits.most:
            why = "a view with it leaves less room, shows fewer rules, or has too many bytes"
        attempts = tuple(attempt.not_taken(why) for attempt in chosen.written.attempts)
        return replace(chosen, written=replace(chosen.written, attempts=attempts))

    def _longest(self, fitting: Sequence[Folded], seeing: Sequence[Folded]) -> Folded:
        """The one that lets the most turns come before the next fold; of those in which the last step is seen, one that
        lets nearly as many come."""
        least = fitting[-1] if fitting[-1].tokens <= self.rooms.ease else min(fitting, key=_tokens_of)
        found = min(seeing, key=_tokens_of, default=least)
        return found if self._turns(found) >= self._turns(least) * AS_MUCH else least

    def _turns(self, folded: Folded) -> int:
        """How many turns as large as the last one there is room for behind a view."""
        return (self.limits.most - folded.tokens) // max(sum(self.rooms.each[-LAST_STEP:]), 1)

    def _is_heavy(self, cut: int, folded: Folded) -> bool:
        """A few large messages fill the view, and could be shortened or folded. Where what cannot be folded fills it,
        they are all that the agent sees of its work."""
        if self.rooms.tight or self.rooms.by_model:
            return False
        if self.options.pivot is not None or cut == len(self.ground.messages):
            return False
        return self.rooms.is_heavy(self._stay(cut, folded.shown.plan.settings))

    def _is_crowded(self, cut: int, step: _Step) -> bool:
        """Large results behind a cut that nobody asked for are to be shortened at once: beside a model's summary they
        would take the room of the user's words. A log gets its room anyway."""
        if not self.rooms.by_model or self.options.pivot is not None or self.options.direction == "from":
            return False
        return self.rooms.is_crowded(cut, self._share(step))

    def _raise_unless_it_fits(self, smallest: Folded | None) -> None:
        """Nothing could be folded: well if everything fits as it is."""
        view = smallest.view if smallest else self.ground.view
        size = self._size(view)
        if smallest or not replace(self.limits, most=self.budget.room).holds(size):
            why = "; ".join(BROKEN.format(why) for why in dict.fromkeys(self.broken))
            raise refusal(self.limits, self.ground, self.options, view, size, why)

    def _cut(self, step: _Step) -> int | None:
        """Where to divide, or None when there is nothing to fold."""
        messages, start = self.ground.messages, self.ground.base.start
        if self.options.direction == "from":
            cut = self._pivot(self.options.pivot or 0)
            return cut if cut < len(messages) else None
        if self.options.pivot is not None:
            cut = self._pivot(self.options.pivot)
            return cut if cut > self.ground.begin else None
        keep = step.keep if self.rooms.by_model else step.least
        if keep == 0:
            again = start > 0 and not self._holds(self.ground.view)  # all is folded, and too large
            return len(messages) if len(messages) > start or again else None
        positions = {cut for cut in self._legal if cut > start}
        if not positions:
            return None
        room = self.rooms.tail(self._share(step))
        whole = not self.rooms.by_model  # a log tells of what lies before a large result
        cut = choose(positions | {start}, self.rooms.sizes(start, room, whole=whole), keep=keep, tokens=room)
        if cut <= start:  # they would fit if large results were shortened: as many as fit without that
            cut = choose(positions | {start}, self.rooms.sizes(start, room, whole=True), keep=keep, tokens=room)
        if cut <= start:  # the messages are not what fills the room: fold all but the last
            cut = choose(positions | {start}, [0] * len(messages), keep=keep)
        return cut if cut > start else min(positions)

    def _pivot(self, pivot: int) -> int:
        return choose(self._legal, [0] * len(self.ground.messages), keep=0, at=pivot)

    @cached_property
    def _legal(self) -> set[int]:
        return legal(self.ground.messages, self.pairing, rules_of(self.ground.conversation.grammar))

    def _fold(self, cut: int, step: _Step, options: Options) -> Generator[Asking, list[Any], Folded | None]:
        """One attempt: the checkpoint of everything before the cut, and the view with it."""
        span = self.spans.span(cut)
        settings, stay = self._clamped(cut, step)
        ledger = self.spans.ledger(span)
        done = self.spans.as_it_is(ledger, span)
        snapshot = self._snapshot(span, step)
        frame = self.spans.frame(cut, span, terse=step.terse)
        told = self.spans.told(cut, span, scarce=self.rooms.scarce or (step.terse and not step.clamp_user))
        around = self.size(framed(frame)) + (self.size(snapshot) + SNAPSHOT_HEADING if snapshot else 0)
        if step.terse:
            room, space = self.rooms.terse(around, told), 0
        else:
            share = self._share(step)
            left, stay = self._left(share, cut, stay)
            room, space = self.rooms.inside(share, around, told, done, left, stay)
        written = yield from self._written(cut, span, space, options)
        frame = replace(frame, author=written.author or frame.author)
        composed = compose(written.summary, told, done, snapshot, frame, room, self.size)
        spare = room - composed.tokens
        if spare > SPARE and written.author == EXTRACTED and not composed.left_out:  # the log takes what notes leave
            space = self.size(render(written.summary)) + spare
            longer = yield from self._written(cut, span, space, replace(options, cheap=None, fallback=None))
            fuller = compose(longer.summary, told, done, snapshot, frame, room, self.size)
            if all(section == "read-files" for section, _ in fuller.left_out):  # nothing else gives way to a log
                written, composed = longer, fuller
        checkpoint = self.spans.checkpoint(cut, span, written, ledger, composed.text)
        length = self.rooms.user(checkpoint.message, self._stay(cut, settings)) if step.clamp_user else 0
        try:
            shown = self.views.shown(cut, checkpoint, settings, length)
        except BrokenPromise as broken:
            self.broken.append(f"{step.name}: {broken}")
            return None
        short = (("summary", written.left_out), (IN_PART, composed.in_part))
        left_out = (*composed.left_out, *((what, count) for what, count in short if count))
        return Folded(shown, checkpoint, span, written, left_out, composed.lost, step.terse)

    def _clamped(self, cut: int, step: _Step) -> tuple[PruneSettings | None, int]:
        """How the results behind the cut are shortened, and the tokens that are left then."""
        if not step.clamps:
            return None, self._stay(cut, None)
        most = self.rooms.clamped(self._share(step))
        found = ((settings, self._stay(cut, settings)) for settings in step.clamps[:-1])
        last = step.clamps[-1]
        return next(((settings, stay) for settings, stay in found if stay <= most), (last, self._stay(cut, last)))

    def _stay(self, cut: int, settings: PruneSettings | None) -> int:
        """Tokens of the messages from `cut` on, as the view will have them."""
        messages = self.ground.messages[cut:]
        if settings is None and not self.ground.plan.stubs:
            return sum(self.rooms.loose[cut:])
        pinned = [self.ground.messages[pin] for pin in with_cycles(self.options.pins, self.pairing) if pin >= cut]
        pruned = stubbed(messages, settings or only(self.options.prune), self.ground.plan.stubs, pinned)
        there = sum(tokens for at, tokens in enumerate(self.rooms.each[cut:], cut) if at in self.rooms.stays)
        return max(round(sum(map(self.meter.message, pruned.messages)) * self.meter.ratio) - there, 0)

    def _left(self, share: float, cut: int, stay: int) -> tuple[int, int]:
        """What the messages that stay leave for the checkpoint, and their tokens. The end of a conversation may be much
        shorter than what there is room for: notes on it are shorter still."""
        if self.options.direction == "up-to":
            return self.rooms.left(share, cut, stay), stay + self.rooms.shown(cut)
        each = self.rooms.each
        stay = sum(self.rooms.loose[:cut])
        return min(self.rooms.left(share, len(each), stay), int(sum(each[cut:]) * FROM_SHARE)), stay

    def _snapshot(self, span: Span, step: _Step) -> str:
        """The latest folded messages; where there is no model, the work log ends with them."""
        if not self.options.voices:
            return ""
        room = int(self.rooms.checkpoint(step.told, 0) * SNAPSHOT_SHARE)
        return snapshot_of(span.messages, span.first, room, self.size)

    def _written(self, cut: int, span: Span, room: int, options: Options) -> Generator[Asking, list[Any], Written]:
        """The summary of a span, shortened to its room. What a model wrote for the same cut serves again."""
        written = self.by_model.get(cut)
        if written is None:
            written = yield from summarise(span, options, room, self.size)
            self.asked += written.attempts
            if options.voices and written.author in (voice.name for voice in options.voices):
                self.by_model[cut] = written
        short = shorten(written.summary, room, self.size)
        return replace(written, summary=short.summary, attempts=self.asked, left_out=short.left_out)

    def _holds(self, view: tuple[Message, ...]) -> bool:
        return self.limits.holds(self._size(view))

    def _size(self, view: tuple[Message, ...]) -> Tally:
        return self.meter.count(self.ground.conversation.with_messages(view))


def _tokens_of(folded: Folded) -> int:
    return folded.tokens
