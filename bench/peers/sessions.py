"""Made-up sessions of an agent at work, for what a compaction keeps: files are read, searched, changed and tested, and
what was read early is written again later. In the form of the OpenAI chat API; nothing is taken from real sessions.
"""

from __future__ import annotations

import json
import random
from typing import Any

Chat = list[dict[str, Any]]
SYLLABLES = ("ba", "ver", "lo", "tin", "quor", "mes", "ra", "dul", "fen", "kis", "po", "gar", "wyn", "zel", "hu", "cro")
"""Each session has words of its own, made of these: nobody knows them beforehand."""
DOINGS = ("load", "store", "merge", "check", "render", "count", "split", "round", "match", "close", "open", "sort")
WISHES = (
    "Rename {a} to {b} everywhere, but leave the command line as it is.",
    "The report for {a} is wrong when {b} is empty, please find out why.",
    "Add a test for {a}; use the fixtures in tests/{f}_fixtures.py.",
    "Do not change the signature of {a}, other teams call it.",
    "When {a} fails we want the error to name {b} and the line.",
    "Keep {f}.py below three hundred lines, and do not touch vendor code.",
)
NEAR = 0.5
"""Of the edits, those to a file read lately; the others go to any file read before."""
ERRORS = ("KeyError", "ValueError", "TimeoutError", "IndexError", "AttributeError")


class Worker:
    """One session. The agent has a few files in mind at a time, and comes back to earlier ones."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"session {seed}")
        self.stems = ["".join(self.rng.sample(SYLLABLES, self.rng.choice((2, 3)))) for _ in range(80)]
        self.files = {self.path(): self.code() for _ in range(24)}
        self.messages: Chat = [{"role": "system", "content": "You are a programmer at work in a repository."}]
        self.at_hand: list[str] = []
        self.seen: list[str] = []
        self._calls = 0

    def stem(self) -> str:
        return self.rng.choice(self.stems)

    def function(self) -> str:
        return f"{self.rng.choice(DOINGS)}_{self.stem()}_{self.stem()}"

    def path(self) -> str:
        return f"src/{self.stem()}/{self.stem()}_{self.rng.randrange(40)}.py"

    def code(self) -> list[str]:
        lines = [f"from {self.stem()}.{self.stem()} import {self.function()}"]
        for _ in range(self.rng.randrange(6, 14)):
            name, other = self.function(), self.stem()
            lines += [
                f"def {name}({other}, limit={self.rng.randrange(1000, 9999)}):",
                f"    found = {self.function()}({other}, strict={self.rng.choice((True, False))})",
                f"    if found.{self.stem()} > limit:",
                f'        raise {self.rng.choice(ERRORS)}("{other} {self.stem()} above {self.rng.randrange(9999)}")',
                f"    return {self.function()}(found)",
            ]
        return lines

    def user(self) -> None:
        wish = self.rng.choice(WISHES).format(a=self.function(), b=self.function(), f=self.stem())
        self.messages.append({"role": "user", "content": wish})

    def tool(self, name: str, result: str, text: str | None = None, **arguments: str) -> None:
        self._calls += 1
        call = {"id": f"call_{self._calls}", "type": "function"}
        call["function"] = {"name": name, "arguments": json.dumps(arguments)}  # type: ignore[assignment]
        self.messages.append({"role": "assistant", "content": text, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    def read(self) -> None:
        path = self.rng.choice(sorted(self.files))
        self.at_hand = [*self.at_hand[-5:], path]
        self.seen.append(path)
        self.tool("read", "\n".join(self.files[path]), f"I look at {path} first.", path=path)

    def search(self) -> None:
        word = self.stem()
        hits = [
            f"{path}:{n}: {line}" for path, lines in self.files.items() for n, line in enumerate(lines) if word in line
        ]
        self.tool("shell", "\n".join(hits[:60]), command=f"grep -rn {word} src")

    def edit(self) -> None:
        near, far = self.at_hand or sorted(self.files), self.seen or sorted(self.files)
        path = self.rng.choice(near if self.rng.random() < NEAR else far)
        lines = self.files[path]
        at = self.rng.randrange(1, len(lines) - 6)
        old = "\n".join(lines[at : at + 6])
        lines[at + 1] = f"    {self.stem()} = {self.function()}({self.stem()})"
        new = "\n".join(lines[at : at + 6])
        self.tool("edit", f"{path} was changed.", f"In {path} the second line is wrong.", path=path, old=old, new=new)

    def test(self) -> None:
        path = self.rng.choice(self.at_hand or sorted(self.files))
        dots = "\n".join(f"tests/test_{self.stem()}_{n}.py {'.' * self.rng.randrange(5, 40)}" for n in range(30))
        failed = f"E   {self.rng.choice(ERRORS)}: {self.stem()} {self.rng.randrange(1000, 9999)} in {path}"
        self.tool("shell", f"{dots}\n{failed}\n1 failed", command=f"pytest -q {path.replace('src', 'tests')}")

    def note(self) -> None:
        path = self.at_hand[0] if self.at_hand else "the plan"
        self.messages.append({"role": "assistant", "content": f"Back to {path}: {self.function()} is still open."})
        self.user()


def session(seed: int, steps: int = 160) -> Chat:
    """A session that begins with the user and ends with the agent."""
    worker = Worker(seed)
    worker.user()
    doings = (worker.read, worker.search, worker.edit, worker.edit, worker.test, worker.note)
    for _ in range(steps):
        worker.rng.choices(doings, (5, 2, 4, 3, 3, 2))[0]()
    return worker.messages
