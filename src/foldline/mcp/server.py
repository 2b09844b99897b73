"""The tools as an MCP server: their schemas as they stand in the table, their answers as text.

The low-level server is used because the schemas are written already; the one above it would guess them from functions.
Where nothing is found for a project, the answer says what lies outside it, and how that can be reached.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from foldline import __version__, tools
from foldline.errors import ArchiveError
from foldline.tools import Desk
from foldline.tools.shown import one_line

INSTRUCTIONS = (
    "What was said in earlier parts of the conversation is kept whole. Where notes or a summary lack a detail, find it "
    "with session_search and read it with session_read before asking or guessing. Keep your tasks in plan."
)

_FINDING = ("session_search", "context_status")
"""Tools that find sessions."""
_NOTHING = "Nothing "
"""How they begin where they find none; what others wrote stands further below."""
_OUTSIDE, _SCOPES = 100, 5
"""Sessions outside the project that are counted, and scopes of them that are named."""


def build(desk: Desk) -> Server[Any]:
    """A server of one desk's tools. A call runs in a thread: others are served while an archive is read."""

    async def listed(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in desk.tools])

    async def called(_: Any, asked: CallToolRequestParams) -> CallToolResult:
        answer = await anyio.to_thread.run_sync(answered, desk, asked.name, asked.arguments)
        return CallToolResult(content=[TextContent(type="text", text=answer.text)], is_error=not answer.ok)

    schemas = {tool.name: tool.schema for tool in desk.tools}
    return Server(
        "foldline",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
        get_tool_input_schema=schemas.get,
    )


def answered(desk: Desk, name: str, arguments: Any) -> tools.Answer:
    """What comes of a call."""
    answer = tools.answer(name, arguments, desk)
    if name not in _FINDING or not answer.ok or desk.reach != "project":
        return answer
    try:
        inside = not answer.text.startswith(_NOTHING) and desk.archive.sessions(**desk.filters, limit=1)
        outside = "" if inside else _outside(desk)
    except ArchiveError:  # what was found is told all the same
        return answer
    return replace(answer, text=f"{answer.text}\n{outside}") if outside else answer


def _outside(desk: Desk) -> str:
    """What is stored and not of this project: how much, never what it says."""
    homeless = desk.archive.sessions(project="", limit=_OUTSIDE)
    others = [session for session in desk.archive.sessions(limit=_OUTSIDE) if not desk.reaches(session)]
    if not others:
        return ""
    many = f"{len(others)}{' or more' * (len(others) == _OUTSIDE)} session{'s' * (len(others) > 1)}"
    scopes = dict.fromkeys(session.scope for session in homeless if session.scope)
    named = ", ".join(f"--scope {shlex.quote(one_line(scope, 40))}" for scope in list(scopes)[:_SCOPES])
    ways = f"{named} (sessions without a project), or --all" if named else "--all"
    return f"Outside this project, {many} can be found by a server that the user starts with foldline mcp {ways}."


def _described(tool: tools.Tool) -> Tool:
    marks = ToolAnnotations(
        read_only_hint=tool.read_only,
        idempotent_hint=tool.idempotent,
        destructive_hint=tool.destructive,
        open_world_hint=False,
    )
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.schema),
        annotations=marks,
    )


def run_stdio(desk: Desk) -> None:
    anyio.run(_stdio, build(desk))


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
