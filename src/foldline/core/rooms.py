"""How the tokens of a view are shared out: tail, checkpoint, and inside it the summary and the user's words.

    |<------------------------- target -------------------------->|
    | head, pins | checkpoint: frame, summary, notes |    tail    |

Head, pins and a large newest user message stay whatever is folded. Of what they leave, a fold takes a third, so that
there is room for the next turns; more where the frame and the rules need it, for those are promised.
A model says much in few words, so the tail gets the larger share. Extraction quotes: there the tail gets a tenth, and
more only once everything that the agent itself wrote before it has found room.
Arithmetic only: what the things cost is measured in costs.py; what is then cut, and what the checkpoint says, is
decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial

from foldline.core.checkpoints.notes import WHOLE, needed, notes
from foldline.core.checkpoints.user_pieces import ruling, stated
from foldline.core.costs import Costs
from foldline.core.facts import Fact, Facts
from foldline.core.fold import ALL, Extent, as_carried, standing
from foldline.core.limits import ViewLimits
from foldline.core.work.ledger import Ledger
from foldline.model import Message

CHECKPOINT_SHARE = 0.40
"""Share of the target that the checkpoint may take: the tail is worth more, since it is word for word."""
CHECKPOINT_LEAST, CHECKPOINT_MOST = 500, 16_000
"""Tokens of a checkpoint, at least and at most: with fewer hardly more than the rules and the task fit, and nobody
reads more."""
CHECKPOINT_TIGHT = 4
"""In a tight window a checkpoint's least tokens are one part in four of what head, pins and a carried message leave,
where that is less than CHECKPOINT_LEAST."""
CHECKPOINT_EVER = 64
"""Tokens that a checkpoint has however full the window is: fewer hold none."""
WORDS_SHARE = 0.50
"""Share of the target by which the user's own words may enlarge the checkpoint: nothing else can bring them back."""
TAIL_LEAST = 0.10
"""Share of the target that the tail gets at least where there is no model. Apart from the last few messages, what
tools answered is seldom needed again; what the agent wrote is needed three times as often."""
CLAMPED_USER = 0.4
"""Share of the limit for a newest user message that is too large to be shown whole."""
CLAMP_MARK = 60
"""Tokens of the mark that says what is missing from it."""
ENDS_SHARE = 0.85
"""Share of the free room that the ends of such a message take where the next turns need room as well."""
SHORTEST_ENDS = 100
"""Characters of such a message that are always shown."""
TRIES = 6
"""How many times the ends are measured: they may have more tokens or bytes for their characters than the whole message,
or fewer."""
TAIL_HEAVY = 0.25
"""Share of the room that a tail with shortened results may have, and above which whole results are better shortened:
the agent is working with them, and readers miss what is left out."""
LARGEST = 3
"""When a cut is chosen, a result counts for at most one part in so many of the tail's room: a larger one is
shortened."""
LOG_MOST = 24_000
"""The most tokens of a checkpoint with a work log: it is read like messages, and stands for many."""
LOG_MORE = 0.5
"""Files that the agent read may add this share to a log of all it wrote: their lines are worth more than a longer
tail."""
NOTED_MOST, NOTED_LITTLE = 0.25, 0.12
"""Share of what the user's words leave that errors, deeds, tasks and files may take before a work log gets its room:
the second where little is left."""
LITTLE = 600
"""Tokens left by the user's words below which that is little."""
LOG_LEAST = 0.15
"""Share of a checkpoint that a work log gets, however much the user said."""
SHORT, SHORT_SHARE = 160, 0.7
"""User messages of at most so many characters come before the work log, up to this share of what the rules leave."""
FRAME = 120
"""Tokens of a checkpoint's opening and headings, roughly, for use before it is written."""
RULES_MORE = 5
"""Rules take up to one part in five fewer tokens together than one by one; what they need is estimated with that
margin."""
JOINTS = 24
"""Tokens of the lines that say what was left out and of what joins the parts."""
NOTES_SHARE = 0.65
"""Share of a checkpoint that the program's own notes may take before a model's summary gets its room."""
SUMMARY_LEAST = 4
"""A model's summary gets at least one part in so many of what the checkpoint has without the user's words."""
SLACK = 2 / 3
"""Share of what head, pins and a carried message leave that a fold keeps free for the next turns, where that is less
than a tenth of the room. The other third is for what the fold writes."""
MARGIN = 0.99
"""Share of a limit to aim at: joined texts have a few tokens more than their parts."""
EASE_MARGIN = 0.96
"""Share of the size of a view at ease to aim at: the next turns come on top of it."""


