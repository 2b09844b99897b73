"""What Foldline does, in one screen: a coding agent's day of 231 messages is made to fit a window far too small for it.

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
SMALL = 32_000
"""The window it is folded into: a fifth of the session, and half of that is wanted for the reply."""
WIDTH = min(shutil.get_terminal_size().columns, 100)
STUB = re.compile(r"characters left out here; original ([0-9a-f]+)")


def main() -> None:
    request = json.loads(SESSION.read_text("utf-8"))
    roomy = Compactor(Budget.for_model(request["model"]))
    small = Compactor(Budget(window=SMALL))
    pruned, folded = roomy.fit(request), small.fit(request)

    title(f"A working day of a coding agent, and two windows  ·  {SESSION.name}")
    count = len(request["messages"])
    bars(
        ("as it came", folded.receipt.tokens_before, count),
        (f"in {roomy.budget.window:,}", pruned.receipt.tokens_after, len(pruned.messages)),
        (f"in {small.budget.window:,}", folded.receipt.tokens_after, len(folded.messages)),
    )
    say(f"In the model's own window {pruned.receipt.stubbed} old bulky tool results are shortened. "
        f"In the small one, {folded.receipt.folded} messages become one checkpoint.")  # fmt: skip

    title("What the agent still knows: its checkpoint, written without a model")
    story(folded.checkpoint.text)

    title("The receipt")
    print(textwrap.indent(str(folded.receipt), "  "))

    title("Checked just now")
    check("the provider's rules accept both views", not validate(pruned.request) and not validate(folded.request))
    check(f"the view fits: {folded.receipt.tokens_after:,} tokens of {folded.receipt.room:,}",
          folded.receipt.tokens_after <= folded.receipt.room)  # fmt: skip
    ref, original = stub(pruned, roomy)
    check(f"the original of stub {ref} comes back: {len(original):,} characters", original in results(request))
    back = [json.loads(message.raw or b"") for message in small.archive.expand(folded.receipt.checkpoint)]
    check(f"all {len(back)} folded messages come back as they were", back == request["messages"][: len(back)])

    title("Try next")
    name = f"examples/{SESSION.name}"
    print(f"  .venv/bin/foldline inspect {name}\n"
          f"  .venv/bin/foldline compact {name} --to 20000\n"
          f"  .venv/bin/foldline handoff {name}")  # fmt: skip


def story(text: str) -> None:
    """The parts of a checkpoint that matter most, found by their headings."""
    parts = sections(text)
    decided = parts["What the user decided"]
    errors = [line for line in parts["Errors met"] if "not seen to be cured" in line]
    tasks = [line for line in parts["Tasks"] if line.startswith("- [ ]")]
    files = parts["modified-files"]
    tell("goal", parts["Goal"][:1])
    tell("standing rules", ruled(parts), lines=4)
    tell("decided", decided[-4:], lines=1)
    tell("files", [f"{len(files)} changed, the last: {', '.join(files[-2:])}"])
    tell("failing", errors[-1:])
    tell("open tasks", [f"{len(tasks)}, the first: {tasks[0].removeprefix('- [ ] ')}"])
    tell("now", parts["Immediate Task"][:1])


def ruled(parts: dict[str, list[str]]) -> list[str]:
    """What was said in the message that holds the most rules."""
    at = [re.search(r"\[\d+\]$", line) for line in parts["Rules and preferences, in the user's words"]]
    numbers = [found[0] for found in at if found]
    most = max(numbers, key=numbers.count)
    return [line for line in parts["What the user said, in order"] if line.startswith(most)]


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
