"""Finding a view that fits: where to cut, how much to clamp, how large the checkpoint may be.

    ground, target ── attempts, each smaller than the last ──> Folded (view, checkpoint, plan)

The first attempt keeps as much tail as the target allows; later ones keep less, clamp bulky results wherever they
stand, fold everything, and at last clamp the newest user message itself. A model is asked once, for the first; the rest
is extraction. If the last attempt does not fit either, CannotFit carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from foldline.core.budget import Budget
from foldline.core.checkpoint import Checkpoint, Frame, Recipe, compose, snapshot_of
from foldline.core.cuts import MIN_KEEP, choose, legal
from foldline.core.cycles import Pairing, pair
from foldline.core.effects import Asking, ViewPlan
from foldline.core.facts import facts_of
from foldline.core.fold import Base, BrokenPromise, newest_user, prove, with_cycles
from foldline.core.ledger import Ledger, ledger_of
from foldline.core.meter import Meter
from foldline.core.notes import notes
from foldline.core.options import Options
from foldline.core.policy import Decision
from foldline.core.prune import PruneSettings, prune
from foldline.core.repair import repair
from foldline.core.resume import resume
from foldline.core.summarise import Span, Written, summarise
from foldline.core.text import head, tail
from foldline.errors import CannotFit
from foldline.model import Conversation, Message, Notice, Text

CHECKPOINT_SHARE = 0.40
"""Share of the target that the checkpoint may take: the tail is worth more, word for word."""
CHECKPOINT_LEAST, CHECKPOINT_MOST = 500, 16_000
"""Tokens of a checkpoint: below, the rules and the task do not fit; above, nobody reads it."""
SNAPSHOT_SHARE = 0.12
NOTES_SHARE = 0.65
"""Share of a checkpoint that the program's own notes may claim before the summary gets its room."""
NEVER = 1 << 62
"""A batch that frees so much never comes: only what the plan names is stubbed."""
CLAMP = PruneSettings(limit=700, head=400, tail=200, protect=0, worthwhile=0)
"""Results are shortened wherever they stand."""
CLAMP_HARD = PruneSettings(limit=260, head=120, tail=60, protect=0, worthwhile=0)


@dataclass(frozen=True, slots=True)
class Ground:
    """What a fold starts from: the history, its skeleton, and how it is shown so far."""

    conversation: Conversation
    messages: tuple[Message, ...]
    digests: tuple[str, ...]
    base: Base
    checkpoint: Checkpoint | None
    plan: ViewPlan


@dataclass(frozen=True, slots=True)
class Folded:
    """A view that fits, with everything that is to be kept of how it was made."""

    view: tuple[Message, ...]
    tokens: int
    checkpoint: Checkpoint
    plan: ViewPlan
    written: Written
    left_out: tuple[tuple[str, int], ...] = ()
    notices: tuple[Notice, ...] = ()


class _Attempt(NamedTuple):
    """How hard to try: messages kept at least, how results are shortened, whether the user's words are clamped."""

    keep: int
    settings: PruneSettings | None = None
    share: float = 1.0
    clamp_user: bool = False


_ATTEMPTS = (
    _Attempt(MIN_KEEP),
    _Attempt(MIN_KEEP, CLAMP, 0.7),
    _Attempt(1, CLAMP_HARD, 0.5),
    _Attempt(0, CLAMP_HARD, 0.5),
    _Attempt(0, CLAMP_HARD, 0.25, clamp_user=True),
)


