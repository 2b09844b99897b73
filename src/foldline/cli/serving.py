"""`foldline mcp`: the agent's tools over MCP. The server itself is in foldline.mcp."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import click

from foldline import home
from foldline.cli.options import tell
from foldline.cli.screen import safe, say

if TYPE_CHECKING:
    from foldline.tools import Desk
    from foldline.tools.desk import Reach

PORT = 8377
"""Fixed, so that a client's configuration stays true; free, as far as any list of ports says."""
TOKEN = "FOLDLINE_MCP_TOKEN"  # noqa: S105 - the name of a variable
"""In the environment: a token that stays the same from start to start. An option would show in lists of processes."""


@click.command("mcp")
@click.option("--root", type=click.Path(exists=True, file_okay=False), default=".", metavar="FOLDER",
              help="The project: its memory files, its plan, its sessions. [default: here]")  # fmt: skip
@click.option("--scope", metavar="NAME", help="Serve the sessions and the plan of this scope instead of the project's.")
@click.option("--all", "everything", is_flag=True, help="Let sessions of all projects be found.")
@click.option(
    "--archive", type=click.Path(dir_okay=False), metavar="FILE", help="The archive. [default: that of every command]"
)
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine, with a token, instead of standard input.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, metavar="N",
              help="The port for --http; 0 takes a free one.")  # fmt: skip
def command(root: str, scope: str | None, everything: bool, archive: str | None, http: bool, port: int) -> None:
    """Serve an agent its tools over MCP.

    Search, originals, plan, memory files. Started without --http by an MCP client, which talks to it over standard
    input and output. With --http, the address and the token are printed; FOLDLINE_MCP_TOKEN in the environment sets a
    token of your own.
    """
    from foldline import mcp

    desk = _desk(root, scope, everything, archive)
    try:
        if http:
            mcp.serve_http(desk, port, _announce, os.environ.get(TOKEN))
        else:
            if sys.stdin.isatty():
                say("foldline: waiting for an MCP client on standard input; end it with Ctrl-D")
            # What reads standard input cannot be woken, so an interrupt ends the process; what is stored is whole then.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            mcp.serve_stdio(desk)
    finally:
        desk.close()


def _desk(root: str, scope: str | None, everything: bool, archive: str | None) -> Desk:
    """The agenda lies beside the archive."""
    from foldline import Archive
    from foldline.agenda import Agenda
    from foldline.tools import Desk

    agenda = Agenda(home.agenda(archive))
    reach: Reach = "all" if everything else "project" if scope is None else "scope"
    whose = os.path.realpath(root) if scope is None else scope
    opened = Archive(archive)
    tell(opened.notices)
    return Desk(opened, agenda, root, whose, reach)


def _announce(address: str, token: str) -> None:
    say(f"foldline: MCP at {safe(address)}, for this machine only; Ctrl-C ends it")
    say(f"foldline: send the header  Authorization: Bearer {token}")
    say(f"foldline: or use the address  {safe(address.removesuffix('/mcp'))}/{token}/mcp")
