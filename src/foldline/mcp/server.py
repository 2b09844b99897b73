"""The tools as an MCP server: their schemas as they stand in the table, their answers as text.

The low-level server is used because the schemas are written already; the one above it would guess them from functions.
"""

from __future__ import annotations

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
from foldline.tools import Desk

INSTRUCTIONS = (
    "What was said in earlier parts of the conversation is kept whole. Where notes or a summary lack a detail, find it "
    "with session_search and read it with session_read before asking or guessing. Keep your tasks in plan."
)


def build(desk: Desk) -> Server[Any]:
    """A server of one desk's tools. A call runs in a thread: others are served while an archive is read."""

    async def listed(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in desk.tools])

    async def called(_: Any, asked: CallToolRequestParams) -> CallToolResult:
        answer = await anyio.to_thread.run_sync(tools.answer, asked.name, asked.arguments, desk)
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