class Compaction:
    """One fold. `run` yields what to ask and gives the first attempt that fits."""

    def __init__(self, ground: Ground, options: Options, budget: Budget, meter: Meter, decision: Decision) -> None:
        self.ground, self.options, self.budget, self.meter = ground, options, budget, meter
        self.decision = decision
        self.pairing: Pairing = pair(ground.messages, ground.conversation.grammar)
        self.limit = min(options.to or budget.room, budget.room)
        self.size: Callable[[str], int] = lambda text: round(meter.text(text) * meter.ratio)

    def run(self) -> Generator[Asking, list[Any], Folded]:
        smallest: Folded | None = None
        options = self.options
        for attempt in _ATTEMPTS:
            cut = self._cut(attempt)
            if cut is None:
                continue
            folded = yield from self._fold(cut, attempt, options)
            options = replace(options, cheap=None, fallback=None)  # a model is asked once
            if folded is None:
                continue
            if folded.tokens <= self.limit and not self._too_heavy(folded.view):
                return folded
            if smallest is None or folded.tokens < smallest.tokens:
                smallest = folded
        raise self._cannot(smallest)

    def _cannot(self, smallest: Folded | None) -> CannotFit:
        view = smallest.view if smallest else self.ground.base.view(self.ground.messages)
        tokens = smallest.tokens if smallest else self._tokens(view)
        return CannotFit(
            f"the smallest view there is has {tokens:,} tokens, and {self.limit:,} are allowed; "
            "a larger window, a smaller system prompt or fewer tools would help",
            smallest=self.ground.conversation.with_messages(view),
            tokens=tokens,
            allowed=self.limit,
        )

    def _room(self, attempt: _Attempt) -> int:
        """Tokens for the checkpoint."""
        wanted = int(self.decision.target * CHECKPOINT_SHARE * attempt.share)
        most = max(self.limit - self._head_tokens(), 64)
        return min(max(wanted, CHECKPOINT_LEAST), CHECKPOINT_MOST, most)

    def _head_tokens(self) -> int:
        """Tokens that are there whatever is folded: tools, system prompt, system messages."""
        fixed = self.meter.head(self.ground.conversation.head)
        fixed += sum(self.meter.message(message) for message in self.ground.messages if message.role == "system")
        return round(fixed * self.meter.ratio)

    def _cut(self, attempt: _Attempt) -> int | None:
        """Where to divide, or None when there is nothing to fold."""
        messages, start = self.ground.messages, self.ground.base.start
        if self.options.direction == "from":
            return self._pivot(self.options.pivot or 0)
        if self.options.pivot is not None:
            return self._pivot(self.options.pivot) or None
        positions = {cut for cut in legal(messages, self.pairing) if cut > start}
        if attempt.keep == 0:
            return len(messages) if len(messages) > start else None
        if not positions:
            return None
        sizes = [0] * start + [round(self.meter.message(m) * self.meter.ratio) for m in messages[start:]]
        room = self.decision.target - self._head_tokens() - self._room(attempt)
        cut = choose(positions | {start}, sizes, keep=attempt.keep, tokens=max(room, 0))
        return cut if cut > start else min(positions, default=None)

    def _pivot(self, pivot: int) -> int:
        return choose(legal(self.ground.messages, self.pairing), [0] * len(self.ground.messages), keep=0, at=pivot)

    def _fold(self, cut: int, attempt: _Attempt, options: Options) -> Generator[Asking, list[Any], Folded | None]:
        """One attempt: the checkpoint of everything before the cut, and the view with it."""
        span = self._span(cut)
        room = self._room(attempt)
        ledger = self._ledger(span)
        frame = self._frame(span, cut, "")
        snapshot = snapshot_of(span.messages, span.first, int(room * SNAPSHOT_SHARE), self.size)
        fixed = self.size(snapshot) + self.size(frame.resume) + 120
        noted = notes(span.facts, ledger, int(room * NOTES_SHARE), self.size).tokens
        written = yield from summarise(span, options, max(room - fixed - noted, room // 4), self.size)
        frame = self._frame(span, cut, written.author)
        composed = compose(written.summary, span.facts, ledger, snapshot, frame, room, self.size)
        checkpoint = Checkpoint(
            text=composed.text,
            skeleton=self.ground.digests[-1] if options.direction == "from" else self._digest(cut),
            start=cut if options.direction == "from" else 0,
            stop=len(self.ground.messages) if options.direction == "from" else cut,
            recipe=self._recipe(written),
            summary=written.summary,
            facts=span.facts,
            ledger=ledger,
            generation=self.ground.checkpoint.generation + 1 if self.ground.checkpoint else 1,
            parent=self.ground.checkpoint.ref if self.ground.checkpoint else "",
            scope=options.scope,
        )
        try:
            return self._shown(cut, checkpoint, attempt, written, composed.left_out)
        except BrokenPromise:
            return None

    def _span(self, cut: int) -> Span:
        messages = self.ground.messages
        suffix = self.options.direction == "from"
        first, stop = (cut, len(messages)) if suffix else (self._start(), cut)
        part = messages[first:stop]
        pairing = pair(part, self.ground.conversation.grammar)
        facts = facts_of(part, pairing, first=first)
        previous = None if suffix else self.ground.checkpoint
        return Span(part, pairing, first, previous.facts.then(facts) if previous else facts, previous)

    def _start(self) -> int:
        """The first message that no checkpoint stands for. One that stands for a later part covers no beginning."""
        checkpoint = self.ground.checkpoint
        return 0 if checkpoint and checkpoint.recipe.direction == "from" else self.ground.base.start

    def _ledger(self, span: Span) -> Ledger:
        ledger = ledger_of(span.messages, span.pairing)
        return span.previous.ledger.then(ledger) if span.previous else ledger

    def _frame(self, span: Span, cut: int, author: str) -> Frame:
        covered = len(span.messages) + (span.previous.stop if span.previous else 0)
        kept = cut < len(self.ground.messages) and self.options.direction == "up-to"
        text = resume(self.options.manner, self.options.abilities)
        return Frame(covered, author or "a model", text, kept, self.options.transcript)

    def _recipe(self, written: Written) -> Recipe:
        options = self.options
        return Recipe(
            written.summary.style,
            options.focus,
            written.author,
            written.summary.version,
            options.direction,
            options.manner.kind,
        )

    def _digest(self, cut: int) -> str:
        return self.ground.digests[cut - 1] if cut else ""

    def _shown(
        self,
        cut: int,
        checkpoint: Checkpoint,
        attempt: _Attempt,
        written: Written,
        left_out: tuple[tuple[str, int], ...],
    ) -> Folded:
        messages = self.ground.messages
        notices: tuple[Notice, ...] = ()
        if self.options.direction == "from":
            view: tuple[Message, ...] = (*messages[:cut], checkpoint.message)
            count = len(messages)
            plan = ViewPlan(self.ground.digests[-1], count, count, checkpoint.ref, pins=tuple(range(cut)))
            return self._proved(view, checkpoint, plan, written, left_out, notices)
        pins = self._pins(cut)
        newest = newest_user(messages)
        carried = newest if newest is not None and newest < cut and newest not in pins else None
        systems = {index for index in range(cut) if messages[index].role == "system"}
        front = [messages[index] for index in sorted({*pins, *systems} - {carried}) if index < cut]
        user = [messages[carried]] if carried is not None else []
        if attempt.clamp_user and user:
            user, notices = self._clamped(user[0], checkpoint)
        view = (*front, checkpoint.message, *user, *messages[cut:])
        settings = attempt.settings or self.ground.plan.settings or self.options.prune
        wanted = settings if attempt.settings else replace(settings, worthwhile=NEVER)
        pruned = prune(view, wanted, self.ground.plan.stubs)
        plan = ViewPlan(
            skeleton=self.ground.digests[-1] if self.ground.digests else "",
            count=len(messages),
            start=cut,
            checkpoint=checkpoint.ref,
            carried=carried,
            stubs=frozenset(stub.key for stub in pruned.stubs),
            in_row=self.decision.in_row,
            pins=pins,
            settings=None if settings == self.options.prune else settings,
        )
        return self._proved(pruned.messages, checkpoint, plan, written, left_out, notices)

    def _pins(self, cut: int) -> tuple[int, ...]:
        """Messages before the cut that stay as they are: those named now, and those pinned before."""
        checkpoint = self.ground.checkpoint
        before = () if checkpoint and checkpoint.recipe.direction == "from" else self.ground.plan.pins
        named = (pin for pin in (*before, *self.options.pins) if 0 <= pin < cut)
        return tuple(sorted(with_cycles(named, self.pairing)))

    def _clamped(self, message: Message, checkpoint: Checkpoint) -> tuple[list[Message], tuple[Notice, ...]]:
        """The newest user message by its two ends, when it is larger than the window by itself."""
        room = max(self.limit - self._head_tokens() - self.size(checkpoint.text) - 200, 100) * 2
        text = message.text
        if len(text) <= room:
            return [message], ()
        gap = f"[… {len(text) - room:,} characters of this message left out here …]"
        cut = f"{head(text, room * 2 // 3)}\n{gap}\n{tail(text, room // 3)}"
        notice = Notice(
            "user-clamped", f"the newest user message of {len(text):,} characters is shown by its ends only"
        )
        return [message.with_parts((Text(cut),))], (notice,)

    def _proved(
        self,
        view: tuple[Message, ...],
        checkpoint: Checkpoint,
        plan: ViewPlan,
        written: Written,
        left_out: tuple[tuple[str, int], ...],
        notices: tuple[Notice, ...],
    ) -> Folded:
        mended = repair(view, self.ground.conversation.grammar).messages
        if not notices:
            prove(mended, self.ground.messages, self.ground.conversation.grammar)
        tokens = self._tokens(mended)
        return Folded(mended, tokens, checkpoint, replace(plan, tokens=tokens), written, left_out, notices)

    def _tokens(self, view: tuple[Message, ...]) -> int:
        return self.meter.count(self.ground.conversation.with_messages(view)).tokens

    def _too_heavy(self, view: tuple[Message, ...]) -> bool:
        limit = self.budget.max_bytes
        return limit is not None and self.meter.count(self.ground.conversation.with_messages(view)).bytes > limit
