"""How the agent goes on after a fold: five kinds, voiced or silent, with approval or without.

    kind, silent, what the agent has ── resume ──> the last paragraphs of the checkpoint message

The words are in prompts/resume-*.md. A tool is named only when the agent has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from foldline.core.said.usertext import own_words
from foldline.core.summaries.prompts import fill, prompt
from foldline.model import Message

Kind: TypeAlias = Literal["regular", "mid-loop", "emergency", "post-tool", "manual"]
KINDS: tuple[Kind, ...] = get_args(Kind)


TASK = "the immediate task"
LATEST, SNAPSHOT = "; a snapshot or a log in them shows the latest messages", " and the snapshot"
"""How the prompts name what the notes above them may lack."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """The means the agent has: its search, plan and memory tools, and the names of memory files."""

    search: bool = False
    plan: bool = False
    memory_files: tuple[str, ...] = ()
    standards: tuple[str, ...] = ()
    """Files that hold the coding standards."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a continuation is worded: its kind, whether the agent may remark on it, whether tools need approval."""

    kind: Kind = "regular"
    silent: bool = True
    approval: bool = False
    questions: bool = True
    """The agent may ask the user; else it is told to go on without asking, unless approval is required."""
    waits: bool = False
    """The agent has asked, and nothing came after its question: it is told to wait for an answer."""
    stopped: bool = False
    """The user stopped the agent, and nothing came after that: it is told to wait for the user's words."""

    def at_end_of(self, messages: Sequence[Message]) -> Manner:
        """The manner for a fold that nobody asked for: behind a tool's result the agent is in the middle of its work,
        and else between turns."""
        last = messages[-1] if messages else None
        works = last is not None and last.results and not own_words(last)
        return replace(self, kind="mid-loop" if works else "regular")


def resume(manner: Manner, abilities: Abilities | None = None) -> str:
    """The text that tells the agent how to go on."""
    abilities = abilities or Abilities()
    waiting = _waiting(manner)
    body = prompt(waiting).text if waiting else _body(manner, abilities)
    pieces = [body, *_recovery(abilities)]
    if manner.approval:
        pieces.append(prompt("resume-approval").text)
    elif not manner.questions:
        pieces.append(prompt("resume-no-questions").text)
    return "\n\n".join(pieces)


def naming(text: str, *, task: bool, latest: bool) -> str:
    """The text for notes that have an immediate task and the latest messages, or lack them: it names nothing that is
    not there."""
    text = text if task else text.replace(TASK, "the task")
    return text if latest else text.replace(LATEST, "").replace(SNAPSHOT, "")


def tersely(manner: Manner) -> str:
    """The continuation where there is hardly room for one. It still says that approval is needed."""
    first = _waiting(manner) or "resume-terse"
    return "\n\n".join(prompt(name).text for name in (first, *["resume-approval"][: manner.approval]))


def _waiting(manner: Manner) -> str:
    """The prompt that tells the agent to wait; "" where it is to go on."""
    if not manner.questions:
        return ""
    return "resume-stopped" if manner.stopped else "resume-waiting" if manner.waits else ""


def _body(manner: Manner, abilities: Abilities) -> str:
    name = f"resume-{manner.kind}-{'silent' if manner.silent else 'voiced'}"
    if manner.kind == "manual":
        return prompt(name).text
    memory = _memory(abilities) if manner.kind == "regular" else ""
    if manner.kind == "regular" and not manner.silent:
        return fill(name, steps=_numbered(_search(abilities, "resume-search-regular"), memory))
    unclear = prompt("resume-unclear").text if manner.questions or manner.approval else ""
    return fill(name, search=_search(abilities, "resume-search"), memory=memory, unclear=unclear)


def _numbered(*optional: str) -> str:
    """Numbered steps: reading comes first, going on last, and between them what the agent can do."""
    steps = [prompt("resume-step-read").text, *filter(None, optional), prompt("resume-step-go-on").text]
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def _search(abilities: Abilities, name: str) -> str:
    return prompt(name).text if abilities.search else ""


def _memory(abilities: Abilities) -> str:
    files = ", ".join(abilities.memory_files)
    return fill("resume-memory", files=files) if files else ""


def _recovery(abilities: Abilities) -> list[str]:
    """What brings back the agent's own state, in every kind."""
    found = [prompt("resume-plan").text] if abilities.plan else []
    if abilities.standards:
        found.append(fill("resume-standards", files=", ".join(abilities.standards)))
    return found
