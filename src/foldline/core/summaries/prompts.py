"""Builds requests to a summariser from the prompt files. The words are in foldline/prompts/*.md, never here.

Each file begins with its version; what a checkpoint was made with is recorded as "name/version". They are read from
the package, each once: nothing else in the core reads anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from string import Template
from typing import NamedTuple

from foldline.core.asking import Ask

REPLY_TOKENS = 4_096
"""The tokens of a summary where nothing else is asked for."""


class Prompt(NamedTuple):
    """A prompt file: its text and its name with version."""

    text: str
    version: str


@cache
def prompt(name: str) -> Prompt:
    """The prompt of that name."""
    raw = resources.files("foldline").joinpath("prompts", f"{name}.md").read_text("utf-8")
    first, text = raw.split("\n", 1)
    return Prompt(text.strip(), f"{name}/{first.removeprefix('version:').strip()}")


def fill(name: str, **values: str) -> str:
    """The prompt with its places filled in. A line that is empty once filled in is left out."""
    lines = prompt(name).text.split("\n")
    filled = [Template(line).substitute(values) for line in lines]
    return "\n".join(text for line, text in zip(lines, filled, strict=True) if text.strip() or not line.strip())


def quoted(text: str) -> str:
    """Someone's words as a quotation: whatever they are, none of their lines can pass for ours."""
    return "\n".join(f"> {line}" for line in text.strip().splitlines())


def summary_request(
    name: str,
    record: str,
    *,
    focus: str = "",
    instructions: str = "",
    max_tokens: int = REPLY_TOKENS,
    previous: bool = False,
) -> Ask:
    """The request for a summary: what is wanted, how to think, the record, and the reminder last of all. `previous`
    says that the record opens with an earlier summary, which the request of an update says by itself."""
    earlier = [prompt("previous").text] if previous and name != "update" else []
    pieces = [prompt(name).text, *earlier, *_wishes(focus, instructions), prompt("analysis").text, record]
    return _ask(pieces, max_tokens)


def merge_request(
    name: str,
    parts: Sequence[str],
    record: str,
    *,
    focus: str = "",
    instructions: str = "",
    max_tokens: int = REPLY_TOKENS,
) -> Ask:
    """The request that makes one summary of several, each of one part of the record."""
    pieces = [fill("merge", count=str(len(parts))), prompt(name).text, *_wishes(focus, instructions), record]
    return _ask(pieces, max_tokens)


def _wishes(focus: str, instructions: str) -> list[str]:
    """What the user and the project want of the notes, quoted; blank wishes do not count."""
    found = [fill("focus", focus=quoted(focus))] if focus.strip() else []
    return [*found, fill("project", instructions=quoted(instructions))] if instructions.strip() else found


def _ask(pieces: Sequence[str], max_tokens: int) -> Ask:
    """The request. It begins and ends by asking for text only, with no tools."""
    text = "\n\n".join((prompt("frame").text, *pieces, prompt("reminder").text))
    return Ask(prompt("system").text, text, max_tokens)


def repair_request(ask: Ask, fault: str) -> Ask:
    """The same request again, with what was wrong with the first answer."""
    frame = prompt("frame").text
    wanted = ask.prompt.removeprefix(frame).lstrip("\n")
    return replace(ask, prompt=f"{frame}\n\n{fill('repair', fault=' '.join(fault.split()))}\n\n{wanted}")


def version_of(name: str) -> str:
    """The version of a request: that of its own prompt, which stands for the shared frame as well."""
    return prompt(name).version
