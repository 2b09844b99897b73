"""One turn as a straight line: a generator that yields effects and is sent their results. It does no I/O.

    Keep → Known → Recall → repair → count → decide ─┬─ rest ────────────────────────────────┐
                                                     ├─ prune ──────────────── Save ─────────┤→ View
                                                     └─ prune → cut → Asking → audit → fold
                                                        → prove → Save ──────────────────────┘

How a history is shown so far is in ground.py and showing.py, how large a view is in scale.py, what is to be done with
it in need.py; how a cut and a checkpoint are found that fit is in compaction.py; asking a model is in summarise.py. The
receipt is made in account.py, and what is left for the next turn is in thread.py. If nothing legal fits, CannotFit
carries the smallest view there is.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from foldline.core import showing
from foldline.core.account import NOT_SMALLER, Made, View, accounted, with_attempts
from foldline.core.attempt import Folded
from foldline.core.checkpoints.returned import Recognised, recognised
from foldline.core.counting.meter import Meter, Tally
from foldline.core.effects import Around, Effect, Keep, Known, Recall, Recalled, Save, Tell, ViewPlan
from foldline.core.fold import with_cycles
from foldline.core.ground import Given, Ground, ground_of
from foldline.core.guidance import guided
from foldline.core.need import but, enough, needed
from foldline.core.options import Options
from foldline.core.policy import Decision
from foldline.core.scale import Scale
from foldline.core.thread import Thread
from foldline.errors import ArchiveError, CannotFit, InputError
from foldline.model import Conversation, Message, Notice

_REMOTE = (
    "the history lies with the provider, so it cannot be folded here; send the whole conversation instead of "
    "previous_response_id or conversation, or let the provider compact it"
)


def turn(
    conversation: Conversation, options: Options, meter: Meter, thread: Thread | None = None
) -> Generator[Effect, Any, View]:
    """Fits a conversation into its budget. `thread` is what its last turn handed on."""
    return (yield from _Turn(conversation, options, meter, thread or Thread.begin(conversation.grammar)).run())


class _Turn:
    def __init__(self, conversation: Conversation, options: Options, meter: Meter, thread: Thread) -> None:
        self.given, self.meter = conversation, meter
        self.budget = options.budget.reserving(conversation.head.max_output)
        self.options = replace(options, budget=self.budget)
        self.thread, self.story = thread, thread.story
        self.scale = Scale(conversation, meter, thread.repairer)
        self.notices: list[Notice] = list(conversation.notices)
        self.recalled: Recalled | None = None
        self.winner: Recalled | None = None
        """What somebody else saved meanwhile, if anybody did."""
        self.unsaved: ViewPlan | None = None
        """The plan that could not be saved, if there is one."""

    def run(self) -> Generator[Effect, Any, View]:
        yield from self._try(Keep(self.given), "the originals could not be archived")
        _, _, messages, returned = yield from self._recognised()
        if self.options.ahead or not self.options.force:
            self.options = replace(self.options, manner=self.options.manner.at_end_of(messages))
        self.story.follow(messages, listen=bool(self.options.writers))
        pairing = self.story.pairing
        self.options = replace(self.options, pins=tuple(sorted(with_cycles(self.options.pins, pairing))))
        digests = self.thread.chain.digests(self.given.messages)
        given = Given(self.given, messages, digests, pairing, returned, self.options.pins)
        ground = showing.spared((yield from self._ground(given)), self.options.prune)
        if self.options.direction == "from":
            _check_beginning(ground)
        decision = needed(self.scale.sized(self._shown(ground)), ground, self.options, self.scale)
        if decision.action == "rest" or self.given.head.remote:
            if decision.action != "rest":
                self._note("history-remote", _REMOTE)
                decision = but(decision, "the history lies with the provider")
            return (yield from self._resting(ground, decision))
        found = yield from self._eased(ground, decision)
        if found is None and not self.options.force:
            found = yield from self._made_ready(ground, decision)
        return found or (yield from self._folded_once_more(ground, decision))

    def _recognised(self) -> Generator[Effect, Any, Recognised]:
        """The messages, with what repairs added and with checkpoints that came back recognised as our own."""
        followed = self.thread.returned
        followed.follow(self.given.messages)
        texts = followed.texts
        known = (yield from self._try(Known(texts), "no checkpoint was known")) if texts else None
        found = recognised(self.given, self.options, followed, known or {})
        if found.conversation is not self.given:
            self.given, self.options = found.conversation, found.options
            yield from self._try(Keep(self.given), "the originals could not be archived")
        return found

    def _ground(self, given: Given) -> Generator[Effect, Any, Ground]:
        """The ground. A plan that was made for an end within a message serves unless its checkpoint ends there too."""
        stops, what = self.thread.chain.stops, "nothing was recalled"
        self.recalled = yield from self._try(Recall(stops, self.options.scope), what)
        ground, found = ground_of(given, self.recalled), self.recalled
        if found and found.checkpoint and ground.shown is None and found.plan.skeleton not in given.digests:
            self.recalled = yield from self._try(Recall(given.digests, self.options.scope), what)
            ground = ground_of(given, self.recalled)
        return ground

    def _shown(self, ground: Ground) -> tuple[Message, ...]:
        return showing.shown(ground, self.options.prune)

    def _last(self, ground: Ground) -> tuple[Message, ...]:
        """What is shown so far, without what this turn's pins bring back, which the last view did not show."""
        if not ground.moved or not self.options.pins:
            return self._shown(ground)
        return self._shown(ground_of(replace(ground.given, returned=(), pins=()), self.recalled))

    def _resting(self, ground: Ground, decision: Decision) -> Generator[Effect, Any, View]:
        """The last view and what is new."""
        plan = yield from self._as_shown(ground)
        return self._view(self._shown(ground), decision, ground, plan=plan, rebased=ground.moved)

    def _as_shown(self, ground: Ground) -> Generator[Effect, Any, ViewPlan]:
        """The plan of how the history is shown. It is saved where that does not extend the last view."""
        if not ground.moved or self.options.ahead:  # views stay as they are until one has to be folded
            return ground.plan
        plan = replace(ground.plan, skeleton=ground.digests[-1], count=len(ground.messages))
        yield from self._saved(plan)
        return plan

    def _eased(self, ground: Ground, decision: Decision) -> Generator[Effect, Any, View | None]:
        """The view with more results as stubs, if that makes enough room."""
        if self.options.force or decision.anew:
            return None
        pruned = showing.pruned(ground, self.options.prune)
        tally = self.scale.sized(pruned.messages)
        if tally.tokens > enough(decision, self.budget) or not self._fits(tally):
            return None
        before = self._shown(ground)
        fits = decision.action == "prune"
        if pruned.plan == ground.plan.stubs or (fits and not self.scale.cost(before, pruned.messages).pays):
            return (yield from self._resting(ground, but(decision, "no more results are worth shortening")))
        plan = replace(
            ground.plan,
            skeleton=ground.digests[-1],
            count=len(ground.messages),
            start=ground.base.start,
            stubs=pruned.plan,
            tokens=max(ground.plan.tokens - self.scale.count(before).tokens + tally.tokens, 1) if ground.shown else 0,
        )
        if (yield from self._saved(plan)):
            return None
        rebased = not self.thread.is_extended_by(self.scale.mended(pruned.messages).messages)
        return self._view(pruned.messages, replace(decision, action="prune"), ground, plan=plan, rebased=rebased)

    def _made_ready(self, ground: Ground, decision: Decision) -> Generator[Effect, Any, View | None]:
        """The fold that was made ahead of need, if there is one and it is still small enough."""
        ready = self.recalled.ready if self.recalled else None
        if ready is None or ready.plan.checkpoint == ground.plan.checkpoint:
            return None
        found = showing.spared(ground_of(ground.given, ready), self.options.prune)
        shown, stubs = self._shown(found), found.plan.stubs
        tally = self.scale.sized(shown)
        if tally.tokens > self.budget.at(self.budget.prune_at):  # now or next time, and the cache is lost anyway
            pruned = showing.pruned(found, self.options.prune)
            shown, stubs, tally = pruned.messages, pruned.plan, self.scale.sized(pruned.messages)
        if found.shown is None or not self._fits(tally):
            return None
        plan = replace(
            found.plan,
            skeleton=found.digests[-1],
            count=len(found.messages),
            stubs=stubs,
            tokens=tally.tokens,
            in_row=decision.in_row,
            ready=False,
        )
        if (yield from self._saved(plan)):
            return None
        found = replace(found, plan=plan)
        return self._view(shown, replace(decision, action="compact"), ground, plan=plan, instead=found)

    def _folded_once_more(self, ground: Ground, decision: Decision) -> Generator[Effect, Any, View]:
        """The fold. What only an earlier turn pinned is let go of where it leaves no room: then all is folded anew."""
        try:
            return (yield from self._folded(ground, decision))
        except CannotFit:
            if {*ground.pins} <= {*self.options.pins}:
                raise
        self._note("unpinned", "what was pinned in earlier turns, and not in this one, is folded: it left no room")
        return (yield from self._folded(ground_of(ground.given, None), decision))

    def _folded(self, ground: Ground, decision: Decision) -> Generator[Effect, Any, View]:
        """A fold, claimed only once it is saved. A view that is not smaller does not count as a fold."""
        before = self.scale.sized(self._shown(ground))
        options = yield from self._with_surroundings()
        options = options.without_models() if decision.storm else options
        folded = yield from self._fitting(ground, options, decision)
        if folded is None:
            return (yield from self._resting(ground, but(decision, "there is nothing to fold")))
        if folded.tokens >= before.tokens and self._fits(before) and not decision.anew:
            shorter = yield from self._shorter(ground, options, decision, folded, before.tokens)
            if shorter is None:
                self._note("no-progress", "the checkpoint would not be smaller than what it replaces")
                resting = yield from self._resting(ground, but(decision, "a fold would make it no smaller"))
                return with_attempts(resting, folded.written)
            folded = shorter
        storm = (Notice("storm", decision.reason),) if decision.storm else ()
        self.notices += storm
        for notice in (*storm, *folded.shown.notices):
            yield Tell(notice)
        plan = folded.shown.plan
        winner = yield from self._saved(plan, folded)
        if winner:
            return (yield from self._beaten(ground, decision, winner))
        return self._view(folded.view, decision, ground, plan=plan, folded=folded)

    def _fitting(self, ground: Ground, options: Options, decision: Decision) -> Generator[Effect, Any, Folded | None]:
        """The fold that fits. Other turns may go on while a model writes."""
        folded = yield from guided(ground, options, self.meter, decision, self.story.as_it_is())
        self.scale.count_anew()
        return folded

    def _shorter(
        self, ground: Ground, options: Options, decision: Decision, folded: Folded, before: int
    ) -> Generator[Effect, Any, Folded | None]:
        """Where somebody asked for a fold and did not say how small: an extracted one, or else one whose checkpoint has
        half of what it replaces, if that makes the view smaller and costs no rule and none of the user's messages."""
        if not options.force or options.ahead or options.to is not None:
            return None
        extracts, found = options.without_models(), folded
        if options.writers:
            found = (yield from self._fitting(ground, extracts, decision)) or folded
        if found.tokens >= before:
            kept = found.tokens - self.scale.alone((found.checkpoint.message,))
            half = replace(extracts, most=max((before - kept) // 2, 1))
            found = (yield from self._fitting(ground, half, decision)) or folded
        if found.tokens >= before or found.missing > folded.missing or found.unsaid > folded.unsaid:
            return None
        asked = (attempt.not_taken(NOT_SMALLER) for attempt in folded.written.attempts)
        return replace(found, written=replace(found.written, attempts=(*asked, *found.written.attempts)))

    def _with_surroundings(self) -> Generator[Effect, Any, Options]:
        """The options with what the agent keeps besides. It is read now, and is part of the checkpoint from now on."""
        if not self.options.around:
            return self.options
        found = yield from self._try(Around(self.given), "the agent's plan and memory files were not read")
        if found is None:
            return self.options
        self.notices += found.notices
        files = (*self.options.abilities.memory_files, *found.memory_files)
        abilities = replace(self.options.abilities, memory_files=files)
        memory = (*self.options.memory, *found.memory)
        return replace(self.options, plan=found.plan, abilities=abilities, memory=memory)

    def _beaten(self, ground: Ground, decision: Decision, winner: Recalled) -> Generator[Effect, Any, View]:
        """Someone else folded the same history meanwhile: their fold is shown, so that there is one view of it."""
        found = showing.spared(ground_of(replace(ground.given, returned=()), winner), self.options.prune)
        self.winner = winner
        if not self._fits(self.scale.sized(self._shown(found))):
            return (yield from self._folded(found, decision))
        self._note("folded-meanwhile", "the same history was folded by someone else at the same time: theirs is shown")
        plan = yield from self._as_shown(found)
        return self._view(self._shown(found), decision, ground, plan=plan, instead=found)

    def _fits(self, tally: Tally) -> bool:
        """A view of this size fits into the window, and is not too heavy for the provider."""
        heavy = self.budget.max_bytes is not None and tally.bytes > self.budget.max_bytes
        return tally.tokens <= self.budget.room and not heavy

    def _view(
        self,
        view: tuple[Message, ...],
        decision: Decision,
        ground: Ground,
        *,
        plan: ViewPlan,
        rebased: bool = True,
        folded: Folded | None = None,
        instead: Ground | None = None,
    ) -> View:
        """The view and its receipt. `instead` is how the history is shown now, where no fold of this turn shows it."""
        shown = folded.checkpoint if folded else (instead or ground).shown
        made = Made(view, plan, None if plan is self.unsaved else shown, folded, rebased)
        return accounted(made, decision, ground, self._last(ground), self.thread, self.scale, self.budget, self.notices)

    def _saved(self, plan: ViewPlan, folded: Folded | None = None) -> Generator[Effect, Any, Recalled | None]:
        """Saves the plan, over the one that is known to stand in its place. Returns what somebody else saved there
        meanwhile, or None."""
        there = self.winner or self.recalled
        over = there.plan if there and there.plan.skeleton == plan.skeleton else None
        answer = yield Save(plan, folded.checkpoint, folded.covered, over) if folded else Save(plan, over=over)
        if isinstance(answer, ArchiveError):
            self.unsaved = plan
            self._note("not-archived", f"the view is used but not kept: {answer}")
            return None
        return answer if isinstance(answer, Recalled) else None

    def _try(self, effect: Effect, what: str) -> Generator[Effect, Any, Any]:
        """The answer, or None with a notice when the archive failed: the turn goes on."""
        answer = yield effect
        if isinstance(answer, ArchiveError):
            self._note("archive-failed", f"{what}: {answer}")
            return None
        return answer

    def _note(self, code: str, text: str) -> None:
        self.notices.append(Notice(code, text))


def _check_beginning(ground: Ground) -> None:
    """Raises where a fold of the end would show a folded beginning whole again: such a fold leaves the beginning as
    given."""
    start = ground.base.start
    if ground.past is not None and ground.base.front != ground.messages[:start]:
        raise InputError(
            f"the first {start:,} messages are folded already, and a fold with direction 'from' would show them all "
            "again; give the messages of the last view instead of the whole history, or fold with direction 'up-to'"
        )
