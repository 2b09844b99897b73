"""The styles of summary: which sections each has, in which order, and by which names a model may call them.

Values only. The requests for them are files in prompts/, the parsing is in summary.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

_NUMBER = re.compile(r"(?:section\s+)?(?:\d{1,2}[.):]?|(?:[ivx]{1,4}|[a-j])[.):])\s+", re.I)


class Heading(NamedTuple):
    """A section: its key, the heading it is asked for and rendered with, other names for it, and its form."""

    key: str
    title: str
    aliases: tuple[str, ...] = ()
    form: Literal["prose", "list", "steps"] = "list"
    under: str = ""
    """The key of the section it stands inside."""


def plain(title: str) -> str:
    """A title as bare words in small letters: without numbers, marks, and anything in brackets."""
    title = _NUMBER.sub("", title.strip().strip("*:#_ "), count=1).strip("*:#_ ")
    title = re.sub(r"\([^)]*\)", "", title.casefold()).replace("&", " and ").replace("_", " ")
    return " ".join(re.sub(r"[^a-z' ]+", " ", title).split())


@dataclass(frozen=True)
class Style:
    """An ordered set of sections. `always` are rendered even when empty; a reply with `least` of the headings is a
    summary."""

    name: str
    headings: tuple[Heading, ...]
    always: frozenset[str] = frozenset()
    least: int = 2

    def heading(self, key: str) -> Heading:
        """The section of that key; "" is the one for all that belongs to none."""
        for heading in (*self.headings, OTHER):
            if heading.key == key:
                return heading
        raise KeyError(f"the style {self.name} has no section {key!r}")

    @cached_property
    def names(self) -> Mapping[str, Heading]:
        """Every name in bare words, and the section it means; where two sections share a name, the first."""
        found: dict[str, Heading] = {}
        for heading in (*self.headings, OTHER):
            for name in (heading.title, *heading.aliases):
                found.setdefault(plain(name), heading)
        return found

    @cached_property
    def words(self) -> tuple[tuple[frozenset[str], Heading], ...]:
        """The words of each title that has more than one, and its section."""
        several = ((frozenset(plain(heading.title).split()) - {"and"}, heading) for heading in self.headings)
        return tuple((words, heading) for words, heading in several if len(words) > 1)


OTHER = Heading("", "Other Notes", (), "prose")
"""What a reply says outside all sections of its style."""
IMMEDIATE = Heading("immediate", "Immediate Task", ("immediate next task", "continue"), "prose")

_FIRST_EIGHT = (
    Heading("request", "Primary Request and Intent", ("primary request", "request", "user request", "intent"), "prose"),
    Heading("concepts", "Key Technical Concepts", ("technical concepts", "concepts")),
    Heading("files", "Files and Code Sections", ("files", "code sections", "files and code")),
    Heading("errors", "Errors and Fixes", ("errors", "errors and solutions", "fixes")),
    Heading("solving", "Problem Solving", ("problems solved", "troubleshooting"), "prose"),
    Heading("messages", "All User Messages", ("user messages", "messages")),
    Heading("pending", "Pending Tasks", ("pending", "open tasks", "todo", "remaining tasks")),
    Heading("current", "Current Work", ("current state", "work in progress"), "prose"),
)
_NEXT = Heading("next", "Optional Next Step", ("next step", "next steps", "suggested next step"), "prose")
_GOING_ON = Heading(
    "next", "Context for Continuing Work", ("context for continuing", "next step", "next steps"), "prose"
)
_WITH_NEXT = (*_FIRST_EIGHT, _NEXT, IMMEDIATE)

FULL = Style("full", _WITH_NEXT)
FROM = Style("from", _WITH_NEXT)
UP_TO = Style("up-to", (*_FIRST_EIGHT, _GOING_ON, IMMEDIATE))

CHECKPOINT = Style(
    "checkpoint",
    (
        Heading("goal", "Goal", ("goals", "objective", "user goal", "task"), "prose"),
        Heading("constraints", "Constraints & Preferences", ("constraints", "preferences", "rules", "requirements")),
        Heading("progress", "Progress", ("status",), "prose"),
        Heading("done", "Done", ("completed", "finished"), under="progress"),
        Heading("active", "In Progress", ("doing", "ongoing", "active", "currently in progress"), under="progress"),
        Heading("blocked", "Blocked", ("blockers", "blocking issues"), under="progress"),
        Heading("decisions", "Key Decisions", ("decisions", "design decisions")),
        Heading("next", "Next Steps", ("next step", "next", "upcoming steps"), "steps"),
        Heading(
            "context",
            "Critical Context",
            ("context", "important context", "key context", "additional context", "work log"),
        ),
        IMMEDIATE,
    ),
)

REPORT = Style(
    "report",
    (
        Heading("intent", "User Intent", ("intent", "goal", "user goal", "user's intent"), "prose"),
        Heading("decisions", "Key Decisions", ("decisions", "important decisions")),
        Heading("changes", "Code Changes", ("changes", "changes made", "files changed")),
        Heading("errors", "Errors and Solutions", ("errors", "errors and fixes", "error messages", "solutions")),
        Heading("debugging", "Debugging Steps", ("debugging", "debugging information", "investigation"), "steps"),
        Heading("warnings", "Warnings and Notes", ("warnings", "notes", "important notes")),
        Heading("state", "Current State", ("state", "status", "current status"), "prose"),
        Heading("next", "Next Steps", ("next step", "next"), "steps"),
        IMMEDIATE,
    ),
    always=frozenset({"intent", "state"}),
)

BRIEF = Style(
    "brief",
    (
        Heading("decisions", "Key Decisions", ("decisions",)),
        Heading(
            "facts", "Facts and Context", ("facts", "context", "important facts", "important context", "key facts")
        ),
        Heading("references", "Files and Code References", ("file paths", "files", "code references", "references")),
        Heading("outcomes", "Tool Outcomes", ("tool results", "outcomes", "results", "tool calls")),
        Heading("commitments", "Commitments and Action Items", ("commitments", "action items", "todo", "next steps")),
        IMMEDIATE,
    ),
    least=1,
)

OFFERED = (CHECKPOINT.name, FULL.name, REPORT.name, BRIEF.name)
"""What can be asked for, the usual one first: the others are what "full" is for a part of a history."""
STYLES: Mapping[str, Style] = {style.name: style for style in (FULL, FROM, UP_TO, CHECKPOINT, REPORT, BRIEF)}
