"""UIR: the user's sentences that a view still has, word for word; and side constraints planted to see who keeps them.

    retained(sentences, view)      share of the sentences that stand in the view
    planted(prefix)                the prefix with fifteen constraints, five early, five in the middle, five late

The constraints are said in passing, in many forms, each in a message of the user's own between two steps of the agent.
White space is no difference: quoting may break lines anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from foldline.core.history.cycles import inside, pair
from foldline.evals.said import squeezed
from foldline.evals.splits import meter
from foldline.model import Conversation, Message, Origin, Text

PLACES: Mapping[str, tuple[float, float]] = {"early": (0.02, 0.25), "middle": (0.40, 0.60), "late": (0.75, 0.95)}
"""Where in the prefix each five stand, as shares of its tokens: a budget is in tokens, and one result may be most of
them."""

CONSTRAINTS: Mapping[str, tuple[str, ...]] = {
    "early": (
        "By the way, leave everything under vendor/legacy exactly as it is.",
        "Oh, and we only ever ship on Tuesdays, so nothing goes out before that.",
        "Please never print customer mail addresses, not even in debug output.",
        "I would rather have two small changes than one clever one.",
        "Whatever you do, the public signature of open_ledger() has to stay.",
    ),
    "middle": (
        "One more thing: the staging database is shared, so reads only there.",
        "Our reviewers want British spelling in every user-facing text.",
        "Do not add any dependency that needs a compiler to install.",
        "If a test takes longer than three seconds, mark it as slow.",
        "The dashboard people rely on port 7431, keep it free.",
    ),
    "late": (
        "Ah, and ask me before you delete anything that is not generated.",
        "Commit messages start with the ticket number, always.",
        "We still support Python 3.11 on the old build machines.",
        "Timestamps are UTC everywhere, even where it looks odd.",
        "For the record, Marta owns the billing module and merges there herself.",
    ),
}


@dataclass(frozen=True)
class Planted:
    """A prefix with constraints in it. Constraints that found no legal place are not in `texts`."""

    prefix: Conversation
    texts: Mapping[str, tuple[str, ...]]

    def kept(self, view: str) -> dict[str, float | None]:
        """Share that stands in a view, by place and together."""
        flat = squeezed(view)
        found = {place: [text in flat for text in texts] for place, texts in self.texts.items()}
        every = [kept for each in found.values() for kept in each]
        return {f"kept_{place}": _mean(each) for place, each in found.items()} | {"kept": _mean(every)}


def retained(sentences: Sequence[str], view: str) -> float | None:
    """UIR; None where the user said nothing."""
    flat = squeezed(view)
    return _mean([squeezed(sentence) in flat for sentence in sentences])


def planted(prefix: Conversation) -> Planted:
    """The constraints spread evenly over their places, between whole tool cycles, before a step of the agent."""
    messages = prefix.messages
    closed = inside((cycle.start, cycle.stop) for cycle in pair(messages, prefix.grammar).cycles)
    legal = [at for at, message in enumerate(messages) if message.role == "assistant" and at not in closed and at]
    wanted = [(place, text) for place, texts in CONSTRAINTS.items() for text in texts]
    places = _spread(legal, [0, *accumulate(map(meter().message, messages))]) if legal else []
    chosen = dict(zip(wanted, places, strict=False))
    texts = {place: tuple(text for text in said if (place, text) in chosen) for place, said in CONSTRAINTS.items()}
    return Planted(prefix.with_messages(_inserted(messages, chosen)), texts)


def _spread(legal: Sequence[int], sums: Sequence[int]) -> list[int]:
    """For each constraint in order the legal place nearest to where it belongs, by the tokens before each place."""
    found = []
    for place, texts in CONSTRAINTS.items():
        first, last = PLACES[place]
        for number in range(len(texts)):
            ideal = sums[-1] * (first + (last - first) * number / (len(texts) - 1))
            found.append(min(legal, key=lambda at: abs(sums[at] - ideal)))
    return found


def _inserted(messages: Sequence[Message], chosen: Mapping[tuple[str, str], int]) -> list[Message]:
    found: list[Message] = []
    for at, message in enumerate(messages):
        found += [_said(text) for (_, text), place in chosen.items() if place == at]
        found.append(message)
    return found


def _said(text: str) -> Message:
    return Message("user", Origin.USER, (Text(text),))


def _mean(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None
