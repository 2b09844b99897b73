"""One turn as a straight line: a generator that yields effects and is sent their results. It does no I/O.

    Keep → Known → Recall → repair → count → decide ─┬─ rest ────────────────────────────────┐
                                                     ├─ prune ──────────────── Save ─────────┤→ View
                                                     └─ prune → cut → Asking → audit → fold
                                                        → prove → Save ──────────────────────┘

How a history is shown so far is in ground.py, how large a view is in scale.py; how a cut and a checkpoint are found
that fit is in compaction.py; asking a model is in summarise.py. If nothing legal fits, CannotFit carries the smallest
view there is.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from foldline.core.attempt import Folded
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.checkpoints.returned import Recognised, Returned, recognised
from foldline.core.counting.meter import Meter, Tally
from foldline.core.effects import Around, Effect, Keep, Known, Recall, Recalled, Save, Tell, ViewPlan
from foldline.core.fold import as_carried, with_cycles
from foldline.core.ground import Given, Ground, ground_of
from foldline.core.guidance import guided
from foldline.core.history.prefix import goes_on
from foldline.core.history.repairer import Repairer
from foldline.core.history.skeleton import Chain
from foldline.core.options import Options
from foldline.core.policy import MAX_IN_ROW, Decision, Past, at_ease, decide
from foldline.core.receipt import Receipt
from foldline.core.scale import Scale
from foldline.core.story import Story
from foldline.core.stubbing import only, stubbed
from foldline.core.summarise import Written
from foldline.errors import ArchiveError, CannotFit, InputError
from foldline.model import Conversation, Grammar, Message, Notice

_REMOTE = (
    "the history lies with the provider, so it cannot be folded here; send the whole conversation instead of "
    "previous_response_id or conversation, or let the provider compact it"
)

NOT_SMALLER = "a view with it would not be smaller"

ASKED = "asked for"
"""Why there is a fold that a program or a person wanted."""
REFUSED = "the provider refused the request as too long"
"""Why there is one of the kind "emergency"."""
BRANCHES = 4
"""Views that are remembered of histories that begin alike: forks, rewinds, requests beside the session."""


@dataclass(frozen=True, slots=True)
class View:
    """What the model is to be shown, and the account of it. `conversation` is the view as a conversation."""

    conversation: Conversation
    receipt: Receipt
    checkpoint: Checkpoint | None = None
    plan: ViewPlan | None = None


@dataclass(frozen=True, slots=True)
class Last:
    """A view that was shown, and the end of the history that it showed: its digest, and how many messages."""

    view: tuple[Message, ...] = ()
    skeleton: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Thread:
    """What one turn of a conversation hands to the next, so that each works only on what is new."""

    chain: Chain
    returned: Returned
    repairer: Repairer
    """Repairs the view."""
    story: Story
    """Follows the whole history."""
    last: tuple[Last, ...] = ()
    """What was shown last of this history, and of others that begin alike: the newest first."""

    @classmethod
    def begin(cls, grammar: Grammar) -> Thread:
        return cls(Chain(), Returned(), Repairer(grammar), Story(grammar))

    def showing(self, view: View) -> Thread:
        """The same, once the view of this turn is shown."""
        stops = self.chain.stops
        shown = Last(view.conversation.messages, stops[-1] if stops else "", view.receipt.messages)
        others = (last for last in self.last if last.skeleton not in reversed(stops))
        return replace(self, last=(shown, *others)[:BRANCHES])


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
        ground = self._spared((yield from self._ground(given)))
        if self.options.direction == "from":
            _check_beginning(ground)
        decision = self._decision(self.scale.sized(self._shown(ground)), ground)
        if decision.action == "rest" or self.given.head.remote:
            if decision.action != "rest":
                self._note("history-remote", _REMOTE)
                decision = _but(decision, "the history lies with the provider")
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
        """The last view extended by what is new: its bytes begin with those of the last view."""
        if not ground.plan.stubs:
            return ground.view
        settings = only(ground.plan.settings or self.options.prune)
        return stubbed(ground.view, settings, ground.plan.stubs, ground.pinned).messages

    def _last(self, ground: Ground) -> tuple[Message, ...]:
        """The same without what this turn's pins bring back, which the last view did not show."""
        if not ground.moved or not self.options.pins:
            return self._shown(ground)
        return self._shown(ground_of(replace(ground.given, returned=(), pins=()), self.recalled))

    def _spared(self, ground: Ground) -> Ground:
        """The ground, where stubs are pinned now: they are whole from now on, also on turns that do not pin them."""
        if not (ground.plan.stubs and self.options.pins):
            return ground
        settings = only(ground.plan.settings or self.options.prune)
        stubs = stubbed(ground.view, settings, ground.plan.stubs, ground.pinned).plan
        same = stubs == ground.plan.stubs
        return ground if same else replace(ground, plan=replace(ground.plan, stubs=stubs), moved=True)

    def _decision(self, tally: Tally, ground: Ground) -> Decision:
        decision = decide(tally.tokens, self.budget, self._past(tally, ground), bytes_=tally.bytes)
        if self.options.force:
            target = self.options.to or self.budget.at(self.budget.target)
            reason = REFUSED if self.options.manner.kind == "emergency" else ASKED
            return replace(decision, action="compact", reason=reason, target=target)
        if decision.action == "compact" or not self._has_room_for_rules(tally, ground.plan):
            return decision
        reason = f"{ground.plan.missing} of the user's rules found no room in the checkpoint, and have it now"
        return Decision("compact", reason, self.budget.at(self.budget.target), in_row=1, anew=True)

    def _has_room_for_rules(self, tally: Tally, plan: ViewPlan) -> bool:
        """Rules are missing in the checkpoint, and it was made in less than half of the room that there is now."""
        return plan.missing > 0 and max(plan.most, tally.tokens) * 2 <= self.budget.room

    def _past(self, tally: Tally, ground: Ground) -> Past:
        """What was done before. Of a view that was sent back to us there is no plan: its size after the fold is taken
        to be all but what stands behind its checkpoint."""
        if ground.shown is None:
            return Past()
        if ground.plan.tokens:
            return Past(ground.plan.in_row, ground.plan.tokens)
        return Past(MAX_IN_ROW, tally.tokens - self.scale.alone(ground.messages[ground.base.start :]))

    def _resting(self, ground: Ground, decision: Decision) -> Generator[Effect, Any, View]:
        """The last view and what is new. Where that does not extend the last view, the plan of how it is shown now
        is saved."""
        plan = ground.plan
        if ground.moved and not self.options.ahead:  # views stay as they are until one has to be folded
            plan = replace(plan, skeleton=ground.digests[-1], count=len(ground.messages))
            yield from self._saved(plan)
        shown = self._shown(ground)
        return self._view(shown, decision, ground, plan=plan, rebased=ground.moved)

    def _eased(self, ground: Ground, decision: Decision) -> Generator[Effect, Any, View | None]:
        """The view with more results as stubs, if that makes enough room."""
        if self.options.force or decision.anew:
            return None
        settings = only(ground.plan.settings) if ground.plan.settings else self.options.prune
        pruned = stubbed(ground.view, settings, ground.plan.stubs, ground.pinned)
        tally = self.scale.sized(pruned.messages)
        if tally.tokens > self._mark(decision) or not self._fits(tally):
            return None
        before = self._shown(ground)
        fits = decision.action == "prune"
        if pruned.plan == ground.plan.stubs or (fits and not self.scale.cost(before, pruned.messages).pays):
            return (yield from self._resting(ground, _but(decision, "no more results are worth shortening")))
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
        return self._view(pruned.messages, replace(decision, action="prune"), ground, plan=plan)

    def _mark(self, decision: Decision) -> int:
        """The tokens at which pruning is enough: the whole room while that is not exceeded, or where another fold
        would not help; otherwise less, so that the next turns have room."""
        return self.budget.room if decision.action == "prune" or decision.storm else at_ease(self.budget)

    def _made_ready(self, ground: Ground, decision: Decision) -> Generator[Effect, Any, View | None]:
        """The fold that was made ahead of need, if there is one and it is still small enough."""
        ready = self.recalled.ready if self.recalled else None
        if ready is None or ready.plan.checkpoint == ground.plan.checkpoint:
            return None
        found = self._spared(ground_of(ground.given, ready))
        shown, stubs = self._shown(found), found.plan.stubs
        tally = self.scale.sized(shown)
        if tally.tokens > self.budget.at(self.budget.prune_at):  # now or next time, and the cache is lost anyway
            settings = only(found.plan.settings) if found.plan.settings else self.options.prune
            pruned = stubbed(found.view, settings, stubs, found.pinned)
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
            return (yield from self._resting(ground, _but(decision, "there is nothing to fold")))
        if folded.tokens >= before.tokens and self._fits(before) and not decision.anew:
            shorter = yield from self._shorter(ground, options, decision, folded, before.tokens)
            if shorter is None:
                self._note("no-progress", "the checkpoint would not be smaller than what it replaces")
                resting = yield from self._resting(ground, _but(decision, "a fold would make it no smaller"))
                return _with_attempts(resting, folded.written)
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
        """Where somebody asked for a fold and did not say how small: one whose checkpoint has half of what it
        replaces, if that makes the view smaller and costs no rule."""
        if not options.force or options.ahead or options.to is not None:
            return None
        kept = folded.tokens - self.scale.alone((folded.checkpoint.message,))
        options = replace(options.without_models(), most=max((before - kept) // 2, 1))
        found = yield from self._fitting(ground, options, decision)
        if found is None or found.tokens >= before or found.missing > folded.missing:
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
        found = ground_of(replace(ground.given, returned=()), winner)
        self.recalled = winner
        if not self._fits(self.scale.sized(self._shown(found))):
            return (yield from self._folded(found, decision))
        self._note("folded-meanwhile", "the same history was folded by someone else at the same time: theirs is shown")
        return self._view(self._shown(found), decision, ground, plan=found.plan, instead=found)

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
        mended = folded.shown.mended if folded else self.scale.mended(view)
        same = mended.messages == self.given.messages
        conversation = self.given if same else self.given.with_messages(mended.messages)  # at rest the input itself
        last = self._last(ground)
        before = self.scale.count(last).tokens
        broken = None if rebased else self._broken(mended.messages)
        if broken:
            rebased, last, view = True, broken.view, mended.messages
        shown = folded.checkpoint if folded else (instead or ground).shown
        receipt = Receipt(
            action=decision.action,
            reason=decision.reason,
            tokens_before=before,
            tokens_after=self.scale.count(conversation.messages).tokens,
            room=self.budget.room,
            messages=len(ground.messages),
            kept=len(ground.messages) - plan.start + len(plan.front),
            folded=plan.start - len(plan.front),
            stubbed=len(plan.stubs),
            rebased=rebased,
            repairs=mended.counts(),
            left_out=(("rules", plan.missing),) if plan.missing else (),
            notices=(*self.notices, *(() if folded else _by_its_ends(plan, ground.messages))),
        )
        if shown and self._durable(plan):
            receipt = replace(receipt, checkpoint=shown.ref, generation=shown.generation, author=shown.recipe.model)
        if folded:
            receipt = _with_fold(receipt, folded)
        if rebased:
            cost = self.scale.cost(last, view)
            receipt = replace(receipt, rewritten=cost.rewritten, saved_per_turn=cost.saved_per_turn)
        return View(conversation, receipt, shown if self._durable(plan) else None, plan)

    def _broken(self, view: tuple[Message, ...]) -> Last | None:
        """What was shown last of this history, if this view does not begin with it: what a repair put at its end is
        gone, or its plan was not found again."""
        stops = self.thread.chain.stops
        shown = (last for last in self.thread.last if last.skeleton in reversed(stops))
        last = max(shown, key=lambda last: last.count, default=None)
        if last is None or goes_on(last.view, view):
            return None
        return last if len(self.given.messages) >= last.count or last.skeleton != stops[-1] else None

    def _durable(self, plan: ViewPlan) -> bool:
        return plan is not self.unsaved

    def _saved(self, plan: ViewPlan, folded: Folded | None = None) -> Generator[Effect, Any, Recalled | None]:
        """Saves the plan, over the one that stood in its place when the turn began. Returns what somebody else saved
        there meanwhile, or None."""
        there = self.recalled.plan if self.recalled else None
        over = there if there and there.skeleton == plan.skeleton else None
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


def _by_its_ends(plan: ViewPlan, messages: tuple[Message, ...]) -> tuple[Notice, ...]:
    """A notice on every turn while the user's message is shown in part, not only on the turn that folded it."""
    if plan.carried is None or not plan.clamped:
        return ()
    message = messages[plan.carried]
    if as_carried(message, plan.clamped).parts == as_carried(message).parts:
        return ()
    length = len(message.text)
    return (Notice("user-clamped", f"a user message of {length:,} characters is still shown in part only"),)


def _with_fold(receipt: Receipt, folded: Folded) -> Receipt:
    return replace(
        receipt,
        author=folded.written.author,
        attempts=folded.written.attempts,
        chunks=folded.written.chunks,
        findings=folded.written.findings,
        left_out=folded.left_out,
        notices=(*receipt.notices, *folded.shown.notices),
    )


def _but(decision: Decision, why: str) -> Decision:
    """To rest all the same, and why. That somebody asked for a fold does not tell why there is none."""
    return replace(decision, action="rest", reason=why if decision.reason == ASKED else f"{decision.reason}, but {why}")


def _with_attempts(view: View, written: Written) -> View:
    """The view at rest, with the account of a model that was asked in vain."""
    attempts = tuple(attempt.not_taken(NOT_SMALLER) for attempt in written.attempts)
    return replace(view, receipt=replace(view.receipt, attempts=attempts))


def _check_beginning(ground: Ground) -> None:
    """Raises where a fold of the end would show a folded beginning whole again: such a fold leaves the beginning as
    given."""
    start = ground.base.start
    if ground.past is not None and ground.base.front != ground.messages[:start]:
        raise InputError(
            f"the first {start:,} messages are folded already, and a fold with direction 'from' would show them all "
            "again; give the messages of the last view instead of the whole history, or fold with direction 'up-to'"
        )
