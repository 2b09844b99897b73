"""What tools there are: their names, what they are for, what they take. What they do is elsewhere.

The schemas are plain JSON Schema, without references and alternatives: every provider takes that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from foldline.agenda.asked import DETAILS, REMARK, TASKS, TITLE
from foldline.agenda.rules import OPERATIONS
from foldline.agenda.state import STATUSES

QUERY = 2_000
"""Characters of a query: a pasted error message, not a file."""
NAME = 1_024
"""Characters of the name of a file, a session, a tool or a section."""
HITS = 50
"""Hits of one search at most: more would fill a page, and nobody reads them."""
PAGES = 1_000_000
"""The highest page that can be asked for: far behind the end of anything."""
FOCUS = 2_000
"""Characters of what a fold is to attend to."""
PLACE = 1 << 30
"""The highest place in a file that can be asked for."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. The marks are hints for clients: what it may do to the world, and whether it needs a live session."""

    name: str
    title: str
    description: str
    schema: Schema
    read_only: bool = True
    idempotent: bool = True
    destructive: bool = False
    live: bool = False


def _takes(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _text(limit: int, description: str, **more: Any) -> Schema:
    return {"type": "string", "maxLength": limit, "description": description, **more}


def _number(lowest: int, highest: int, description: str) -> Schema:
    return {"type": "integer", "minimum": lowest, "maximum": highest, "description": description}


_WHEN = "A date or a time, as 2026-03-01 or 2026-03-01T14:30; UTC unless it says otherwise."
_REF = "A reference of 16 hexadecimal digits, as searches, stubs, checkpoints and context_status show them."
_TASK = {
    "type": "object",
    "properties": {"title": _text(TITLE, "One line."), "details": _text(DETAILS, "What it takes to do it.")},
    "required": ["title"],
    "additionalProperties": False,
}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "session_search",
        "Search the session",
        "Finds messages in the stored history, those included that were folded away: by words, identifiers, paths, "
        'error texts or "quoted phrases". Without a query, the newest messages. Each hit has a reference; '
        "session_read shows the whole of it. Secrets in the snippets are masked.",
        _takes(
            query=_text(QUERY, "What to look for. All of its words are sought first, then any."),
            session=_text(NAME, "Only in the session of this name."),
            role=_text(NAME, "Only what this one said.", enum=["user", "assistant", "tool", "system"]),
            tool=_text(NAME, "Only calls and results of the tool of this name."),
            file=_text(NAME, "Only what touched this file: a path, or the end of one."),
            after=_text(NAME, f"Not before this. {_WHEN}"),
            before=_text(NAME, f"Only before this. {_WHEN}"),
            limit=_number(1, HITS, "How many hits to show; 10 unless said."),
        ),
    ),
    Tool(
        "session_read",
        "Read the original",
        "Shows what a reference stands for, as it was: a message, the whole of a shortened tool result, all messages "
        "behind a checkpoint, or the list of a session's messages. Long ones come in pages.",
        _takes(("ref",), ref=_text(NAME, _REF), page=_number(1, PAGES, "Which page; 1 unless said.")),
    ),
    Tool(
        "plan",
        "Keep a plan",
        "Your plan and its tasks, kept outside the conversation so that nothing can fold them away. "
        '"start" shows where the work stands (after any summary, call it first); "create" makes a plan of a title and '
        'tasks; "add" adds tasks; "update" changes a task; "complete" needs evidence; "block" needs a reason; "note" '
        'remembers a text; "list" shows plans, tasks or one task; "archive" puts a plan away.',
        _takes(
            ("operation",),
            operation=_text(NAME, "What to do.", enum=list(OPERATIONS)),
            plan=_number(1, PAGES, "The plan's number; the active plan unless said."),
            task=_number(1, TASKS, "The task's number."),
            title=_text(TITLE, "The title of a new plan, or a task's new title."),
            tasks={"type": "array", "minItems": 1, "maxItems": TASKS, "items": _TASK, "description": "New tasks."},
            details=_text(DETAILS, "A task's new details."),
            status=_text(
                NAME,
                "A task's new status; complete and block set the others.",
                enum=[s for s in STATUSES if s not in ("done", "blocked")],
            ),
            evidence=_text(REMARK, "What shows that the task is done: a test run, a file, a commit."),
            reason=_text(REMARK, "What a blocked task waits for."),
            text=_text(REMARK, "The note, for a task or for the plan."),
        ),
        read_only=False,
    ),
    Tool(
        "memory_list",
        "List project memory",
        "The project's memory files (such as CLAUDE.md and AGENTS.md), with their sizes and sections.",
        _takes(),
    ),
    Tool(
        "memory_read",
        "Read project memory",
        "One memory file of the project, or a section of it, as it is on the disk now. Load only what the task needs.",
        _takes(
            ("name",),
            name=_text(NAME, "The file, as memory_list names it."),
            section=_text(NAME, "The title of a section, or a part of it that only one title has."),
            start=_number(0, PLACE, "The character to begin at, to go on with a long file; 0 unless said."),
        ),
    ),
    Tool(
        "context_status",
        "See how full the window is",
        "How much of the context window is used and what would be folded next, where the program can tell; else the "
        "stored sessions, the newest first, with their names for session_search and session_read.",
        _takes(),
    ),
    Tool(
        "compact_now",
        "Fold the history now",
        "Folds the older part of this conversation into notes before it has to be done. Nothing is lost: "
        "session_search and session_read still find everything. Use it between tasks, not in the middle of one.",
        _takes(focus=_text(FOCUS, "What the notes should attend to most.")),
        read_only=False,
        idempotent=False,
        live=True,
    ),
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


def for_anthropic(tools: Iterable[Tool] = TOOLS) -> list[dict[str, Any]]:
    """As `tools` of a request to Anthropic's messages."""
    return [{"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)} for tool in tools]


def for_openai(tools: Iterable[Tool] = TOOLS) -> list[dict[str, Any]]:
    """As `tools` of a request to OpenAI's chat completions."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in tools
    ]
