"""What every command takes: the file, how to read it, and how to answer; and what follows from that.

Packs the common options into one value, `Given`, reads the conversation it names, and finds its model, its window and
its meter. What a command then does is its own business.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from foldline.cli.files import STREAM
from foldline.cli.screen import safe, say
from foldline.errors import InputError, MalformedInput, UnknownDialect

if TYPE_CHECKING:
    from foldline.core.counting.meter import Meter
    from foldline.model import Conversation, Notice

SHOWN_NOTICES = 5
"""Notices printed one by one for people; a damaged file may have many. The rest is counted; --json gives them all."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the user asked every command. `file` is "-" for standard input."""

    file: str
    dialect: str | None = None
    history: Literal["live", "all"] = "live"
    pick: int = 0
    model: str = ""
    window: int | None = None
    json: bool = False

    @property
    def name(self) -> str:
        return "standard input" if self.file == STREAM else self.file


def _dialect(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    """A dialect that exists, or wrong usage with the names of those that do."""
    if name is not None:
        from foldline.dialects import named

        try:
            named(name)
        except UnknownDialect as error:
            raise click.BadParameter(str(error)) from None
    return name


_READING = (
    click.argument("file", metavar="FILE"),
    click.option(
        "--dialect", metavar="NAME", callback=_dialect, help="Read FILE as this dialect instead of finding it out."
    ),
    click.option(
        "--history",
        type=click.Choice(["live", "all"]),
        default="live",
        show_default=True,
        help="Of a transcript: what the agent would send next, or everything in it.",
    ),
    click.option(
        "--pick",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        metavar="N",
        help="Which conversation of a file that holds several, counted from 0.",
    ),
    click.option("--window", type=click.IntRange(min=1), metavar="N", help="Its context window in tokens."),
    click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs."),
)
_MODEL = click.option("--model", metavar="NAME", default="", help="The model to count for; else the one FILE names.")


def common(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the common options, packed into its first argument."""

    @wraps(function)
    def with_model(given: Given, model: str, **options: Any) -> Any:
        return function(replace(given, model=model), **options)

    return _MODEL(reading(with_model))


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same without --model, for commands in which that is whom they ask."""

    @wraps(function)
    def packed(file: str, as_json: bool, **options: Any) -> Any:
        shared = {name: options.pop(name) for name in ("dialect", "history", "pick", "window")}
        return function(Given(file, json=as_json, **shared), **options)

    command: Callable[..., Any] = packed
    for option in reversed(_READING):
        command = option(command)
    return command


def load(given: Given) -> Conversation:
    """The conversation in the file that was named."""
    from foldline import dialects, sources

    try:
        found = sources.read(_source(given), given.dialect, history=given.history, pick=given.pick)
        if dialects.is_unread(found):
            what = f"no line of it could be read as {found.dialect}; leave out --dialect to have it found out"
            raise MalformedInput(what)
    except InputError as error:
        error.source = error.source or given.name
        raise
    return found


def _source(given: Given) -> Path | bytes:
    if given.file != STREAM:
        return Path(given.file)
    if sys.stdin.isatty():
        say("foldline: reading standard input; end it with Ctrl-D")
    return sys.stdin.buffer.read()


def meter(given: Given, conversation: Conversation) -> Meter:
    """Counts for the model that was named, or that the conversation names."""
    from foldline.tokens import meter_for

    return meter_for(given.model or conversation.head.model)


def window(given: Given, conversation: Conversation) -> tuple[int | None, tuple[Notice, ...]]:
    """The window that was given, or the model's, and what is to be said of it; None when no model is named."""
    name = given.model or conversation.head.model
    if given.window or not name:
        return given.window, ()
    from foldline.models import lookup

    info = lookup(name)
    return info.window, info.notices


def print_json(value: object, *, to_stderr: bool = False) -> None:
    """One JSON document of pure ASCII: no terminal and no encoding can stumble over it."""
    print(json.dumps(value, indent=2), file=sys.stderr if to_stderr else sys.stdout)


def notices_json(notices: tuple[Notice, ...]) -> list[dict[str, Any]]:
    return [asdict(notice) for notice in notices]


def tell(notices: tuple[Notice, ...]) -> None:
    """Notices for people, on stderr: the first few, and how many more there are."""
    for notice in notices[:SHOWN_NOTICES]:
        say(f"note: {safe(str(notice))}")
    if len(notices) > SHOWN_NOTICES:
        say(f"note: and {len(notices) - SHOWN_NOTICES} more; --json shows them all")
