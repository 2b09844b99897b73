"""`foldline plan`: the agent's plan, for people. What the operations do is in foldline/agenda.

The agenda lies beside the archive, in a file of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from foldline import home
from foldline.cli import exits
from foldline.cli.keeping import ARCHIVE, lines, page
from foldline.cli.options import print_json
from foldline.cli.screen import say

if TYPE_CHECKING:
    from foldline.agenda import Outcome

_PLAN = click.option("--plan", type=int, metavar="N", help="Which plan; else the active one.")
_TASK = click.argument("task", type=int)


class Plan(click.Group):
    """Takes its own options also behind the name of what is to be done, where every other command has them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _own_first(args))


def _own_first(args: Sequence[str]) -> list[str]:
    """The arguments with the group's own options ahead of the others. What stands behind "--" is left alone."""
    own, others, rest = list[str](), list[str](), iter(args)
    for arg in rest:
        if arg == "--":
            others += [arg, *rest]
        elif arg == "--json" or arg.startswith(("--archive=", "--scope=")):
            own.append(arg)
        elif arg in ("--archive", "--scope") and (value := next(rest, None)) is not None:
            own += [arg, value]
        else:
            others.append(arg)
    return [*own, *others]


@click.group("plan", cls=Plan, invoke_without_command=True)
@ARCHIVE
@click.option("--scope", metavar="NAME", help="Whose plans, as the agent's program names it; else this folder's.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs.")
@click.pass_context
def command(context: click.Context, archive: str | None, scope: str | None, as_json: bool) -> int:
    """See and change the agent's own plan. Alone, it shows where the work stands.

    \b
    JSON: {"ok": true or false, "changed": true or false, "text": TEXT}, and
    {"plan": {…}, "active": N} or {"plans": [{…}], "active": N}, or {"error": TEXT}.
    """
    context.obj = (archive, os.path.realpath(".") if scope is None else scope, as_json)
    return _call(context, "list") if context.invoked_subcommand is None else exits.FINE


def _call(context: click.Context, operation: str, **arguments: Any) -> int:
    from foldline.agenda import Agenda

    archive, scope, as_json = context.obj
    agenda = Agenda(home.agenda(archive))
    given = {name: value for name, value in arguments.items() if value is not None}
    outcome = agenda.call(operation, scope=scope, **given)
    _answer(outcome, as_json)
    return exits.FINE if outcome.ok else exits.OTHER


def _answer(outcome: Outcome, as_json: bool) -> None:
    from foldline.redact import redact_value

    if as_json:
        shown = {"ok": outcome.ok, "changed": outcome.changed, "text": outcome.text, **outcome.data}
        print_json(redact_value(shown))
    elif outcome.ok:
        page(lines(outcome.text))
    else:
        say(f"foldline: {lines(outcome.text)}")


@command.command("start")
@_PLAN
@click.pass_context
def start(context: click.Context, plan: int | None) -> int:
    """Where the work stands: what is in progress, what is next. With --plan, change over to that one."""
    return _call(context, "start", plan=plan)


@command.command("list")
@_PLAN
@click.option("--task", type=int, metavar="N", help="Everything about one task.")
@click.pass_context
def list_(context: click.Context, plan: int | None, task: int | None) -> int:
    """All plans; with --plan its tasks; with --task one of them."""
    return _call(context, "list", plan=plan, task=task)


@command.command("create")
@click.argument("title")
@click.argument("tasks", nargs=-1, required=True)
@click.pass_context
def create(context: click.Context, title: str, tasks: tuple[str, ...]) -> int:
    """Make a plan: its title, and the title of each task."""
    return _call(context, "create", title=title, tasks=list(tasks))


@command.command("add")
@click.argument("tasks", nargs=-1, required=True)
@_PLAN
@click.pass_context
def add(context: click.Context, tasks: tuple[str, ...], plan: int | None) -> int:
    """Add tasks at the end."""
    return _call(context, "add", tasks=list(tasks), plan=plan)


@command.command("update")
@_TASK
@click.option("--title", metavar="TEXT", help="Its new title.")
@click.option("--details", metavar="TEXT", help="What is to be known of it.")
@click.option("--status", metavar="STATUS", help="open, in progress, or dropped.")
@_PLAN
@click.pass_context
def update(context: click.Context, /, **arguments: Any) -> int:
    """Change a task."""
    return _call(context, "update", **arguments)


@command.command("complete")
@_TASK
@click.argument("evidence")
@_PLAN
@click.pass_context
def complete(context: click.Context, /, **arguments: Any) -> int:
    """Mark a task as done: EVIDENCE says how that is known."""
    return _call(context, "complete", **arguments)


@command.command("block")
@_TASK
@click.argument("reason")
@_PLAN
@click.pass_context
def block(context: click.Context, /, **arguments: Any) -> int:
    """Mark a task as blocked: REASON says by what."""
    return _call(context, "block", **arguments)


@command.command("note")
@click.argument("text")
@click.option("--task", type=int, metavar="N", help="A note on this task; else on the plan.")
@_PLAN
@click.pass_context
def note(context: click.Context, /, **arguments: Any) -> int:
    """Write a note down."""
    return _call(context, "note", **arguments)


@command.command("archive")
@_PLAN
@click.pass_context
def archive_(context: click.Context, plan: int | None) -> int:
    """Put a plan away."""
    return _call(context, "archive", plan=plan)
