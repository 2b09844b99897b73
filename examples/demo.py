"""What Foldline does, on one screen: a coding agent's day is made to fit a window that is far too small for it.

No key and no network: `make demo`. Whatever is shown of the checkpoint is read out of its text, as a model would.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

from foldline import Budget, Compactor, Fitted, validate

SESSION = Path(__file__).with_name("coding-session.anthropic.json")
SMALL = 64_000
"""The window it is folded into: less than half of the session."""
LAST_STEP = 2
"""Messages that stay: what the agent did last, and what came of it."""
WIDTH = min(shutil.get_terminal_size().columns, 100)
RULE = re.compile(r"[^.?!]*\brules?\b.*")
"""The sentence in which the user speaks of rules, and what follows it."""
STUB = re.compile(r"characters left out here; original ([0-9a-f]+)")


def main() -> None:
    request = json.loads(SESSION.read_text("utf-8"))
    roomy = Compactor(Budget.for_model(request["model"]))
    small = Compactor(Budget(window=SMALL))
    count = len(request["messages"])
    pruned = roomy.fit(request)
    folded = small.compact(request, pivot=count - LAST_STEP)

    title(f"A coding agent's working day, in two windows  ·  {SESSION.name}")
    bars(
        ("as it came", folded.receipt.tokens_before, count),
        (f"in {roomy.budget.window:,}", pruned.receipt.tokens_after, len(pruned.messages)),
        (f"in {small.budget.window:,}", folded.receipt.tokens_after, len(folded.messages)),
    )
    say(
        f"In the model's own window, {pruned.receipt.stubbed} old bulky tool results are shortened. "
        f"In the small one, {folded.receipt.folded} messages become one checkpoint; the last step stays as it is."
    )

    title("What the agent still knows: its checkpoint, written without a model")
    story(folded.checkpoint.text)

    title("The receipt")
    print(textwrap.indent(str(folded.receipt), "  "))

    title("Checked just now")
    check("the provider's rules accept both views", not validate(pruned.request) and not validate(folded.request))
    fits = folded.receipt.tokens_after <= folded.receipt.room
    check(f"the view fits: {folded.receipt.tokens_after:,} tokens, with room for {folded.receipt.room:,}", fits)
    ref, original = stub(pruned, roomy)
    check(f"the original of stub {ref} comes back: {len(original):,} characters", original in results(request))
    back = [json.loads(message.raw or b"") for message in small.archive.expand(folded.receipt.checkpoint)]
    check(f"all {len(back)} folded messages come back as they were", back == request["messages"][: len(back)])

    title("Try next")
    name = f"examples/{SESSION.name}"
    for command in (f"inspect {name}", f"compact {name} --to 20000", f"handoff {name}"):
        print(f"  .venv/bin/foldline {command}")


def story(text: str) -> None:
    """The parts of a checkpoint that matter most, found by their headings."""
    parts = sections(text)
    said = [*parts["Rules and preferences, in the user's words"], *parts["What else the user said, in order"]]
    errors = [line for line in parts["Errors met"] if "not seen to be cured" in line]
    tasks = [line.removeprefix("- [ ] ") for line in parts["Tasks"] if line.startswith("- [ ]")]
    tell("goal", parts["Goal"][:1])
    tell("house rules", [found[0].strip() for line in said if (found := RULE.search(line))], lines=5)
    tell("decided", parts["What the user decided"], lines=4)
    tell("files", [", ".join(last(parts["modified-files"], 3))])
    tell("failing", errors[-1:])
    tell("to do", [f"{len(tasks)} open: {'; '.join(tasks)}"])
    tell("now", parts["Immediate Task"][:1])


def last(paths: list[str], number: int) -> list[str]:
    """The last of some paths, without the line that names the folder they all lie in."""
    return [path for path in paths if not path.startswith("in /")][-number:]


def sections(text: str) -> dict[str, list[str]]:
    """The lines under each heading, and inside each pair of tags."""
    found: dict[str, list[str]] = {}
    now = ""
    for line in text.splitlines():
        heading = re.fullmatch(r"#+ (.+)|<([\w-]+)>", line)
        if heading:
            now = heading[1] or heading[2]
        elif line.strip() and not line.startswith("</"):
            found.setdefault(now, []).append(line)
    return found


def stub(fitted: Fitted, compactor: Compactor) -> tuple[str, str]:
    """The first stub of a view, and what the archive gives for it."""
    ref = next(found[1] for text in results(fitted.request) if (found := STUB.search(text)))
    return ref, (compactor.archive.original(ref) or b"").decode()


def results(request: dict[str, Any]) -> list[str]:
    """The text of every tool result."""
    lists = (message["content"] for message in request["messages"] if isinstance(message["content"], list))
    return [block["content"] for blocks in lists for block in blocks if block["type"] == "tool_result"]


def title(text: str) -> None:
    plain = not sys.stdout.isatty()
    print(f"\n{text}" if plain else f"\n\033[1m{text}\033[0m")


def say(text: str) -> None:
    print(textwrap.fill(text, WIDTH - 2, initial_indent="  ", subsequent_indent="  "))


def bars(*rows: tuple[str, int, int]) -> None:
    room, most = WIDTH - 50, max(tokens for _, tokens, _ in rows)
    for name, tokens, messages in rows:
        bar = "█" * max(1, round(tokens / most * room))
        print(f"  {name:<11} {bar:<{room}} {tokens:>8,} tokens  {messages:>4,} messages")


def tell(name: str, told: list[str], *, lines: int = 2) -> None:
    """A name, and beside it the beginning of each line that is told."""
    for line in told:
        shown = textwrap.wrap(line.removeprefix("- "), WIDTH - 19, max_lines=lines, placeholder=" …")
        for piece in shown:
            print(f"  {name:<15} {piece}")
            name = ""


def check(text: str, right: bool) -> None:
    print(f"  {'✓' if right else '✗'} {text}")
    if not right:
        sys.exit(f"the demo failed: {text}")


if __name__ == "__main__":
    main()