class Rooms:
    """The rooms of one fold, in tokens."""

    def __init__(
        self,
        costs: Costs,
        limits: ViewLimits,
        pins: Iterable[int] = (),
        *,
        guide: Message | None = None,
        by_model: bool = True,
        clamp_user: bool = False,
    ) -> None:
        self.costs, self.ground, self.newest = costs, costs.ground, costs.newest
        self.by_model, self.clamp_user = by_model, clamp_user
        limit, ease = limits.most, limits.ease
        self.limit, self.pins, self.guide = limit, frozenset(pins), guide
        self.carried_tokens = self._tokens_carried(limits.target)
        """Tokens of the newest user message where it is too large for the tail and stands by itself; else 0."""
        self.open = max(limit - self.fixed - self.carried_tokens, 0)
        """Tokens left for what a fold can choose, and for the next turns."""
        self.ease = ease if ease == limit else max(ease, limit - int(self.open * SLACK))
        """The size of a view that leaves enough room for the next turns."""
        self.tight = self.ease > ease
        """The next turns have less room than a fold should leave them."""
        self.scarce = (self.tight or self.carried_tokens > 0) and not clamp_user
        """There is no room to repeat what the view shows in full."""
        self.target = self._target(limits.target)
        """The tokens to aim at, for everything but the carried message."""

    def _tokens_carried(self, target: int) -> int:
        if (
            self.newest is None
            or sum(_last(self.costs.each.__getitem__, self.newest, len(self.costs.each), target)) <= target
        ):
            return 0
        return min(self.costs.alone, int(self.limit * CLAMPED_USER)) if self.clamp_user else self.costs.alone

    def _target(self, target: int) -> int:
        """The target that was asked for, at least twice the head; but never above the target scaled to the room beside
        the head, nor above a size that leaves room for the next turns."""
        share = self.fixed + self.open * target // self.limit
        aim = (
            self.fixed + int((self.ease - self.fixed) * MARGIN) if self.ease == self.limit else self.ease * EASE_MARGIN
        )
        most = max(int(aim) - self.carried_tokens, self.fixed + self.beside // 2)
        return max(min(max(target, 2 * self.fixed), share, most), 1)

    @property
    def beside(self) -> int:
        """Tokens that checkpoint and tail together may have in a view that is at ease."""
        return self.ease - self.fixed - self.carried_tokens

    @cached_property
    def stays(self) -> frozenset[int]:
        """The messages that stay whatever is folded: system messages and pinned ones."""
        messages = self.ground.messages
        pinned = {pin for pin in (*self.pins, *self.ground.pins) if 0 <= pin < len(messages)}
        pinned -= {self.newest} if self.carried_tokens else set()
        return frozenset({*standing(messages, len(messages)), *pinned})

    @cached_property
    def loose(self) -> list[int]:
        """Tokens of every message that can be folded; 0 for those that stay."""
        return [0 if at in self.stays else tokens for at, tokens in enumerate(self.costs.each)]

    @cached_property
    def fixed(self) -> int:
        """Tokens of the messages that stay, tools, the system prompt, and the project's instructions."""
        guides = (self.guide,) if self.guide else ()
        return self.costs.standing((*(self.ground.messages[at] for at in self.stays), *guides))

    def checkpoint(self, share: float, words: int | None = None) -> int:
        """Tokens for the checkpoint: its share of the target, and more where the user's words need it."""
        base = self._base(share)
        wanted = base // 2 + (self.costs.words if words is None else words)
        most = min(base + int(self.target * WORDS_SHARE * share), max(int(self.beside * share), self._least()))
        return min(max(base, wanted), most)

    def _base(self, share: float) -> int:
        return min(max(int(self.target * CHECKPOINT_SHARE * share), self._least()), CHECKPOINT_MOST)

    def _least(self, needed: int = 0) -> int:
        """The fewest tokens of a checkpoint; `needed` are those that the frame and the rules need."""
        tight = max(self.open // CHECKPOINT_TIGHT, needed)
        return max(min(CHECKPOINT_LEAST, tight, self.open), CHECKPOINT_EVER)

    def tail(self, share: float) -> int:
        """Tokens for the messages that stay."""
        free = self.target - self.fixed
        if self.by_model:
            return max(free - self.checkpoint(share), 0)
        return max(int(free * share * TAIL_LEAST), self._roomy(int(free * share)))

    def clamped(self, share: float) -> int:
        """Tokens that a tail with shortened results may have: what a model leaves, or its share of the room."""
        return self.tail(share) if self.by_model else int((self.target - self.fixed) * share * TAIL_HEAVY)

    def is_heavy(self, stay: int) -> bool:
        """A tail of so many tokens leaves too little room to say what came before it."""
        return stay > max(int((self.target - self.fixed) * TAIL_HEAVY), self.tail(1.0))

    def _roomy(self, free: int) -> int:
        """Tokens of the longest tail that leaves room for a log of all the agent wrote before it and of some of what
        it read."""
        begin, own = self.ground.begin, self.costs.own
        read = [self.loose[at] if shown else 0 for at, shown in enumerate(self.costs.reading, begin)]
        log, seen, tail = self.costs.logged + sum(own), sum(read), 0
        free -= self.costs.words + FRAME + self.costs.retold
        for index in range(len(self.ground.messages) - 1, begin - 1, -1):
            log -= own[index - begin]
            seen -= read[index - begin]
            tokens = self.loose[index]
            if tail + tokens + min(log + min(int(log * LOG_MORE), seen), LOG_MOST) > free:
                break
            tail += tokens
        return tail

    def left(self, share: float, cut: int, stay: int) -> int:
        """What the messages from `cut` on, which have `stay` tokens, leave of the tail's room; without a model, of
        all the room."""
        if self.by_model:
            return max(self.tail(share) - stay, 0)
        return max(int((self.target - self.fixed) * share) - stay - self.shown(cut), 0)

    def shown(self, cut: int) -> int:
        """Tokens of the newest user message behind the checkpoint, if it lies before the cut and is not large; else
        0."""
        if (
            self.newest is None
            or self.newest >= cut
            or self.carried_tokens
            or self.newest in (*self.pins, *self.ground.pins)
        ):
            return 0
        return self.costs.alone

    def inside(
        self, share: float, frame: int, facts: Facts, ledger: Ledger, left: int = 0, stay: int = 0
    ) -> tuple[int, int]:
        """Tokens for the checkpoint, and for the summary in it: what the frame (with the snapshot) and the program's
        own notes leave, the user's words first of all. `stay` are the tokens of the messages that stay and `left`
        what these leave of the target; the rules may take what they leave of the view."""
        whole = (self.checkpoint(share) if self.by_model else left) * WHOLE
        words, noted = needed(facts, ledger, self.costs.size, whole)
        rules = frame + JOINTS + self._rules(facts, facts.of("rule"))
        if not self.by_model:
            return self._beside_log(frame, facts, (words, noted, rules), left, stay)
        ruled = max(self._least(rules + CHECKPOINT_EVER), min(rules, self.beside - stay))
        room = max(self.checkpoint(share, noted), ruled)
        room = max(room, min(room + left, CHECKPOINT_MOST))
        room = min(room, max(int((self.beside - stay) * MARGIN), ruled))  # files that need more are left out
        noted = max(noted, notes(facts, ledger, int(room * NOTES_SHARE), self.costs.size).tokens)
        least = min(self._base(share) // SUMMARY_LEAST, max(room - rules, CHECKPOINT_EVER))
        return room, max(room - frame - noted - JOINTS, least)

    def _beside_log(
        self, frame: int, facts: Facts, needs: tuple[int, int, int], left: int, stay: int
    ) -> tuple[int, int]:
        """Tokens for the checkpoint, and for a log in it. Rules come before the log. But where the room cannot hold
        the rules of a plan, they leave the log its least share: an agent that does not know what was done of a plan
        begins it again."""
        words, noted, rules = needs
        room = max(min(left, LOG_MOST + noted), self._least(rules), min(rules, self.beside - stay))
        free = max(room - frame - words - JOINTS, 0)
        most = NOTED_MOST if free >= LITTLE else NOTED_LITTLE
        log = max(free - min(noted - words, int(free * most)), int(room * LOG_LEAST))
        beside = room - rules
        if beside < 0:
            beside = max(min(int(room * LOG_LEAST), room - frame - JOINTS - self._rules(facts, ruling(facts))), 0)
        return room, min(log, beside - min(self._short(facts), int(beside * SHORT_SHARE)))

    def terse(self, frame: int, facts: Facts) -> int:
        """Tokens of a checkpoint with hardly more than what must not be lost: all there are, if need be. Of a
        clamped message only the ends then count."""
        carried = min(2 * CLAMP_MARK, self.carried_tokens) if self.clamp_user else self.carried_tokens
        most = int(self.limit * MARGIN) - self.fixed - carried - self.shown(len(self.costs.each))
        must = notes(Facts(facts.of("rule", "open", "approval")), Ledger(), max(most, 0), self.costs.size).tokens
        return max(min(frame + must + must // RULES_MORE + CHECKPOINT_EVER, most), 0)

    def _rules(self, facts: Facts, rules: Sequence[Fact]) -> int:
        """Tokens that these rules need; beside a log, statements that may be rules count as well."""
        stating = frozenset[int]() if self.by_model else stated(facts) - {fact.at for fact in facts.of("rule")}
        must = Facts((*rules, *(fact for fact in facts.of("user") if fact.at in stating)))
        tokens = notes(must, Ledger(), max(self.beside, CHECKPOINT_LEAST), self.costs.size).tokens
        return tokens + tokens // RULES_MORE

    def _short(self, facts: Facts) -> int:
        """Tokens of what the user said in few words, without the rules."""
        ruling = {fact.at for fact in facts.of("rule")}
        short = [fact for fact in facts.of("user") if len(fact.text) <= SHORT and fact.at not in ruling]
        return notes(Facts(tuple(short)), Ledger(), self.beside, self.costs.size).tokens if short else 0

    def user(self, checkpoint: Message, stay: int) -> Extent:
        """How much of the newest user message there is room for beside a checkpoint."""
        if self.newest is None:
            return ALL
        free = int((self.limit - self.fixed - self.costs.of(checkpoint) - stay) * MARGIN)
        return ALL if self.costs.alone <= free else self._ends(self.ground.messages[self.newest], free, self.costs.of)

    def lighter(self, extent: Extent, over: int) -> Extent:
        """How much of the newest user message there is room for where with so much of it a view has `over` bytes too
        many."""
        if self.newest is None:
            return extent
        message = self.ground.messages[self.newest]
        free = int((self.costs.bytes(as_carried(message, extent)) - over) * MARGIN)
        return self._ends(message, free, self.costs.bytes)

    def _ends(self, message: Message, free: int, size: Callable[[Message], int]) -> Extent:
        """About as much of the message as has a size that is free, less what the next turns need; its characters are
        searched between a length that fits and one that does not. After one that is too long, less is aimed at: where
        a text grows denser, one would else come nearer and nearer from above."""
        free = free if self.ease == self.limit else int(free * ENDS_SHARE)
        low, high = SHORTEST_ENDS, len(as_carried(message).text)
        fewest, most = (size(as_carried(message, Extent(length))) for length in (low, high))
        if most <= free:  # only its pictures were too large
            return Extent(bare=True)
        aim = free
        for _ in range(TRIES):
            length = low + int((high - low) * max(aim - fewest, 0) / max(most - fewest, 1))
            if not low < length < high:
                break
            found = size(as_carried(message, Extent(length)))
            if found <= free:
                low, fewest, aim = length, found, free
            else:
                high, most, aim = length, found, free - min(2 * (found - free), (free - fewest) // 2)
        return Extent(low)

    def sizes(self, start: int, tokens: int, *, whole: bool = False) -> list[int]:
        """The messages' tokens, from the end back to as far as a tail of so many tokens can reach, and 0 before
        that. Messages that stay anyway cost nothing; a large result costs what it will have when shortened, unless
        `whole`."""
        size = self.loose.__getitem__ if whole else partial(self._shortened, most=tokens // LARGEST)
        return _last(size, start, len(self.loose), tokens)

    def _shortened(self, at: int, most: int) -> int:
        """Tokens of a message whose results are shortened to `most`. What stands beside them cannot be shortened."""
        tokens = self.loose[at]
        results = self.ground.messages[at].results if tokens > most else ()
        bulk = self.costs.size("".join(result.text for result in results)) if results else 0
        return tokens - max(min(bulk, tokens) - most, 0)

    def is_crowded(self, cut: int, share: float) -> bool:
        """A tail from `cut` on fits its room only if results in it are shortened."""
        room = self.tail(share)
        whole = sum(self.loose[cut:])
        return whole > room and sum(self._shortened(at, room // LARGEST) for at in range(cut, len(self.loose))) < whole


def _last(size: Callable[[int], int], start: int, stop: int, tokens: int) -> list[int]:
    """The sizes of the items before `stop`, as far back as so many tokens reach; 0 before that."""
    found: list[int] = []
    total, first = 0, stop
    while first > start and total <= tokens:
        first -= 1
        found.append(size(first))
        total += found[-1]
    return [0] * first + found[::-1]
