"""Builds requests to a summariser from the prompt files. The words are in foldline/prompts/*.md, never here.

Each file begins with its version; what a checkpoint was made with is recorded as "name/version".
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from string import Template
from typing import NamedTuple

from foldline.core.asking import Ask

REPLY_TOKENS = 4_096
"""What a summary may use unless told otherwise."""


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
    """The prompt with its places filled in; lines that become empty are left out."""
    text = Template(prompt(name).text).substitute(values)
    lines = text.split("\n") if values else []
    return "\n".join(_without_doubles(lines)) if values else text


def _without_doubles(lines: list[str]) -> list[str]:
    """No two empty lines in a row, where a place was filled with nothing."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return kept


def summary_request(
    name: str,
    record: str,
    *,
    focus: str = "",
    instructions: str = "",
    max_tokens: int = REPLY_TOKENS,
) -> Ask:
    """The request for a summary: what is wanted, how to think, the record, and the reminder last of all."""
    pieces = [prompt("frame").text, prompt(name).text]
    if focus.strip():
        pieces.append(fill("focus", focus=focus.strip()))
    if instructions.strip():
        pieces.append(fill("project", instructions=instructions.strip()))
    pieces += [prompt("analysis").text, record, prompt("reminder").text]
    return Ask(prompt("system").text, "\n\n".join(pieces), max_tokens)


def merge_request(name: str, parts: list[str], record: str, *, max_tokens: int = REPLY_TOKENS) -> Ask:
    """The request that makes one summary of several, each of one part of the record."""
    pieces = [
        prompt("frame").text,
        fill("merge", count=str(len(parts))),
        prompt(name).text,
        record,
        prompt("reminder").text,
    ]
    return Ask(prompt("system").text, "\n\n".join(pieces), max_tokens)


def repair_request(ask: Ask, fault: str) -> Ask:
    """The same request again, with what was wrong with the first answer."""
    return Ask(ask.system, f"{fill('repair', fault=fault)}\n\n{ask.prompt}", ask.max_tokens, ask.who)


def version_of(name: str) -> str:
    return prompt(name).version
