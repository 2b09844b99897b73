"""What a fold starts from: the history, its skeleton, and how it is shown so far.

    Given, Recalled ── ground_of ──> Ground

A history that was folded before comes back in one of two ways: whole, and its plan is recalled; or as the view we made
of it, and the checkpoint in it is recognised by its text. Either way, this module finds what the checkpoint stands for
and what is new. Nothing is folded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.effects import Recalled, ViewPlan
from foldline.core.fold import Base, Extent, as_carried, guiding, newest_user, standing
from foldline.core.history.cuts import legal, rules_of
from foldline.core.history.cycles import Pairing, moved, pair
from foldline.core.lifting import attached_to
from foldline.core.said.usertext import guide_in, guides, own_words
from foldline.model import Conversation, Grammar, Message

UNSEEN, WHOLE = ViewPlan("", 0), Base()
"""The plan and the base of a history that is shown as it came."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a turn knows at its beginning."""

    conversation: Conversation
    messages: tuple[Message, ...]
    """Its messages, each under its own origin."""
    digests: tuple[str, ...]
    pairing: Pairing
    returned: tuple[tuple[int, Checkpoint], ...] = ()
    """The places of checkpoints that came back among the messages, with their rows."""
    pins: tuple[int, ...] = ()
    """What is pinned in this turn, in order: whole cycles."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The history and how it is shown."""

    given: Given
    base: Base = WHOLE
    plan: ViewPlan = UNSEEN
    shown: Checkpoint | None = None
    """The checkpoint in the view."""
    past: Checkpoint | None = None
    """The checkpoint that the next one builds on. It stands for what comes before `begin`; if it was made of a
    conversation's end, it lies behind that."""
    begin: int = 0
    """The first message that the next checkpoint is made from."""
    moved: bool = False
    """The view does not extend the last one: the client divides its messages differently, or pins others."""
    pinned: tuple[Message, ...] = ()
    """Messages that pruning leaves as they are."""

    @property
    def conversation(self) -> Conversation:
        return self.given.conversation

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.given.messages

    @property
    def digests(self) -> tuple[str, ...]:
        return self.given.digests

    @property
    def returned(self) -> tuple[Checkpoint, ...]:
        """Checkpoints that are among the messages themselves."""
        return tuple(row for _, row in self.given.returned)

    @property
    def pins(self) -> tuple[int, ...]:
        """What was pinned before. Where a conversation's end was folded, the plan lists all messages before it;
        these are no pins."""
        return () if self.shown and self.shown.recipe.direction == "from" else self.plan.pins

    @property
    def view(self) -> tuple[Message, ...]:
        """The history as it is shown so far."""
        return self.base.view(self.messages)


def ground_of(given: Given, recalled: Recalled | None) -> Ground:
    """How the history is shown so far."""
    if recalled and recalled.checkpoint:
        found = _again(given, recalled.plan, recalled.checkpoint)
        if found:
            return found
    plan = recalled.plan if recalled and not recalled.checkpoint else UNSEEN
    ground = Ground(given, plan=plan, pinned=tuple(given.messages[pin] for pin in given.pins))
    return _fed_back(ground, *given.returned[-1]) if given.returned else ground


def _again(given: Given, plan: ViewPlan, checkpoint: Checkpoint) -> Ground | None:
    """The view as its plan says, or None where the messages the checkpoint covers are not all there, or are divided so
    that what was shown beside it has no place of its own."""
    messages = given.messages
    suffix = checkpoint.recipe.direction == "from"
    start = _found(given, plan, checkpoint)
    if start is None or (suffix and start != plan.start):  # the plan knows those before its pivot by number
        return None
    moved = start != plan.start
    newest = newest_user(messages[:start]) if plan.carried is not None else None
    if moved and (plan.pins or not _carries(checkpoint, messages, newest)):
        return None  # the checkpoint leaves out what stood beside it, and that cannot be shown again
    plan, changed = _guided(replace(plan, start=start, carried=newest), messages)
    there = {*plan.pins, *standing(messages, start), *_shown_whole(plan, messages)}
    newly = {pin for pin in given.pins if pin < start} - there
    moved = moved or bool(newly)
    name = messages[newest].identity if moved and newest is not None else plan.carried_as
    moved = moved or changed
    pins = tuple(sorted({*plan.pins, *newly}))
    carried, guide = (None if at in pins else at for at in (newest, plan.guide))
    plan = replace(plan, pins=pins, carried=carried, carried_as=name, guide=guide)
    return Ground(
        given,
        Base(front_again(given.conversation.grammar, messages, plan, checkpoint), start),
        plan,
        shown=checkpoint,
        past=None if suffix else checkpoint,
        begin=0 if suffix else start,
        moved=moved,
        pinned=tuple(messages[pin] for pin in sorted({*pins, *given.pins})),
    )


