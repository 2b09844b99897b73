"""The adapter's side of the wire: a job as JSON on stdin, its outcome as JSON on stdout. Standard library only.

A peer's adapter describes its parts and calls `serve`. A job names one part and one kind of work:

    {"part": "trim_messages", "work": "shrink", "chats": [{"messages": […], "tokens": 900, "share": 0.2}, …]}
        →  [{"messages": […]} or {"raised": "…"}, …]
    {"part": …, "work": "speed", "chat": {…}, "more": [two messages], "small": {…}, "rounds": 3}
        →  {"first": [ms, …], "next": [ms, …], "peak": MB}
    {"part": …, "work": "about"}
        →  {"settings": "…", "scripted": false, "asked": "tokens"}

Messages go over the wire in the form of the OpenAI chat API. Turning them into the peer's own and back is not timed.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUMMARY = """The user asked for the handlers to be cleaned up. Several files were read and some were changed.
The tests were run and one of them failed. Next: go on with what is open."""
"""What every scripted model answers."""
SUMMARY_ROOM = 256
"""Tokens left for a summary where a part is told only what to keep beside it."""

Chat = list[dict[str, Any]]
_LOOP = asyncio.new_event_loop()


@dataclass(frozen=True)
class Ask:
    """The size that is asked for: in tokens, as a share of the conversation, and as that share of its messages."""

    tokens: int
    share: float
    messages: int


@dataclass(frozen=True)
class Part:
    """A part of a peer that makes conversations smaller.

    `begin` gets the size and returns the function that is called at each turn. `carries`: an agent goes on from what
    came back; else it sends the whole history again. `asked`: what the size can be given in, "" where it cannot.
    """

    begin: Callable[[Ask], Callable[[Any], Any]]
    settings: str
    read: Callable[[Chat], Any] = list
    write: Callable[[Any], Chat] = list
    scripted: bool = False
    asked: str = "tokens"
    carries: bool = False


def wait(steps: Coroutine[Any, Any, Any]) -> Any:
    """Runs a peer's coroutine, always in the same loop."""
    return _LOOP.run_until_complete(steps)


def without_system(messages: Chat) -> tuple[Chat, Chat]:
    """The system prompt and the rest, for peers that hold them apart."""
    head = 1 if messages and messages[0]["role"] == "system" else 0
    return messages[:head], messages[head:]


def serve(parts: dict[str, Part]) -> None:
    """Does the job on stdin. What a peer prints goes to stderr."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    asyncio.set_event_loop(_LOOP)
    job = json.load(sys.stdin)
    if "part" not in job:
        json.dump({name: about(part) for name, part in parts.items()}, answer)
    else:
        json.dump({"shrink": shrink, "speed": speed}[job["work"]](parts[job["part"]], job), answer)
    answer.flush()
    os._exit(0)  # some peers leave threads behind that would hold the process up


def about(part: Part) -> dict[str, Any]:
    return {"settings": part.settings, "scripted": part.scripted, "asked": part.asked}


def asking(chat: dict[str, Any]) -> Ask:
    return Ask(chat["tokens"], chat["share"], max(2, round(len(chat["messages"]) * chat["share"])))


def shrink(part: Part, job: dict[str, Any]) -> list[dict[str, Any]]:
    return [one(part, chat) for chat in job["chats"]]


def one(part: Part, chat: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"messages": part.write(part.begin(asking(chat))(part.read(chat["messages"])))}
    except Exception as error:  # whatever it is, it is the outcome
        return {"raised": f"{type(error).__name__}: {error}"[:200]}


def speed(part: Part, job: dict[str, Any]) -> dict[str, Any]:
    """CPU milliseconds of the first call and of the next turn, some rounds, each with objects of its own."""
    one(part, job["small"])  # tokenizers and lazy imports are loaded before the clock runs
    first, after, peak = [], [], 0.0
    for _ in range(job["rounds"]):
        turn, given, more = part.begin(asking(job["chat"])), part.read(job["chat"]["messages"]), part.read(job["more"])
        gc.collect()
        before = forget_peak()
        kept, took = timed(turn, given)
        peak = max(peak, high_water() - before)
        first.append(took)
        after.append(timed(turn, [*(kept if part.carries else given), *more])[1])
        if took > job["enough"]:
            break
    return {"first": first, "next": after, "peak": peak}


def timed(turn: Callable[[Any], Any], given: Any) -> tuple[Any, float]:
    start = time.process_time()
    kept = turn(given)
    return kept, (time.process_time() - start) * 1_000


def forget_peak() -> float:
    """Makes the kernel forget the most memory there was, and says how much there is now, in MB."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def high_water() -> float:
    return status("VmHWM")


def status(key: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{key}:"))
