"""How long a fold takes: 10,000 messages, a million tokens, in a session that has been running, a scripted model.

    python bench/fold.py [runs]

Prints CPU milliseconds of our own, for a turn at rest, the turn that folds, and the one after; and extraction alone.
Several runs tell the least and the median: on a busy machine the least is nearest to the work itself.
"""

from __future__ import annotations

import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from foldline import Budget, Compactor
from foldline.core.history.cycles import pair
from foldline.core.lifting import facts_of
from foldline.core.log.extract import extract
from foldline.core.receipt import Receipt
from foldline.core.work.deeds import deeds
from foldline.model import Conversation
from foldline.testing import FakeCaller, Session

WORDS = ("config", "parser", "store", "index", "cache", "token", "widget", "runner", "handler", "batch", "queue")


def session(turns: int) -> Session:
    """An agent's session of so many turns, two messages each, of about 200 tokens a turn."""
    rng = random.Random(7)
    grown = Session(model="claude-sonnet-4-5").user("Clean up the handlers. Never touch legacy.py.")
    for turn in range(turns):
        listing = "\n".join(
            f"src/{rng.choice(WORDS)}_{rng.randrange(99)}.py:{rng.randrange(900)}: {rng.choice(WORDS)}"
            for _ in range(12)
        )
        grown.tools(("Bash", json.dumps({"command": f"grep -rn {rng.choice(WORDS)}_{turn} src"}), listing))
    return grown


def cpu(work: Callable[[], object]) -> float:
    """Milliseconds of processor time. Garbage of what was done before is collected before, and not counted here."""
    gc.collect()
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1_000


def turns(request: dict[str, Any], total: int) -> tuple[dict[str, float], Receipt]:
    """What each turn of a session costs that is new to its compactor, and the receipt of the one that folds."""
    messages = request["messages"]
    compactor = Compactor(Budget(window=total, reserve=50), model=FakeCaller())
    folded = []
    longer = [*messages, {"role": "user", "content": "And now the rest. " * 40}]
    after = [*longer, {"role": "assistant", "content": "Yes."}]

    def fit(some: list[dict[str, Any]]) -> Callable[[], None]:
        return lambda: folded.append(compactor.fit({**request, "messages": some}).receipt)

    took = {
        "first sight of 9,990 messages": cpu(fit(messages[:-12])),
        "a turn at rest, two messages more": cpu(fit(messages[:-10])),
        "the turn that folds": cpu(fit(longer)),
        "the turn after it": cpu(fit(after)),
    }
    return took, folded[2]


def extraction(conversation: Conversation) -> float:
    messages = conversation.messages
    facts = facts_of(messages, tuple(deeds(messages, pair(messages, conversation.grammar))))
    return cpu(lambda: extract(messages, facts, 8_000, lambda text: len(text) // 4))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    grown = session(5_000)
    request = grown.request()
    total = Compactor(Budget(window=10_000_000, reserve=1_000)).fit(request).receipt.tokens_before
    found: dict[str, list[float]] = {}
    for _ in range(runs):
        took, receipt = turns(request, total)
        for name, milliseconds in {**took, "extraction alone": extraction(grown.conversation())}.items():
            found.setdefault(name, []).append(milliseconds)
    print(f"{len(request['messages']):,} messages, {total:,} tokens; {receipt.action} by {receipt.author}")
    for name, all_runs in found.items():
        median = f", median {statistics.median(all_runs):6.0f}" if runs > 1 else ""
        print(f"{name:36} {min(all_runs):8.0f} ms{median}")


if __name__ == "__main__":
    main()
