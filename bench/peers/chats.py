"""The conversations that are put through everyone, made up from a seed: long ones, and ones that are hard to cut.

Messages are in the form of the OpenAI chat API, and valid in it. Nothing here is taken from real sessions.
"""

from __future__ import annotations

import json
import random
from typing import Any

Chat = list[dict[str, Any]]
WORDS = ("config", "parser", "store", "index", "cache", "token", "widget", "runner", "handler", "batch", "queue")
VERBS = ("rename", "split", "test", "document", "speed up", "simplify", "check", "move", "review", "repair")
SYSTEM = "You are a careful programmer. Work in small steps, and say what you did."
HARD_SHARES = (0.08, 0.15, 0.25, 0.4, 0.6)
"""What is asked of a hard conversation: these shares of it, in turn."""


class Writer:
    """Writes one conversation. Ids are new for each call unless they are to be used again."""

    def __init__(self, seed: int, *, again: bool = False) -> None:
        self.rng = random.Random(seed)
        self.messages: Chat = []
        self.again = again
        self._calls = 0

    def say(self, role: str, text: str) -> None:
        self.messages.append({"role": role, "content": text})

    def sentence(self) -> str:
        name = self.name()
        line = self.rng.randrange(9999)
        return f"Please {self.rng.choice(VERBS)} {name} in src/{name}.py, and keep line {line} as it is."

    def name(self) -> str:
        return f"{self.rng.choice(WORDS)}_{self.rng.choice(WORDS)}_{self.rng.randrange(99)}"

    def listing(self, lines: int) -> str:
        rows = (f"src/{self.name()}.py:{self.rng.randrange(900)}: {self.rng.choice(WORDS)}" for _ in range(lines))
        return "\n".join(rows)

    def step(self, *sizes: int, text: str | None = None, shuffled: bool = False) -> None:
        """A model step with a call for each size, and results of so many lines."""
        start = 0 if self.again else self._calls
        calls = [self._call(f"call_{start + number}") for number in range(len(sizes))]
        self._calls += len(sizes)
        self.messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": self.listing(size)}
            for call, size in zip(calls, sizes, strict=True)
        ]
        if shuffled:
            self.rng.shuffle(results)
        self.messages += results

    def _call(self, name: str) -> dict[str, Any]:
        arguments = json.dumps({"command": f"grep -rn {self.name()} src"})
        return {"id": name, "type": "function", "function": {"name": "shell", "arguments": arguments}}


def long_chat(messages: int, seed: int = 7) -> Chat:
    """An agent's session of so many messages, about a hundred tokens each; the user speaks every fifty."""
    writer = Writer(seed)
    writer.say("system", SYSTEM)
    while len(writer.messages) < messages - 1:
        writer.say("user", f"{writer.sentence()} Never touch legacy_{seed}.py.")
        for _ in range(24):
            writer.step(12)
    found = writer.messages[: messages - 1]
    if "tool_calls" in found[-1]:
        found[-1] = {"role": "assistant", "content": "That is done."}
    return [*found, {"role": "user", "content": writer.sentence()}]


def more(seed: int = 8) -> Chat:
    """What the next turn brings: a step of two messages."""
    writer = Writer(seed)
    writer._calls = 1_000_000
    writer.step(12)
    return writer.messages


def hard_chat(seed: int) -> Chat:
    """A short conversation with what makes cuts go wrong: steps of several calls, results of every size, answers out
    of order, ids that come again, one user message for the whole of it, or several in a row."""
    writer = Writer(seed, again=seed % 4 == 0)
    rng = writer.rng
    if rng.random() < 0.7:
        writer.say("system", SYSTEM)
    for _ in range(rng.choice((1, 1, 2, 4, 7))):
        for _ in range(rng.choice((1, 1, 1, 2))):
            writer.say("user", writer.sentence())
        for _ in range(rng.randrange(1, 9)):
            sizes = [rng.choice((0, 1, 3, 12, 60, 300)) for _ in range(rng.choice((1, 1, 2, 3, 5)))]
            writer.step(*sizes, text=rng.choice((None, "Let me look.")), shuffled=rng.random() < 0.3)
        if rng.random() < 0.5:
            writer.say("assistant", f"Done with {writer.name()}.")
    if rng.random() < 0.4:
        writer.say("user", writer.sentence())
    elif writer.messages[-1]["role"] == "assistant":
        writer.say("user", "Go on.")
    return writer.messages


def hard_chats(count: int) -> list[tuple[Chat, float]]:
    return [(hard_chat(seed), HARD_SHARES[seed % len(HARD_SHARES)]) for seed in range(count)]
