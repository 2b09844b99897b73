"""Sessions made for these tests: an agent that reads files, edits them, runs tests, and comes back to what it saw."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from foldline.model import Conversation, Message, Origin, Text
from foldline.testing import Session

TOPICS = ("ledger", "parser", "router", "cache", "mailer", "index", "planner", "sampler")


def coding(number: int = 0, steps: int = 30, dialect: str = "anthropic") -> Session:
    """A session of its own for each number. What is edited late was read early."""
    draw = random.Random(number)
    topic = TOPICS[number % len(TOPICS)]
    session = Session(dialect, system="You are a careful agent.")
    session.user(f"Please make {topic}_{number} faster. Never change the public names of it.")
    for step in range(steps):
        name = f"{topic}_{draw.randrange(6)}"
        path = f"src/{topic}/{name}.py"
        body = "\n".join(f"    value_{n} = load_{name}(limit={1000 + 17 * n}, retries={n})" for n in range(20))
        if step % 3 == 0:
            used = ("Read", json.dumps({"file_path": path}), f"def {name}_main():\n{body}")
            session.tools(used, text=f"Let me read {path} to see how {name}_main loads.")
        elif step % 3 == 1:
            line = f"    value_3 = load_{name}(limit=1051, retries=3)"
            edit = {"file_path": path, "old_string": line, "new_string": f"    value_3 = fast_{name}(limit=1051)"}
            session.tools(("Edit", json.dumps(edit), f"{path} was changed"), text=f"Now {name} in {path} gets shorter.")
        else:
            output = f"FAILED test_{name}.py::test_limits - AssertionError: 1051\n" + "collected items\n" * 30
            session.tools(
                ("Bash", json.dumps({"command": f"pytest tests/test_{name}.py"}), output), failed=step % 2 == 0
            )
        if step % 7 == 6:
            session.user(f"Good. Please also look at {topic}_{step % 5} before you go on with it.")
    return session


def write(folder: Path, numbers: range, **how: Any) -> list[Path]:
    """Such sessions as files."""
    paths = []
    for number in numbers:
        path = folder / f"session-{number}.json"
        path.write_text(json.dumps(coding(number, **how).request()))
        paths.append(path)
    return paths


def transcript(steps: int = 40, fold_at: int = 22, summary: str = "The user wants the ledger faster.") -> str:
    """A Claude Code transcript with one compaction inside."""
    rows: list[dict[str, Any]] = []

    def row(kind: str, message: Any = None, **more: Any) -> None:
        at = len(rows)
        known = {"uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None, "sessionId": "s", "isSidechain": False}
        rows.append({"type": kind, **known, **({"message": message} if message else {}), **more})

    for at, message in enumerate(coding(0, steps).request()["messages"]):
        if at == 2 * fold_at + 1:
            row("system", subtype="compact_boundary", content="", compactMetadata={"trigger": "auto", "preTokens": 9})
            row("user", {"role": "user", "content": summary}, isCompactSummary=True)
        if message["role"] == "assistant":
            message = {**message, "id": f"msg_{at}", "model": "claude-test"}
        row(message["role"], message)
    return "".join(json.dumps(each) + "\n" for each in rows)


def says(*texts: str, role: str = "assistant") -> list[Message]:
    """Messages that say this, all of one side."""
    origin = {"assistant": Origin.ASSISTANT, "user": Origin.USER}[role]
    return [Message(role, origin, (Text(text),)) for text in texts]  # type: ignore[arg-type]


def small(*messages: Message) -> Conversation:
    return Conversation("anthropic", messages, grammar=coding().conversation().grammar)
