"""The tools over MCP: on standard input and output, or over HTTP on this machine alone.

server.py   the tools as an MCP server
http.py     who may ask over HTTP: whoever has the token, from this machine, by its own name

What the tools do is in foldline.tools. The package `mcp` comes with the extra of that name; nothing here imports it
before a server is started.
"""

from __future__ import annotations

from collections.abc import Callable

from foldline.errors import FoldlineError
from foldline.tools import Desk

__all__ = ["serve_http", "serve_stdio"]


def serve_stdio(desk: Desk) -> None:
    """Serves whoever started this process, until they close its input."""
    _need()
    from foldline.mcp.server import run_stdio

    run_stdio(desk)


def serve_http(desk: Desk, port: int, announce: Callable[[str, str], None], token: str | None = None) -> None:
    """Serves this machine until interrupted. `announce` is told the address and the token; port 0 takes a free one."""
    _need()
    from foldline.mcp.http import run_http

    run_http(desk, port, announce, token)


def _need() -> None:
    try:
        import mcp  # noqa: F401 - whether it is there
        import uvicorn  # noqa: F401
    except ImportError:
        raise FoldlineError("the MCP server needs the package mcp; install it: pip install 'foldline[mcp]'") from None
