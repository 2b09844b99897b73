"""How long the ground floor takes on a long history: counting again, cutting, pruning, mending, selecting.

    python bench/ground.py

Two histories, one ten times the other (10,000 messages are about a million tokens), with new content in each round, so
that nothing is answered from the round before. Prints the times, what was promised, and the ratio of the two: about 10
is linear. Ends with 1 when a promised time or ratio is missed. Times are the processor's, the best of a few rounds, so
that other programs count as little as may be.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Sequence

from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.history.cuts import choose, legal
from foldline.core.history.cycles import Pairer
from foldline.core.history.repair import repair
from foldline.core.prune import PruneSettings, prune
from foldline.core.select import Strategy, select
from foldline.dialects.anthropic import GRAMMAR
from foldline.model import Conversation, Message, Origin, Text, ToolCall, ToolResult

SMALL, LARGE = 1_000, 10_000
ROUNDS = 5
LINEAR = 20.0
"""The most that ten times the messages may cost: ten, and as much again for memory beyond the cache and noise. What is
quadratic costs a hundred."""

WORDS = ("the", "test", "in", "module", "fails", "because", "value", "is", "none", "at", "line", "while", "reading")
WORDS_A_RESULT = 185
"""Makes a million tokens of 10,000 messages, of which every second carries a result."""


def history(length: int, seed: int) -> tuple[Message, ...]:
    """An agent at work: a user's request now and then, steps with one call, results of all sizes."""
    chance = random.Random(seed)
    messages: list[Message] = [Message("user", Origin.USER, (Text(f"request {seed}"),))]
    while len(messages) < length:
        at = len(messages)
        if at % 40 == 39:
            messages.append(Message("assistant", Origin.ASSISTANT, (Text(f"done {at}"),)))
            messages.append(Message("user", Origin.USER, (Text(f"next {at}"),)))
        messages += cycle(f"call_{at}", words(chance, int(chance.expovariate(1 / WORDS_A_RESULT))))
    return tuple(messages[:length])


def cycle(name: str, text: str) -> tuple[Message, Message]:
    call = ToolCall(name, "read_file", f'{{"path": "src/{name}.py"}}')
    step = Message("assistant", Origin.ASSISTANT, (Text("let me look"), call))
    return step, Message("user", Origin.TOOL, (ToolResult(name, (Text(text),)),))


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def count_again(messages: tuple[Message, ...]) -> Callable[[], object]:
    """One message more, on a meter that knows the rest."""
    meter = Meter(Estimator())
    meter.count(Conversation("anthropic", messages, grammar=GRAMMAR))
    grown = Conversation("anthropic", (*messages, Message("user", Origin.USER, (Text("one more"),))), grammar=GRAMMAR)
    return lambda: meter.count(grown)


def cut(messages: tuple[Message, ...]) -> Callable[[], object]:
    """One message more, on a pairer that knows the rest; the sizes are the meter's and at hand."""
    pairer, sizes = Pairer(GRAMMAR), [100] * (len(messages) + 1)
    pairer.pair(messages)
    grown = (*messages, Message("user", Origin.USER, (Text("one more"),)))
    return lambda: choose(legal(grown, pairer.pair(grown)), sizes, tokens=20_000)


def pruning(messages: tuple[Message, ...]) -> Callable[[], object]:
    """The first time, on messages that were paired already, as they are in a turn. So below."""
    Pairer(GRAMMAR).pair(messages)
    return lambda: prune(messages, PruneSettings())


def pruning_again(messages: tuple[Message, ...]) -> Callable[[], object]:
    plan = prune(messages, PruneSettings()).plan
    return lambda: prune(messages, PruneSettings(), plan)


def mending(messages: tuple[Message, ...]) -> Callable[[], object]:
    pairing = Pairer(GRAMMAR).pair(messages)
    return lambda: repair(messages, GRAMMAR, pairing)


def selecting(messages: tuple[Message, ...]) -> Callable[[], object]:
    pairing = Pairer(GRAMMAR).pair(messages)
    return lambda: select(messages, Strategy(), GRAMMAR, lambda _: 100, pairing)


PROMISED: Sequence[tuple[str, Callable[[tuple[Message, ...]], Callable[[], object]], float | None]] = (
    ("count again after one message", count_again, 1.0),
    ("choose a cut", cut, 5.0),
    ("prune", pruning, 50.0),
    ("prune by the same plan", pruning_again, 50.0),
    ("mend", mending, None),
    ("select", selecting, None),
)
"""What is measured, how it is prepared, and the milliseconds promised for the large history."""


def measure(prepare: Callable[[tuple[Message, ...]], Callable[[], object]], length: int) -> float:
    """Milliseconds: the best of a few rounds, each with a history of its own."""
    best = float("inf")
    for seed in range(ROUNDS):
        run = prepare(history(length, seed))
        gc.collect()
        gc.disable()  # as timeit does: a collection would count the objects of this script too
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
        gc.enable()
    return best * 1_000


def main() -> int:
    large = history(LARGE, 0)
    tokens = Meter(Estimator()).count(Conversation("anthropic", large, grammar=GRAMMAR)).tokens
    print(f"{len(large):,} messages, about {tokens:,} tokens; and a tenth of that")
    print(f"{'':32}{'1/10':>10}{'whole':>10}{'promised':>10}{'ratio':>8}")
    missed = 0
    for name, prepare, promised in PROMISED:
        small, whole = measure(prepare, SMALL), measure(prepare, LARGE)
        ratio = whole / small
        late = promised is not None and whole > promised
        steep = ratio > LINEAR and whole > 1  # below a millisecond the clock says more than the code
        missed += late or steep
        shown = f"{promised:.0f} ms" if promised else "-"
        print(f"{name:32}{small:7.2f} ms{whole:7.2f} ms{shown:>10}{ratio:8.1f}{'  MISSED' if late or steep else ''}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
