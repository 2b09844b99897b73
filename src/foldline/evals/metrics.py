"""A view against what came after it: every figure of one strategy at one cut, and nothing averaged.

    Ruler(split, world).score(view) ──> Scores

The world is what a set of sessions shares: generic text, and identifiers that stand everywhere. A view that its
provider would refuse scores 0 in everything. Each metric's own arithmetic is in explained, references, instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from foldline.evals import said
from foldline.evals.explained import Explainer
from foldline.evals.identifiers import identifiers, stands
from foldline.evals.instructions import Planted, planted, retained
from foldline.evals.references import References
from foldline.evals.splits import Split, faults, size
from foldline.model import Conversation, digest

EVERYWHERE = 0.30
"""An identifier in this share of the sessions is background: tools' names, the project's own."""
FEWEST_SESSIONS = 4
"""With fewer, an identifier cannot be told to be background by the share of sessions it is in."""
FEWEST_WITH = 3
"""Sessions that must have it, whatever their share: two may be two about the same thing."""
RELATED = 0.5
"""Sessions that share this part of the shorter one's messages are copies: one was forked or resumed from the other."""
SCORES = ("xf", "gxf", "frr", "gfrr", "far", "vas", "uir", "kept", "kept_early", "kept_middle", "kept_late", "faithful")
"""What a view is scored on, in the order of tables."""

Scores = dict[str, float | None]


@dataclass(frozen=True)
class World:
    """What the sessions of a run share."""

    generic: bytes = b""
    background: frozenset[str] = frozenset()

    @cached_property
    def digest(self) -> str:
        return digest(self.generic + "\0".join(sorted(self.background)).encode("utf-8", "replace"))


def background(sessions: Iterable[Set[str]]) -> frozenset[str]:
    """The identifiers that stand in so many sessions that they tell nothing. Each is given with its copies, as one."""
    found = list(sessions)
    if len(found) < FEWEST_SESSIONS:
        return frozenset()
    counts = Counter(name for names in found for name in names)
    return frozenset(name for name, count in counts.items() if count >= max(EVERYWHERE * len(found), FEWEST_WITH))


def families(sessions: Sequence[Set[str]]) -> list[int]:
    """For each session, given by its messages, the first session that it is a copy of, at whatever remove."""
    having: dict[str, list[int]] = {}
    for number, messages in enumerate(sessions):
        for message in messages:
            having.setdefault(message, []).append(number)
    shared = Counter(pair for numbers in having.values() for pair in combinations(numbers, 2))
    first = list(range(len(sessions)))
    for (one, other), count in sorted(shared.items()):
        if count >= RELATED * min(len(sessions[one]), len(sessions[other])) and first[one] != first[other]:
            low, high = sorted((first[one], first[other]))
            first = [low if each == high else each for each in first]
    return first


class Ruler:
    """Scores views of one split. What does not depend on the view is worked out once."""

    def __init__(self, split: Split, world: World) -> None:
        self.split = split
        self.text = said.shown(split.prefix.messages)
        self._names = identifiers(f"{split.system}\n{self.text}")
        self._explainer = Explainer(said.agents(split.future), self.text, world.generic)
        self.references = References(split.future, self.text, split.system, world.background)
        self.sentences = said.sentences(said.users(split.prefix.messages))

    @cached_property
    def planted(self) -> Planted:
        return planted(self.split.prefix)

    def score(self, view: Conversation, frame: Callable[[str], str] = str, *, grounded: bool = False) -> Scores:
        """M1 to M4 of a view, gXF if it is wanted: it takes as long again. `frame` takes a strategy's own frame out of
        its text before its names are judged."""
        if faults(view):
            nothing = dict.fromkeys((name for name in SCORES if not name.startswith("kept")), 0.0)
            return {**nothing, "gxf": 0.0 if grounded else None, "valid": 0.0, "tokens": float(size(view.messages))}
        text = said.shown(view.messages)
        return {
            "xf": self._explainer.share(text),
            "gxf": self._explainer.grounded(text) if grounded else None,
            **self.references.recall(text),
            "uir": retained(self.sentences, text),
            "faithful": self.faithful(frame(text)),
            "valid": 1.0,
            "tokens": float(size(view.messages)),
        }

    def faithful(self, text: str) -> float | None:
        """Share of a text's identifiers that stand in the prefix or the system prompt."""
        found = identifiers(text)
        known = sum(name in self._names or stands(name, self.text) for name in found)
        return known / len(found) if found else None

    def survived(self, view: Conversation) -> Scores:
        """M3's second half: a view of the planted prefix."""
        if faults(view):
            return dict.fromkeys(self.planted.kept(""), 0.0)
        return {**self.planted.kept(said.shown(view.messages))}


def mean(found: Iterable[Mapping[str, float | None]], name: str) -> float | None:
    """The mean of one figure over those that have it."""
    values = [value for scores in found if (value := scores.get(name)) is not None]
    return sum(values) / len(values) if values else None
