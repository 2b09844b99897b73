"""How the tokens of a view are shared out: tail, checkpoint, and inside it the summary and the user's words.

    |<------------------------- target -------------------------->|
    | head, pins | checkpoint: frame, summary, notes |    tail    |

Values and arithmetic only. What is then cut, and what is said in the room, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from foldline.core.facts import Facts
from foldline.core.fold import newest_user
from foldline.core.ground import Ground
from foldline.core.ledger import Ledger
from foldline.core.meter import Meter
from foldline.core.notes import notes
from foldline.core.usertext import own_words

CHECKPOINT_SHARE = 0.40
"""Share of the target that the checkpoint may take: the tail is worth more, word for word."""
CHECKPOINT_LEAST, CHECKPOINT_MOST = 500, 16_000
"""Tokens of a checkpoint: below, the rules and the task do not fit; above, nobody reads it."""
WORDS_SHARE = 0.50
"""Share of the target that the user's own words may take beyond that: nothing else can bring them back."""
SAID_TWICE = 1.5
"""The user's words are shown in order, and the rules among them once more by themselves."""
FRAME = 120
"""Tokens of a checkpoint's opening and headings."""
NOTES_SHARE = 0.65
"""Share of a checkpoint that the program's own notes may claim before the summary gets its room …"""
SUMMARY_LEAST = 4
"""… which is at least a quarter of what the checkpoint has without the user's words."""
ANY = 1 << 40
CHECKPOINT_EVER = 64
"""Tokens of a checkpoint, however full the window is: with fewer there is none."""
MARGIN = 0.96
"""Share of a limit that is aimed at: texts joined have a few tokens more than their parts."""


class Rooms:
    """The rooms of one fold. Sizes are in the provider's tokens, as far as the meter knows them."""

    def __init__(self, ground: Ground, meter: Meter, target: int, limit: int, ease: int) -> None:
        self.ground, self.meter = ground, meter
        self.limit = limit
        self.carried = self._carried(target)
        """Tokens of the newest user message, where it is too large for the tail and stands by itself."""
        self.target = min(target, int(limit * MARGIN), self._beside(target, int(ease * MARGIN)))
        """Tokens of everything else."""

    def _carried(self, target: int) -> int:
        if self.newest is None or sum(self.sizes(self.newest, target)) <= target:
            return 0
        return self.tokens(self.newest)

    def _beside(self, target: int, ease: int) -> int:
        """The share of what is left beside a carried message that the target is of the whole, and not more than leaves
        the view at ease."""
        fixed = self.head + self.carried
        return max(min(fixed + max(self.limit - fixed, 0) * target // self.limit, ease) - self.carried, 1)

    def tokens(self, index: int) -> int:
        """Of one message."""
        return round(self.meter.message(self.ground.messages[index]) * self.meter.ratio)

    def size(self, text: str) -> int:
        return round(self.meter.text(text) * self.meter.ratio)

    @cached_property
    def newest(self) -> int | None:
        return newest_user(self.ground.messages)

    @cached_property
    def head(self) -> int:
        """Tokens that are there whatever is folded: tools, system prompt, system messages."""
        fixed = self.meter.head(self.ground.conversation.head)
        fixed += sum(self.meter.message(message) for message in self.ground.messages if message.role == "system")
        return round(fixed * self.meter.ratio)

    @cached_property
    def words(self) -> int:
        """About the tokens that everything the user has said takes in a checkpoint."""
        past = self.ground.past.facts.of("user") if self.ground.past else ()
        spared = self.newest if self.carried else None
        new = (own_words(m) for at, m in enumerate(self.ground.messages) if at >= self.ground.begin and at != spared)
        said = (text for text in (*(fact.text for fact in past), *new) if text)
        return int(sum(self.size(text) + 4 for text in said) * SAID_TWICE)

    def checkpoint(self, share: float, words: int | None = None) -> int:
        """Tokens for the checkpoint: its share of the target, and more where the user's words need it."""
        base = self._base(share)
        wanted = base // 2 + (self.words if words is None else words)
        free = self.limit - self.head - self.carried
        most = min(base + int(self.target * WORDS_SHARE * share), max(free, CHECKPOINT_EVER))
        return min(max(base, wanted), most)

    def _base(self, share: float) -> int:
        return min(max(int(self.target * CHECKPOINT_SHARE * share), CHECKPOINT_LEAST), CHECKPOINT_MOST)

    def tail(self, share: float, pins: Iterable[int]) -> int:
        """Tokens for the messages that stay."""
        messages = self.ground.messages
        pinned = {pin for pin in (*pins, *self.ground.plan.pins) if 0 <= pin < len(messages)}
        pinned -= {self.newest} if self.carried else set()
        fixed = round(sum(self.meter.message(messages[pin]) for pin in pinned) * self.meter.ratio)
        return max(self.target - self.head - fixed - self.checkpoint(share), 0)

    def unused(self, share: float, pins: Iterable[int], cut: int) -> int:
        """Tokens of the tail's room that the messages from `cut` on leave empty."""
        room = self.tail(share, pins)
        return max(room - sum(map(self.tokens, range(cut, len(self.ground.messages)))), 0)

    def inside(self, share: float, fixed: int, facts: Facts, ledger: Ledger, unused: int = 0) -> tuple[int, int]:
        """Tokens for the checkpoint, and in it for the summary: what the frame, the snapshot and the program's own
        notes leave, the user's words first of all. `unused` is room that nothing else needs."""
        changed = tuple((path, done) for path, done in ledger.files if done != {"read"})
        words = notes(facts, Ledger(changed, ledger.moves), ANY, self.size).tokens
        room = self.checkpoint(share, words)
        room = max(room, min(room + unused, CHECKPOINT_MOST))
        noted = max(words, notes(facts, ledger, int(room * NOTES_SHARE), self.size).tokens)
        return room, max(room - fixed - FRAME - noted, self._base(share) // SUMMARY_LEAST)

    def user(self, checkpoint: str) -> int:
        """Characters of the newest user message when it is larger than the window by itself."""
        return max(self.limit - self.head - self.size(checkpoint) - 200, 100) * 2

    def sizes(self, start: int, tokens: int) -> list[int]:
        """The messages' tokens, counted from the end as far as a tail of so many tokens can reach; before that, 0."""
        messages = self.ground.messages
        found = [0] * len(messages)
        total = 0
        for index in range(len(messages) - 1, start - 1, -1):
            found[index] = self.tokens(index)
            total += found[index]
            if total > tokens:
                break
        return found
