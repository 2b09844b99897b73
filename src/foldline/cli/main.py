"""The program `foldline`: its commands by name, and how every run ends.

A command's module is imported when it is called. No traceback reaches the user: an error of ours is one line that says
what happened, where and what to do; any other is one line that says how to report it. What the commands do stands in
their own modules.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from foldline import __version__, home
from foldline.cli import exits
from foldline.cli.screen import safe, say
from foldline.errors import FoldlineError

COMPLETE = "_FOLDLINE_COMPLETE"
"""Shells set it when they ask for completions."""
COMMANDS = {
    "inspect": "foldline.cli.inspecting",
    "prune": "foldline.cli.pruning",
    "select": "foldline.cli.selecting",
    "compact": "foldline.cli.compacting",
    "handoff": "foldline.cli.handing",
    "validate": "foldline.cli.validating",
    "eval": "foldline.cli.evaluating",
    "import": "foldline.cli.importing",
    "export": "foldline.cli.moving:export",
    "sessions": "foldline.cli.listing:sessions",
    "search": "foldline.cli.listing:search",
    "show": "foldline.cli.showing:show",
    "expand": "foldline.cli.showing:expand",
    "diff": "foldline.cli.undoing:diff",
    "undo": "foldline.cli.undoing:undo",
    "redo": "foldline.cli.undoing:redo",
    "verify": "foldline.cli.caring:verify",
    "forget": "foldline.cli.caring:forget",
    "plan": "foldline.cli.planning",
    "tools": "foldline.cli.tooling",
    "mcp": "foldline.cli.serving",
    "proxy": "foldline.proxy.commands:proxy",
    "run": "foldline.proxy.commands:run",
    "status": "foldline.proxy.commands:status",
}
"""Each command and where it is: a module and a name in it, which is `command` where none is given."""


class Commands(click.Group):
    """The commands of the table, each imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name or "command")
        return command


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"foldline {__version__}")
        ctx.exit()


@click.command(
    cls=Commands, epilog=exits.HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Say the version.")
def program() -> None:
    """Keeps a language-model agent inside its context window, and loses nothing.

    FILE is a request or a transcript in any dialect Foldline reads; "-" is standard input.
    """


def main() -> NoReturn:
    """The entry point."""
    if COMPLETE in os.environ:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(program, {}, "foldline", COMPLETE, os.environ[COMPLETE]))
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character is no reason to fail
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs one command line, and returns its exit code whatever happens."""
    try:
        return _run(list(arguments))
    except click.ClickException as error:
        _show_usage(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the impatient press it twice
        say("foldline: interrupted")
        return exits.INTERRUPTED
    except BrokenPipeError as error:
        _close_quietly()
        return exits.code_of(error)
    except OSError as error:
        _debug()
        say(f"foldline: the output cannot be written: {safe(error.strerror or str(error))}")
        _close_quietly()
        return exits.OTHER
    except FoldlineError as error:
        _debug()
        say(f"foldline: {safe(str(error)) or type(error).__name__}")
        return exits.code_of(error, next(iter(arguments), ""))
    except Exception as error:
        _debug()
        what = f"unexpected {type(error).__name__}: {safe(str(error))}"
        say(f"foldline: {what}; please report it, with {home.DEBUG}=1 set")
        return exits.OTHER


def _run(arguments: list[str]) -> int:
    try:
        with program.make_context("foldline", arguments) as context:
            code = program.invoke(context)
    except click.exceptions.Exit as end:
        code = end.exit_code
    sys.stdout.flush()
    return code if isinstance(code, int) else exits.FINE


def _show_usage(error: click.ClickException) -> None:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return
    if context is not None:
        say(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.")
    say(f"foldline: {safe(error.format_message())}")


def _debug() -> None:
    if home.debugging():
        traceback.print_exc()


def _close_quietly() -> None:
    """Nobody reads our output any more: what is still unwritten goes nowhere, and the interpreter does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    main()
