"""The view a turn ends with, and the account of it: the receipt.

    Made (view, plan, fold) ── accounted ──> View (conversation, receipt, checkpoint, plan)

What the receipt counts, it counts in the view as it is sent: mended. What its fields mean is in receipt.py; what is
done with a history, and why, is decided in the engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from foldline.core.attempt import Folded
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.counting.budget import Budget
from foldline.core.effects import ViewPlan
from foldline.core.fold import as_carried
from foldline.core.ground import Ground, carried_in
from foldline.core.policy import Decision
from foldline.core.receipt import Receipt
from foldline.core.scale import Scale
from foldline.core.summarise import Written
from foldline.core.thread import Thread
from foldline.model import Conversation, Message, Notice

NOT_SMALLER = "a view with it would not be smaller"


@dataclass(frozen=True, slots=True)
class View:
    """What the model is to be shown, and the account of it. `conversation` is the view as a conversation."""

    conversation: Conversation
    receipt: Receipt
    checkpoint: Checkpoint | None = None
    plan: ViewPlan | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What a turn made of a history."""

    view: tuple[Message, ...]
    plan: ViewPlan
    checkpoint: Checkpoint | None = None
    """The checkpoint in the view, if it is durable."""
    folded: Folded | None = None
    """The fold of this turn, if there was one."""
    rebased: bool = True
    """The view was made otherwise than by extending the last one."""


def accounted(
    made: Made,
    decision: Decision,
    ground: Ground,
    last: tuple[Message, ...],
    thread: Thread,
    scale: Scale,
    budget: Budget,
    notices: Iterable[Notice],
) -> View:
    """The view and its receipt. `last` is how the history would be shown if nothing were done."""
    given, plan, folded, view = ground.conversation, made.plan, made.folded, made.view
    mended = folded.shown.mended if folded else scale.mended(view)
    same = mended.messages == given.messages
    conversation = given if same else given.with_messages(mended.messages)  # at rest the input itself
    before = scale.count(last).tokens
    broken = None if made.rebased else thread.broken(mended.messages, len(given.messages))
    if broken:
        last, view = broken.view, mended.messages
    receipt = Receipt(
        action=decision.action,
        reason=decision.reason,
        tokens_before=before,
        tokens_after=scale.count(conversation.messages).tokens,
        room=budget.room,
        messages=len(ground.messages),
        kept=len(ground.messages) - plan.start + len(plan.front),
        folded=plan.start - len(plan.front),
        stubbed=len(plan.stubs),
        rebased=made.rebased or broken is not None,
        repairs=mended.counts(),
        left_out=(("rules", plan.missing),) if plan.missing else (),
        notices=(*notices, *(() if folded else _by_its_ends(plan, ground.messages))),
    )
    shown = made.checkpoint
    if shown:
        receipt = replace(receipt, checkpoint=shown.ref, generation=shown.generation, author=shown.recipe.model)
    if folded:
        receipt = _with_fold(receipt, folded)
    if receipt.rebased:
        cost = scale.cost(last, view)
        receipt = replace(receipt, rewritten=cost.rewritten, saved_per_turn=cost.saved_per_turn)
    return View(conversation, receipt, shown, plan)


def with_attempts(view: View, written: Written) -> View:
    """The view at rest, with the account of a model that was asked in vain."""
    attempts = tuple(attempt.not_taken(NOT_SMALLER) for attempt in written.attempts)
    return replace(view, receipt=replace(view.receipt, attempts=attempts))


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


def _by_its_ends(plan: ViewPlan, messages: tuple[Message, ...]) -> tuple[Notice, ...]:
    """A notice on every turn while the user's message is shown in part, not only on the turn that folded it."""
    if plan.carried is None:
        return ()
    message = messages[plan.carried]
    if carried_in(plan, message).parts == as_carried(message).parts:
        return ()
    length = len(message.text)
    return (Notice("user-clamped", f"a user message of {length:,} characters is still shown in part only"),)
