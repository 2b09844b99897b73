"""One turn as a straight line: a generator that yields effects and is sent their results. It does no I/O.

    Keep → Known → Recall → repair → count → decide ─┬─ rest ────────────────────────────────┐
                                                     ├─ prune ──────────────── Save ─────────┤→ View
                                                     └─ prune → cut → Asking → audit → fold
                                                        → prove → Save ──────────────────────┘

How a cut and a checkpoint are found that fit is in compaction.py; asking a model is in summarise.py. If nothing legal
fits, CannotFit carries the smallest view there is.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from foldline.core.checkpoint import Checkpoint
from foldline.core.compaction import NEVER, Compaction, Folded, Ground
from foldline.core.effects import Effect, Keep, Known, Recall, Recalled, Save, Tell, ViewPlan
from foldline.core.fold import Base
from foldline.core.meter import Meter, Tally
from foldline.core.options import Options
from foldline.core.policy import Decision, Past, cache_cost, decide
from foldline.core.prune import prune
from foldline.core.receipt import Receipt
from foldline.core.repair import repair
from foldline.core.skeleton import Chain
from foldline.errors import ArchiveError
from foldline.model import Conversation, Message, Notice, Origin


@dataclass(frozen=True, slots=True)
class View:
    """What the model is to be shown, and the account of it. `conversation` is the view as a conversation."""

    conversation: Conversation
    receipt: Receipt
    checkpoint: Checkpoint | None = None
    plan: ViewPlan | None = None


def turn(conversation: Conversation, options: Options, meter: Meter, chain: Chain) -> Generator[Effect, Any, View]:
    """Fits a conversation into its budget."""
    return (yield from _Turn(conversation, options, meter, chain).run())


class _Turn:
    def __init__(self, conversation: Conversation, options: Options, meter: Meter, chain: Chain) -> None:
        self.given, self.options, self.meter, self.chain = conversation, options, meter, chain
        self.budget = options.budget.reserving(conversation.head.max_output)
        self.notices: list[Notice] = list(conversation.notices)

    def run(self) -> Generator[Effect, Any, View]:
        yield from self._try(Keep(self.given), "the originals could not be archived")
        messages, returned = yield from self._recognised()
        digests = self.chain.digests(messages)
        recalled: Recalled | None = yield from self._try(Recall(digests, self.options.scope), "nothing was recalled")
        ground = self._ground(messages, digests, recalled, returned)
        shown = self._shown(ground)
        before = self._count(shown)
        decision = self._decision(before.tokens, before.bytes, ground)
        if decision.action == "rest" or self.given.head.remote:
            return self._resting(shown, decision, before.tokens, ground)
        pruned, plan = self._pruned(ground)
        tokens = self._count(pruned).tokens
        limit = self.options.to or self.budget.room
        if not self.options.force and tokens <= limit and not self._too_heavy(pruned):
            if plan.stubs == ground.plan.stubs:
                return self._resting(shown, replace(decision, action="rest"), before.tokens, ground)
            plan = replace(plan, tokens=tokens, in_row=0)
            yield from self._saved(Save(plan))
            decision = replace(decision, action="prune")
            return self._view(pruned, decision, before.tokens, ground, plan=plan)
        folded = yield from Compaction(ground, self.options, self.budget, self.meter, decision).run()
        return (yield from self._claimed(folded, decision, before.tokens, ground, shown))

    def _recognised(self) -> Generator[Effect, Any, tuple[tuple[Message, ...], tuple[int, Checkpoint] | None]]:
        """The messages, with checkpoints that came back as input known for what they are."""
        messages = self.given.messages
        texts = {message.text: index for index, message in enumerate(messages) if _may_be_ours(message)}
        if not texts:
            return messages, None
        known: dict[str, Checkpoint] = (yield from self._try(Known(tuple(texts)), "no checkpoint was known")) or {}
        if not known:
            return messages, None
        marked = tuple(
            replace(message, origin=Origin.SUMMARY) if message.role == "user" and message.text in known else message
            for message in messages
        )
        last = max(texts[text] for text in known)
        return marked, (last, known[marked[last].text])

    def _ground(
        self,
        messages: tuple[Message, ...],
        digests: tuple[str, ...],
        recalled: Recalled | None,
        returned: tuple[int, Checkpoint] | None,
    ) -> Ground:
        """What the history is shown as so far."""
        plan = recalled.plan if recalled else ViewPlan("", 0)
        checkpoint = recalled.checkpoint if recalled else None
        base = Base()
        if checkpoint and recalled:
            base = Base(front_again(messages, plan, checkpoint), plan.start)
        elif returned:
            at, checkpoint = returned
            base = Base(messages[: at + 1], at + 1)
            plan = replace(plan, start=at + 1, checkpoint=checkpoint.ref, pins=tuple(range(at)))
        return Ground(self.given, messages, digests, base, checkpoint, plan)

    def _shown(self, ground: Ground) -> tuple[Message, ...]:
        """The last view, extended by what is new: the same bytes as before, and then more."""
        view = ground.base.view(ground.messages)
        settings = replace(ground.plan.settings or self.options.prune, worthwhile=NEVER)
        return prune(view, settings, ground.plan.stubs).messages if ground.plan.stubs else view

    def _pruned(self, ground: Ground) -> tuple[tuple[Message, ...], ViewPlan]:
        view = ground.base.view(ground.messages)
        pruned = prune(view, ground.plan.settings or self.options.prune, ground.plan.stubs)
        plan = replace(
            ground.plan,
            skeleton=ground.digests[-1] if ground.digests else "",
            count=len(ground.messages),
            start=ground.base.start,
            stubs=pruned.plan,
        )
        return pruned.messages, plan

    def _decision(self, tokens: int, size: int, ground: Ground) -> Decision:
        past = Past(ground.plan.in_row, ground.plan.tokens or None if ground.checkpoint else None)
        decision = decide(tokens, self.budget, past, bytes_=size)
        if self.options.force:
            target = self.options.to or self.budget.at(self.budget.target)
            return replace(decision, action="compact", reason="asked for", target=target)
        if self.options.to is not None and tokens > self.options.to:
            return replace(
                decision,
                action="compact",
                reason=f"{tokens:,} tokens are over {self.options.to:,}",
                target=self.options.to,
            )
        return decision

    def _too_heavy(self, view: tuple[Message, ...]) -> bool:
        limit = self.budget.max_bytes
        return limit is not None and self._count(view).bytes > limit

    def _count(self, view: tuple[Message, ...]) -> Tally:
        return self.meter.count(self.given.with_messages(view))

    def _resting(self, shown: tuple[Message, ...], decision: Decision, tokens: int, ground: Ground) -> View:
        return self._view(shown, decision, tokens, ground, plan=ground.plan, rebased=False)

    def _view(
        self,
        view: tuple[Message, ...],
        decision: Decision,
        before: int,
        ground: Ground,
        *,
        plan: ViewPlan | None,
        rebased: bool = True,
        folded: Folded | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> View:
        mended = repair(view, self.given.grammar)
        conversation = self.given.with_messages(mended.messages)
        if mended.messages == self.given.messages:
            conversation = self.given  # nothing to change: the very input
        start = folded.plan.start if folded else ground.base.start
        receipt = Receipt(
            action=decision.action,
            reason=decision.reason,
            tokens_before=before,
            tokens_after=self.meter.count(conversation).tokens,
            room=self.budget.room,
            messages=len(ground.messages),
            kept=len(ground.messages) - start,
            folded=start,
            stubbed=len(plan.stubs) if plan else 0,
            rebased=rebased,
            repairs=mended.counts(),
            notices=tuple(self.notices),
        )
        shown = checkpoint if folded else ground.checkpoint
        if shown:
            receipt = replace(receipt, checkpoint=shown.ref, generation=shown.generation, author=shown.recipe.model)
        if folded:
            receipt = _with_fold(receipt, folded)
        if rebased:
            cost = cache_cost(before, receipt.tokens_after, self._shared(view, ground))
            receipt = replace(receipt, rewritten=cost.rewritten, saved_per_turn=cost.saved_per_turn)
        return View(conversation, receipt, shown, plan)

    def _shared(self, view: tuple[Message, ...], ground: Ground) -> int:
        """Tokens at the beginning that the new view has in common with the last."""
        last = self._shown(ground)
        same = 0
        for one, other in zip(view, last, strict=False):
            if one != other:
                break
            same += 1
        return self.meter.count(self.given.with_messages(view[:same])).tokens if same else 0

    def _claimed(
        self, folded: Folded, decision: Decision, before: int, ground: Ground, shown: tuple[Message, ...]
    ) -> Generator[Effect, Any, View]:
        """A fold is claimed only once it is durable. A view that is not smaller is not a fold."""
        if folded.tokens >= before and before <= self.budget.room:
            self.notices.append(Notice("no-progress", "the checkpoint would not be smaller than what it replaces"))
            return self._resting(shown, replace(decision, action="rest"), before, ground)
        if decision.storm:
            self.notices.append(Notice("storm", decision.reason))
        for notice in folded.notices:
            yield Tell(notice)
        saved = yield from self._saved(Save(folded.plan, folded.checkpoint))
        checkpoint = folded.checkpoint if saved else None
        return self._view(folded.view, decision, before, ground, plan=folded.plan, folded=folded, checkpoint=checkpoint)

    def _saved(self, effect: Save) -> Generator[Effect, Any, bool]:
        answer = yield effect
        if isinstance(answer, ArchiveError):
            self._note("not-archived", f"the view is used but not kept: {answer}")
            return False
        return True

    def _try(self, effect: Effect, what: str) -> Generator[Effect, Any, Any]:
        """The answer, or None with a notice when the archive failed: the turn goes on."""
        answer = yield effect
        if isinstance(answer, ArchiveError):
            self._note("archive-failed", f"{what}: {answer}")
            return None
        return answer

    def _note(self, code: str, text: str) -> None:
        self.notices.append(Notice(code, text))


def _with_fold(receipt: Receipt, folded: Folded) -> Receipt:
    return replace(
        receipt,
        author=folded.written.author,
        attempts=folded.written.attempts,
        chunks=folded.written.chunks,
        findings=folded.written.findings,
        left_out=folded.left_out,
        notices=(*receipt.notices, *folded.notices),
    )


def front_again(messages: tuple[Message, ...], plan: ViewPlan, checkpoint: Checkpoint) -> tuple[Message, ...]:
    """The front of a view as its plan says: system and pinned messages, the checkpoint, the carried user message."""
    kept = {*plan.pins, *(index for index in range(plan.start) if messages[index].role == "system")}
    carried = (messages[plan.carried],) if plan.carried is not None else ()
    return (*(messages[index] for index in sorted(kept)), checkpoint.message, *carried)


def _may_be_ours(message: Message) -> bool:
    """Worth looking up. What decides is the hash of its text, not how it begins."""
    return message.role == "user" and message.origin is not Origin.TOOL and message.text.startswith("# Notes on the")
