"""The view behind a checkpoint: what stands before it, the checkpoint itself, the tail, and the proof of it.

    cut, checkpoint ── plan, front, stubs, repair, proof ──> Shown

Where to cut and what the checkpoint says is decided elsewhere; what the proof covers is in fold.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.counting.meter import Meter, Tally
from foldline.core.effects import ViewPlan
from foldline.core.fold import Extent, as_carried, newest_user, prove, with_cycles
from foldline.core.ground import Ground, behind, front_again, silent_before
from foldline.core.history.repair import Repaired, repair
from foldline.core.lifting import attached_to
from foldline.core.options import Options
from foldline.core.prune import PruneSettings
from foldline.core.said.usertext import guide_in
from foldline.core.stubbing import only, stubbed
from foldline.model import Message, Notice


@dataclass(frozen=True, slots=True)
class Shown:
    """A view, the plan by which it can be made again, its size, and the notices about it."""

    mended: Repaired
    plan: ViewPlan
    size: Tally
    notices: tuple[Notice, ...] = ()


class Views:
    """The views of one fold, by their cuts. `in_row` counts the folds in a row that gained too little."""

    def __init__(self, ground: Ground, options: Options, meter: Meter, in_row: int) -> None:
        self.ground, self.options, self.meter, self.in_row = ground, options, meter, in_row

    def shown(self, cut: int, checkpoint: Checkpoint, clamp: PruneSettings | None, extent: Extent) -> Shown:
        """The view with this checkpoint. `extent` is how much of a carried user message is in it.

        Raises BrokenPromise where such a view is not possible.
        """
        messages = self.ground.messages
        plan, notices = self._plan(cut, checkpoint, extent)
        front = front_again(self.ground.conversation.grammar, messages, plan, checkpoint)
        view = (*front, *messages[plan.start :])
        settings = clamp or only(self.options.prune)
        pinned = [messages[pin] for pin in {*plan.pins, *self.options.pins}]
        pruned = stubbed(view, settings, self.ground.plan.stubs, pinned)
        given = self.ground.conversation
        pairing = behind(front, self.ground.given, plan.start)
        mended = repair(pruned.messages, given.grammar, pairing, thinking=given.head.thinks_first)
        prove(mended.messages, messages, given.grammar, None if mended.repairs else pairing, clamped=bool(notices))
        size = self.meter.count(given.with_messages(mended.messages))
        stubs = frozenset(stub.key for stub in pruned.stubs)
        return Shown(mended, replace(plan, tokens=size.tokens, stubs=stubs, settings=clamp), size, notices)

    def _plan(self, cut: int, checkpoint: Checkpoint, extent: Extent) -> tuple[ViewPlan, tuple[Notice, ...]]:
        """How the view is made, with a notice where it shows the newest user message in part."""
        messages, digests = self.ground.messages, self.ground.digests
        plan = ViewPlan(
            digests[-1],
            len(messages),
            cut,
            checkpoint=checkpoint.ref,
            in_row=self.in_row,
            ready=self.options.ahead,
        )
        newest = newest_user(messages)
        if self.options.direction == "from":
            return self._beginning(plan, cut, newest), ()
        pinned = (pin for pin in (*self.ground.pins, *self.options.pins) if pin < cut)
        whole = with_cycles(pinned, self.ground.given.pairing)  # a call that was pinned alone may be answered by now
        pins = tuple(sorted(whole))
        guide = self.options.guide
        if guide is not None and guide < cut and guide not in pins:
            plan = replace(plan, guide=guide, guide_as=guide_in(messages[guide]).identity)
        plan = replace(plan, pins=pins, silent=silent_before(digests, cut))
        if newest is None or newest >= cut or newest in pins:
            return plan, ()
        return self._carrying(replace(plan, carried=newest), messages[newest], extent)

    def _beginning(self, plan: ViewPlan, cut: int, newest: int | None) -> ViewPlan:
        """The plan where the end is folded: all before the cut stays in front of the checkpoint."""
        guides = () if self.options.guide is None else (self.options.guide,)
        shown = {*range(cut), *guides, *self.options.pins}
        return replace(
            plan,
            start=plan.count,
            silent=silent_before(self.ground.digests, plan.count),
            pins=tuple(sorted(shown)),
            carried=None if newest in shown else newest,
        )

    def _carrying(self, plan: ViewPlan, message: Message, extent: Extent) -> tuple[ViewPlan, tuple[Notice, ...]]:
        """The plan that shows so much of the carried message, and a notice where that is not all of it."""
        short, whole = as_carried(message, extent), as_carried(message)
        if short.parts == whole.parts:
            return plan, ()
        text, attached = whole.text, attached_to(message)
        by_ends = " by its ends only" if not short.text.startswith(text) else ""
        beside = f" without the pictures or files in it ({attached})" if attached else ""
        how = ",".join(filter(None, (by_ends, beside)))
        what = f"the newest user message of {len(text):,} characters is shown{how}"
        plan = replace(plan, clamped=extent.length, bare=extent.bare, carried_as=message.identity)
        return plan, (Notice("user-clamped", what),)
