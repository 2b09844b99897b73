"""How long a fold takes: 10,000 messages, a million tokens, in a session that has been running, a scripted model.

Prints CPU milliseconds of our own, for a turn at rest, the turn that folds, and the one after; and extraction alone.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable

from foldline import Budget, Compactor
from foldline.core.cycles import pair
from foldline.core.deeds import deeds
from foldline.core.extract import extract
from foldline.core.facts import facts_of
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
    """Milliseconds of processor time."""
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1_000


def main() -> None:
    grown = session(5_000)
    request = grown.request()
    messages = request["messages"]
    probe = Compactor(Budget(window=10_000_000, reserve=1_000))
    total = probe.fit(request).receipt.tokens_before
    compactor = Compactor(Budget(window=total, reserve=50), model=FakeCaller())
    rows = [("first sight of 9,990 messages", cpu(lambda: compactor.fit({**request, "messages": messages[:-12]})))]
    rows.append(
        ("a turn at rest, two messages more", cpu(lambda: compactor.fit({**request, "messages": messages[:-10]})))
    )
    longer = {**request, "messages": [*messages, {"role": "user", "content": "And now the rest. " * 40}]}
    folded = {}
    rows.append(("the turn that folds", cpu(lambda: folded.update(receipt=compactor.fit(longer).receipt))))
    last = {**request, "messages": [*longer["messages"], {"role": "assistant", "content": "Yes."}]}
    rows.append(("the turn after it", cpu(lambda: compactor.fit(last))))
    conversation = grown.conversation()
    facts = facts_of(
        conversation.messages, tuple(deeds(conversation.messages, pair(conversation.messages, conversation.grammar)))
    )
    rows.append(
        ("extraction alone", cpu(lambda: extract(conversation.messages, facts, 8_000, lambda text: len(text) // 4)))
    )
    print(f"{len(messages):,} messages, {total:,} tokens; {folded['receipt'].action} by {folded['receipt'].author}")
    for name, milliseconds in rows:
        print(f"{name:36} {milliseconds:8.0f} ms")


if __name__ == "__main__":
    main()
