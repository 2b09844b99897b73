"""Legal cuts: where a history may be divided so that both sides stand by themselves.

    messages, pairing ── legal ──> the set of positions ── choose ──> one of them

A cut at k folds messages[:k] and keeps messages[k:]. Each rule is a small function that gives the positions it allows;
a cut is legal where all rules agree, so another provider's demand is one more rule. 0 folds nothing, and is always
legal. What a fold then says about the folded part is not decided here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from foldline.core.history.cycles import Pairing, begins_with_thinking, inside, open_loop
from foldline.model import Grammar, Message, Origin

MIN_KEEP = 4
"""Messages that stay at least: the last exchange with its tools, so that the model sees what it was doing."""

Rule = Callable[[Sequence[Message], Pairing], set[int]]


def outside_cycles(messages: Sequence[Message], pairing: Pairing) -> set[int]:
    """Never inside a tool cycle, however long it is or late its results are."""
    allowed = set(range(len(messages) + 1))
    allowed -= inside((start, stop) for start, _, stop, _, _ in pairing.cycles)
    return allowed


def with_its_system(messages: Sequence[Message], _: Pairing) -> set[int]:
    """Never among the leading system messages, which no fold takes away."""
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        leading += 1
    return {0, *range(leading, len(messages) + 1)}


def before_thinking(messages: Sequence[Message], pairing: Pairing) -> set[int]:
    """In a turn that began with thinking and goes on, only before a step that begins with thinking too.

    A provider that thinks wants to see it at the beginning of the turn whose tools are being answered.
    """
    allowed = set(range(len(messages) + 1))
    loop = open_loop(pairing)
    if loop and begins_with_thinking(messages, loop[0]):
        for before, cycle in pairwise(loop):
            if not begins_with_thinking(messages, cycle):
                allowed.difference_update(range(before.stop, cycle.start + 1))
    return allowed


def behind_answers(messages: Sequence[Message], _: Pairing) -> set[int]:
    """Never between a step and the shell's answer under the user's name: alone it would look like the user's words."""
    answers = {
        at
        for at, (step, message) in enumerate(pairwise(messages), 1)
        if message.origin is Origin.TOOL and message.role == "user" and not message.results and not step.calls
        if step.role == "assistant"
    }
    return {*range(len(messages) + 1)} - answers


_ALWAYS: tuple[Rule, ...] = (outside_cycles, with_its_system, behind_answers)
RULES: tuple[Rule, ...] = (*_ALWAYS, before_thinking)


def rules_of(grammar: Grammar) -> tuple[Rule, ...]:
    """The rules that hold for a provider's lists."""
    return RULES if grammar.thinking_opens else _ALWAYS


def legal(messages: Sequence[Message], pairing: Pairing, rules: Sequence[Rule] = RULES) -> set[int]:
    """The positions that every rule allows."""
    allowed = [rule(messages, pairing) for rule in rules] or [set(range(len(messages) + 1))]
    found = set.intersection(*allowed)
    found.add(0)
    return found


def choose(
    positions: set[int],
    sizes: Sequence[int],
    *,
    keep: int = MIN_KEEP,
    tokens: int | None = None,
    at: int | None = None,
) -> int:
    """One legal cut, or 0 when the history is too short.

    At least `keep` messages stay. With `tokens`, the tail that stays is the longest of at most so many tokens, as far
    as `keep` allows; with `at`, the cut is the last legal one at or before that message. `sizes` are the messages'
    tokens.
    """
    ordered = sorted(positions)
    latest = ordered[bisect_right(ordered, max(0, len(sizes) - keep)) - 1]
    if at is not None:
        return ordered[bisect_right(ordered, max(0, min(at, latest))) - 1]
    if tokens is None:
        return latest
    before = list(accumulate(sizes, initial=0))
    first = bisect_left(before, before[-1] - tokens)  # the first position whose tail is small enough
    return min(latest, ordered[min(bisect_left(ordered, first), len(ordered) - 1)])