def _carries(checkpoint: Checkpoint, messages: Sequence[Message], newest: int | None) -> bool:
    """Message `newest` has all the words that were carried behind the checkpoint, if there were any."""
    said = checkpoint.facts.of("user")[-1:]
    return newest is None or all(_plain(fact.text) in _plain(own_words(messages[newest])) for fact in said)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _shown_whole(plan: ViewPlan, messages: Sequence[Message]) -> set[int]:
    """Of the user's message behind the checkpoint and the one with the project's instructions, those that the view has
    word for word: without results that stood in them, or by its ends, a message is none that was pinned."""
    carried = {plan.carried} if plan.carried is not None else set()
    guide = {plan.guide} if plan.guide is not None else set()
    whole = {at for at in carried if carried_in(plan, messages[at]) is messages[at]}
    return whole | {at for at in guide if guide_in(messages[at]) is messages[at]}


def _guided(plan: ViewPlan, messages: Sequence[Message]) -> tuple[ViewPlan, bool]:
    """The plan with the project's instructions at their present place, and whether their text has changed."""
    if plan.guide is None:
        return plan, False
    same = plan.guide < len(messages) and guide_in(messages[plan.guide]).identity == plan.guide_as
    guide = plan.guide if same else guiding(messages[: plan.start], plan.carried)
    now = "" if guide is None else guide_in(messages[guide]).identity
    return replace(plan, guide=None if guide in plan.pins else guide, guide_as=now), now != plan.guide_as


def _found(given: Given, plan: ViewPlan, checkpoint: Checkpoint) -> int | None:
    """Where the covered part ends, even if the client divides the list differently than the plan knew it, or left out
    a reminder at its end; None where results are missing there."""
    if checkpoint.skeleton not in given.digests:
        return None
    first = given.digests.index(checkpoint.skeleton) + 1
    start = first + min(plan.silent, given.digests[first:].count(checkpoint.skeleton))
    if start < first + plan.silent and any(cycle.pending for cycle in given.pairing.cycles if cycle.stop == start):
        return None
    moved = start != plan.start
    rules = rules_of(given.conversation.grammar)
    return None if moved and start not in legal(given.messages, given.pairing, rules) else start


def silent_before(digests: Sequence[str], start: int) -> int:
    """How many messages right before a place leave the skeleton as it was."""
    found = 0
    while found < start - 1 and digests[start - 2 - found] == digests[start - 1]:
        found += 1
    return found


def _fed_back(ground: Ground, at: int, checkpoint: Checkpoint) -> Ground:
    """The ground of a list that is the last view and more: up to its checkpoint everything stays as it was shown.

    A user message carried behind the checkpoint counts as covered by it.
    """
    suffix = checkpoint.recipe.direction == "from"
    said = checkpoint.facts.of("user")
    behind = ground.messages[at + 1 : at + 2]
    words = [(own_words(message), attached_to(message)) for message in behind]
    covered = bool(words) and not suffix and words == [(fact.text, fact.attached) for fact in said[-1:]]
    start = at + 1 + covered
    pins = () if suffix else tuple(index for index in range(at) if not _is_guide(ground.messages[index]))
    return replace(
        ground,
        base=Base(ground.messages[:start], start),
        plan=replace(ground.plan, start=start, checkpoint=checkpoint.ref, pins=pins),
        shown=checkpoint,
        past=checkpoint,
        begin=0 if suffix else start,
        pinned=(*ground.messages[:at], *ground.pinned),
    )


def _is_guide(message: Message) -> bool:
    """The message was shown as the project's instructions: a pinned one has words of the user's as well."""
    return guides(message) and not own_words(message)


def front_again(
    grammar: Grammar, messages: Sequence[Message], plan: ViewPlan, checkpoint: Checkpoint
) -> tuple[Message, ...]:
    """The front of a view as its plan says: system and pinned messages, the project's instructions, the checkpoint, the
    carried user message.

    Where the user must speak first, system messages stand behind the user.
    """
    systems = [index for index in standing(messages, plan.start) if index not in plan.pins]
    before = {*plan.front, *(() if grammar.user_first else systems)} - {plan.carried}
    after = systems if grammar.user_first else ()
    user = (carried_in(plan, messages[plan.carried]),) if plan.carried is not None else ()
    kept = (guide_in(messages[index]) if index == plan.guide else messages[index] for index in sorted(before))
    return (*kept, checkpoint.message, *user, *(messages[index] for index in after))


def carried_in(plan: ViewPlan, message: Message) -> Message:
    """The user's message that the plan shows behind the checkpoint, as far as it does."""
    return as_carried(message, Extent(plan.clamped, plan.bare), plan.carried_as)


def behind(front: Sequence[Message], given: Given, start: int) -> Pairing | None:
    """The pairing of the view `front` + messages[start:]; None where the front has steps of its own."""
    if any(message.role not in ("user", "system") or message.results for message in front):
        return None
    return within(given, start, len(given.messages), at=len(front))


def within(given: Given, start: int, stop: int, at: int = 0) -> Pairing:
    """The pairing of messages[start:stop] in a list where they begin at `at`, taken from the pairing of the whole
    unless a cycle crosses a border."""
    pairing = given.pairing
    inner = [cycle for cycle in pairing.cycles if cycle.stop > start and cycle.start < stop]
    across = any(cycle.start < start or cycle.stop > stop for cycle in inner)
    if across or pairing.orphans or pairing.duplicates:
        alone = pair(given.messages[start:stop], given.conversation.grammar)
        return moved(alone, at) if at else alone
    return moved(Pairing(tuple(inner)), at - start) if start != at else Pairing(tuple(inner))
