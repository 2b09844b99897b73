"""Whom `compact` and `handoff` ask for a summary, what they tell them, and how they wait for the answer.

Without --model nobody is asked. A key is read from the environment by `foldline.callers` and shown by nobody. What is
done with the answer is in the core.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from foldline.cli.screen import safe, say
from foldline.errors import AuthRejected

if TYPE_CHECKING:
    from foldline.archive import Backend
    from foldline.callers import Caller
    from foldline.core.budget import Budget
    from foldline.core.effects import Effect
    from foldline.core.options import Options, Voice
    from foldline.core.receipt import Attempt
    from foldline.model import Message, Notice

T = TypeVar("T")
STYLES = ("checkpoint", "full", "report", "brief")
WRITTEN, NOT_TAKEN = "written", "not taken"
"""How an attempt ends that brought a summary, and what is said of one that is not shown."""
TELLING = 30
"""Characters of a line that is found again by more than chance."""
_OWN_WINDOW = "ollama:"
"""Models whose window is as large as their server was started with, whatever the model could do."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Who is to write the summary, in which style, attending to what. Without a model it is extracted."""

    model: str | None = None
    fallback: str | None = None
    base_url: str | None = None
    style: str = STYLES[0]
    focus: str = ""

    def callers(self) -> dict[str, Caller]:
        """Those who will be asked, by their part. A name or a key that will not do is refused here, before any work."""
        named = {"cheap": ("--model", self.model, self.base_url), "fallback": ("--fallback", self.fallback, None)}
        return {part: _caller(option, name, url) for part, (option, name, url) in named.items() if name}


_OPTIONS = (
    click.option("--model", metavar="NAME", help="Who writes the summary, as provider:model. [default: nobody]"),
    click.option("--fallback", metavar="NAME", help="Who writes it if that one cannot."),
    click.option("--base-url", metavar="URL", help="Where the model is asked, if not at its provider's own address."),
    click.option("--style", type=click.Choice(STYLES), default=STYLES[0], show_default=True, help="Its sections."),
    click.option("--focus", metavar="TEXT", default="", help="What a model should attend to most."),
)


def asking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options about the summary, packed into its argument `wish`."""

    @wraps(function)
    def packed(*arguments: Any, **options: Any) -> Any:
        names = ("model", "fallback", "base_url", "style", "focus")
        return function(*arguments, wish=Wish(**{name: options.pop(name) for name in names}), **options)

    command: Callable[..., Any] = packed
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _caller(option: str, name: str, base_url: str | None) -> Caller:
    from foldline.callers import PROVIDERS, caller

    provider = PROVIDERS.get(name.partition(":")[0])
    if provider is not None and not provider.base_url and not base_url:
        advice = "give it with --base-url" if option == "--model" else "only --model can have one, with --base-url"
        raise click.UsageError(f"{option} {name} needs the address of its server; {advice}")
    try:
        return caller(name, base_url=base_url)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except AuthRejected as error:
        keys = PROVIDERS[name.partition(":")[0]].keys
        if any(os.environ.get(variable) for variable in keys):
            raise AuthRejected(f"{name} cannot be asked: {error}") from None
        wanted = " or ".join(keys)
        raise AuthRejected(f"{name} needs a key: set {wanted}, or leave out {option} to do without one") from None


def options_of(wish: Wish, callers: Mapping[str, Caller], budget: Budget, **more: Any) -> Options:
    """What the core is to know of it."""
    from foldline.core.options import Options

    return Options(
        budget,
        style=wish.style,
        focus=wish.focus,
        cheap=_voice(callers.get("cheap")),
        fallback=_voice(callers.get("fallback")),
        secret=secrets.token_bytes(16),
        **more,
    )


def _voice(asked: Caller | None) -> Voice | None:
    from foldline.core.options import SUMMARISER_WINDOW, Voice
    from foldline.models import lookup

    if asked is None:
        return None
    own = asked.name.startswith(_OWN_WINDOW)
    return Voice(asked.name, SUMMARISER_WINDOW if own else lookup(asked.name).window)


def fold(steps: Generator[Effect, Any, T], callers: Mapping[str, Caller], archive: Backend | None = None) -> T:
    """Runs the core to its end. Ctrl-C ends it at once, also while a model is being waited for."""
    from foldline.archive import MemoryArchive
    from foldline.drive import World, run

    world = World(archive or MemoryArchive(), callers)
    return asyncio.run(_waited(steps, world)) if callers else run(steps, world)


async def _waited(steps: Generator[Effect, Any, T], world: Any) -> T:
    from foldline.drive import arun

    found = await arun(steps, world)
    await asyncio.sleep(0)  # an interrupt that came while nothing was waited for is heard here
    return found


def lost(messages: Sequence[Message], text: str) -> tuple[Notice, ...]:
    """A notice for each earlier summary among these messages of which no line came into the new text."""
    from foldline.model import Notice, Origin

    found = "an earlier summary of {:,} characters in it was not carried over; name a --model, or fold the original"
    old = (message.text for message in messages if message.origin is Origin.SUMMARY)
    gone = (said for said in old if not any(line in text for line in said.splitlines() if len(line) >= TELLING))
    return tuple(Notice("summary-lost", found.format(len(said))) for said in gone)


def tell_attempts(attempts: tuple[Attempt, ...]) -> None:
    """Who was asked in vain, and why, on stderr."""
    for attempt in attempts:
        if attempt.outcome.startswith(NOT_TAKEN):
            say(f"note: what {safe(attempt.who)} wrote was {safe(attempt.outcome)}")
        elif attempt.outcome != WRITTEN:
            say(f"note: {safe(attempt.who)} wrote no summary: {safe(attempt.outcome)}")
    if attempts and not attempts[-1].outcome.startswith((WRITTEN, NOT_TAKEN)):
        say("note: so it was extracted without a model; try again, or name another with --fallback")
