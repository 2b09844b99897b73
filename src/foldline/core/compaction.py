"""Finding a view that fits: where to cut, how much to clamp, how large the checkpoint may be.

    ground, target ── attempts, each smaller than the last ──> Folded (view, checkpoint, plan)

The first attempt keeps as much tail as the target allows; later ones keep less, clamp bulky results wherever they
stand, fold everything, and at last, if nothing else fits, clamp the newest user message itself. A view should leave
room for the next turns: where no attempt leaves enough, the one that leaves most is taken. The user's rules come before
that: among views that fit, the one that omits the fewest rules wins. If no view can hold all rules of a pasted plan,
the rest of the checkpoint still gets its share. A model is asked once, for the first attempt; the rest is extraction.
If the last attempt does not fit either, CannotFit carries the smallest view. How one attempt is made is in attempt.py,
what a view may have in limits.py.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from foldline.core.attempt import CLAMPS, Attempts, Folded, Step
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.costs import Costs
from foldline.core.counting.meter import Meter, Tally
from foldline.core.effects import Asking
from foldline.core.ground import Ground
from foldline.core.history.cuts import MIN_KEEP, choose, legal, rules_of
from foldline.core.history.repair import repair
from foldline.core.limits import limits_of, refusal
from foldline.core.options import Options
from foldline.core.policy import Decision
from foldline.core.receipt import Attempt
from foldline.core.rooms import Rooms
from foldline.core.said.usertext import guide_in
from foldline.core.spans import Spans
from foldline.core.story import Story
from foldline.core.summarise import Written
from foldline.core.views import Views
from foldline.model import Notice

AS_MUCH = 0.5
"""A view that shows the last step is taken if it leaves room for at least this share of the turns that the
longest-lasting view would: an agent that does not see what its tool said calls it again."""
LAST_STEP = 2
"""Messages of the last step: a call and its answer."""


_STEPS = (
    Step("keep the tail", MIN_KEEP, 1.0),
    Step("shorten results", MIN_KEEP, 0.7, CLAMPS, same_cut=True),
    Step("keep the last message", 1, 0.5, CLAMPS[-1:]),
    Step("fold all", 0, 0.5, CLAMPS[-1:]),
    Step("fold all, tell little", 0, 0.5, CLAMPS[-1:], terse=True),
    Step("clamp user", 0, 0.25, CLAMPS[-1:], clamp_user=True),
    Step("clamp user, tell little", 0, 0.25, CLAMPS[-1:], clamp_user=True, terse=True),
)
"""The ladder where a model writes. Half of its room is about the least its text can be cut to before it says too
little. The ends of a clamped message take the room: a quarter is about enough for the rules and the task."""
_EXTRACT_SHARES = (1.0, 0.99, 0.97, 0.98, 0.98, 0.95, 0.95)
_EXTRACT_STEPS = tuple(
    step._replace(keep=min(step.keep, LAST_STEP), share=share)
    for step, share in zip(_STEPS, _EXTRACT_SHARES, strict=True)
)
"""The ladder where the checkpoint is extracted. A shorter extract loses more, so it gets nearly all of its room; not
quite, since joined texts have a few tokens more than their parts, and what was just too large fits then. Fewer messages
will do behind it: the work log tells in order what came before them."""
BROKEN = "a view was made and not taken ({}); this is a fault of Foldline, please report it"
"""Said of a view that the proof refused, with the step that made it."""


class Compaction:
    """One fold. `run` yields what to ask and returns the best attempt that fits, or None where there is nothing to
    fold."""

    def __init__(self, ground: Ground, options: Options, meter: Meter, decision: Decision, story: Story) -> None:
        self.ground, self.options, self.meter = ground, options, meter
        self.limits = limits_of(ground, options, meter, decision)
        self.costs = Costs(ground, meter)
        self.rooms = self._rooms()
        views = Views(ground, options, meter, decision.in_row)
        spans = Spans(ground, options, story, self.costs.newest, self.costs.each)
        self.attempts = Attempts(ground, options, spans, views)
        self.found: list[Folded] = []
        """Every attempt that brought a view, whether it fits or not."""

    @property
    def asked(self) -> tuple[Attempt, ...]:
        """Which models were asked for a summary, and what came of it."""
        return self.attempts.asked

    def _rooms(self, clamp_user: bool = False) -> Rooms:
        return Rooms(
            self.costs,
            self.limits,
            self.options.pins,
            guide=None if self.options.guide is None else guide_in(self.ground.messages[self.options.guide]),
            by_model=bool(self.options.writers),
            clamp_user=clamp_user,
        )

    def run(self) -> Generator[Asking, list[Any], Folded | None]:
        chosen = yield from self._chosen()
        return self._completed(chosen) if chosen else None

    def _chosen(self) -> Generator[Asking, list[Any], Folded | None]:
        """The best attempt, or None where there is nothing to fold."""
        fitting: list[Folded] = []
        seeing: list[Folded] = []
        options = self.options
        cut: int | None = None
        for step in _STEPS if self.rooms.by_model else _EXTRACT_STEPS:
            cut = cut if step.same_cut else self._cut(step)
            if cut is None or not self._is_due(step, cut, fitting):
                continue
            if step.clamp_user:
                self.rooms = self._rooms(clamp_user=True)
            folded = yield from self.attempts.fold(cut, step, self.rooms, options)
            options = options.without_models()  # a model is asked once
            if folded is None:
                continue
            self.found.append(folded)
            if self.limits.holds(folded.shown.size):
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
        self._raise_unless_it_fits()
        return None

    def _completed(self, chosen: Folded) -> Folded:
        """The chosen attempt, with all that is to be kept of this fold: a plan that knows what the checkpoint lacks,
        notices of views that the proof refused, why no model's text is shown, and the lines for the next log."""
        plan = replace(chosen.shown.plan, missing=chosen.missing, most=self.limits.most)
        faults = (Notice("view-refused", fault) for fault in self._faults)
        return replace(
            chosen,
            shown=replace(chosen.shown, plan=plan, notices=(*chosen.shown.notices, *faults)),
            checkpoint=self._with_log(chosen),
            written=self._accounted(chosen),
        )

    @property
    def _faults(self) -> list[str]:
        """What to say of the views that the proof refused. Each is a fault of ours."""
        return [BROKEN.format(why) for why in dict.fromkeys(self.attempts.broken)]

    def _is_due(self, step: Step, cut: int, fitting: Sequence[Folded]) -> bool:
        """The step is worth trying after those that fitted so far."""
        if step.is_last_resort and not all(folded.missing for folded in fitting):
            return False  # a view that shows all rules exists already
        if step.terse and not step.clamp_user and not fitting:
            return False  # nothing fits with the whole message; shown by its ends it leaves room for a full checkpoint
        return bool(step.clamps) or not self._is_crowded(cut, step)

    def _with_log(self, chosen: Folded) -> Checkpoint:
        """The checkpoint with the lines that the next log is chosen from: a log made of a log would forget more each
        time."""
        if not chosen.written.is_extract:
            return chosen.checkpoint
        log = chosen.span.extractor.kept(chosen.written.summary.get("context"), self.costs.size)
        return replace(chosen.checkpoint, log=log)

    def _accounted(self, chosen: Folded) -> Written:
        """What was written, with the reason why a model's text is not shown, where a model wrote one."""
        by_model = [folded for folded in self.found if not folded.written.is_extract]
        if not by_model or not chosen.written.is_extract:
            return chosen.written
        least = min(by_model, key=_tokens_of)
        why = f"a view with it has {least.tokens:,} tokens, and {self.limits.most:,} are allowed"
        if least.tokens <= self.limits.most:
            why = "a view with it leaves less room, shows fewer rules, or has too many bytes"
        return replace(chosen.written, attempts=tuple(attempt.not_taken(why) for attempt in chosen.written.attempts))

    def _longest(self, fitting: Sequence[Folded], seeing: Sequence[Folded]) -> Folded:
        """The view that leaves room for the most turns before the next fold; or one that shows the last step, if it
        leaves room for nearly as many."""
        least = fitting[-1] if fitting[-1].tokens <= self.rooms.ease else min(fitting, key=_tokens_of)
        found = min(seeing, key=_tokens_of, default=least)
        return found if self._turns(found) >= self._turns(least) * AS_MUCH else least

    def _turns(self, folded: Folded) -> int:
        """How many turns as large as the last one there is room for behind a view."""
        return (self.limits.most - folded.tokens) // max(sum(self.costs.each[-LAST_STEP:]), 1)

    def _is_heavy(self, cut: int, folded: Folded) -> bool:
        """A few large messages fill the view and could be shortened or folded. Where the view is full of what cannot
        be folded, they are all that the agent sees of its work, so they stay."""
        if self.rooms.tight or self.rooms.by_model:
            return False
        if self.options.pivot is not None or cut == len(self.ground.messages):
            return False
        return self.rooms.is_heavy(self.attempts.stay(cut, folded.shown.plan.settings, self.rooms))

    def _is_crowded(self, cut: int, step: Step) -> bool:
        """Large results behind the cut would take the room of the user's words beside a model's summary, so this
        step is skipped and they are shortened at once. Not where the caller chose the cut, nor beside a log, which
        gets its room anyway."""
        if not self.rooms.by_model or self.options.pivot is not None or self.options.direction == "from":
            return False
        return self.rooms.is_crowded(cut, step.share)

    def _raise_unless_it_fits(self) -> None:
        """Raises CannotFit with the smallest view, unless nothing could be folded and everything fits as it is."""
        views = ((self._size, self.ground.view), *((folded.shown.size, folded.view) for folded in self.found))
        size, view = min(views, key=lambda found: found[0].tokens)
        if self.found or not replace(self.limits, most=self.options.budget.room).holds(size):
            raise refusal(self.limits, self.ground, self.options, view, size, "; ".join(self._faults))

    def _cut(self, step: Step) -> int | None:
        """Where to divide, or None when there is nothing to fold."""
        messages, start = self.ground.messages, self.ground.base.start
        if self.options.direction == "from":
            cut = self._pivot(self.options.pivot or 0)
            return cut if cut < len(messages) else None
        if self.options.pivot is not None:
            cut = self._pivot(self.options.pivot)
            return cut if cut > self.ground.begin else None
        if step.keep == 0:
            again = start > 0 and not self.limits.holds(self._size)
            return len(messages) if len(messages) > start or again else None  # all is folded, and still too large
        positions = {cut for cut in self._legal if cut > start}
        if not positions:
            return None
        room = self.rooms.tail(step.share)
        whole = not self.rooms.by_model  # a log says what came before a large result
        cut = choose(positions | {start}, self.rooms.sizes(start, room, whole=whole), keep=step.keep, tokens=room)
        if cut <= start:  # they fit only with large results shortened: take as many as fit without that
            cut = choose(positions | {start}, self.rooms.sizes(start, room, whole=True), keep=step.keep, tokens=room)
        if cut <= start:  # the messages are not what fills the room: fold all but the last
            cut = choose(positions | {start}, [0] * len(messages), keep=step.keep)
        return cut if cut > start else min(positions)

    def _pivot(self, pivot: int) -> int:
        return choose(self._legal, [0] * len(self.ground.messages), keep=0, at=pivot)

    @cached_property
    def _legal(self) -> set[int]:
        return legal(self.ground.messages, self.ground.given.pairing, rules_of(self.ground.conversation.grammar))

    @property
    def _size(self) -> Tally:
        """The size of the history as it is shown so far, mended as it would be sent."""
        given = self.ground.conversation
        mended = repair(self.ground.view, given.grammar, thinking=given.head.thinks_first)
        return self.meter.count(given.with_messages(mended.messages))


def _tokens_of(folded: Folded) -> int:
    return folded.tokens
