"""The words a scene is written in: prompts, steps and tool calls, as plain values.

Nothing here happens: `stage` says what a call answers, the acts say who speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ROOT = "/home/mara/code/waybill"


@dataclass(frozen=True)
class Call:
    """A tool call. `answer` is scripted where the tool reaches outside the project; else the stage works it out."""

    tool: str
    input: Mapping[str, Any]
    answer: str | None = None
    failed: bool = False


@dataclass(frozen=True)
class Step:
    """One reply of the model: thinking, words, calls; each may be absent, not all of them."""

    think: str
    say: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Prompt:
    """What the user types; perhaps a screenshot with it, perhaps files dropped into the project meanwhile."""

    text: str
    image: bytes | None = None
    files: Mapping[str, bytes] | None = None
    away: int = 0
    """Minutes the user was gone before writing this."""


Item = Prompt | Step


def user(text: str, image: bytes | None = None, files: Mapping[str, bytes] | None = None, *, away: int = 0) -> Prompt:
    return Prompt(text.strip(), image, files, away)


def step(*calls: Call, think: str = "", say: str = "") -> Step:
    return Step(think.strip(), say.strip(), calls)


def tell(say: str, think: str = "") -> Step:
    """A reply that ends the turn."""
    return Step(think.strip(), say.strip(), ())


def read(path: str, offset: int = 0, limit: int = 0) -> Call:
    window = {"offset": offset, "limit": limit} if limit else {}
    return Call("Read", {"file_path": f"{ROOT}/{path}", **window})


def write(path: str, content: str) -> Call:
    return Call("Write", {"file_path": f"{ROOT}/{path}", "content": content})


def edit(path: str, old: str, new: str, *, everywhere: bool = False) -> Call:
    extra = {"replace_all": True} if everywhere else {}
    return Call("Edit", {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new, **extra})


def sh(command: str, why: str, answer: str | None = None, *, failed: bool = False) -> Call:
    return Call("Bash", {"command": command, "description": why}, answer, failed)


def grep(pattern: str, glob: str = "", *, lines: bool = True) -> Call:
    shown = {"output_mode": "content", "-n": True} if lines else {"output_mode": "files_with_matches"}
    return Call("Grep", {"pattern": pattern, **({"glob": glob} if glob else {}), **shown})


def glob(pattern: str) -> Call:
    return Call("Glob", {"pattern": pattern})


def fetch(url: str, prompt: str, answer: str) -> Call:
    return Call("WebFetch", {"url": url, "prompt": prompt}, answer)


def todo(*entries: str) -> Call:
    """Entries are written `x done`, `> doing`, `- open`."""
    states = {"x": "completed", ">": "in_progress", "-": "pending"}
    todos = [{"content": e[2:], "status": states[e[0]], "activeForm": e[2:]} for e in entries]
    return Call("TodoWrite", {"todos": todos})
