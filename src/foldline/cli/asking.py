"""Whom `compact` and `handoff` ask for a summary, and how they wait for the answer.

Without --model nobody is asked. A key is read from the environment by `foldline.callers` and shown by nobody. What they
are told, and what is done with the answer, is the compactor's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from foldline.cli.screen import safe, say
from foldline.core.summaries.styles import OFFERED

if TYPE_CHECKING:
    from foldline.callers import Caller
    from foldline.compactor import Compactor
    from foldline.core.counting.budget import Budget
    from foldline.core.receipt import Attempt
    from foldline.model import Message, Notice

T = TypeVar("T")
TELLING = 30
"""Characters of a line that is found again by more than chance."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Who is to write the summary, in which style, attending to what. Without a model it is extracted."""

    model: str | None = None
    fallback: str | None = None
    base_url: str | None = None
    style: str = OFFERED[0]
    focus: str = ""
    mask_secrets: bool = True

    def callers(self) -> dict[str, Caller]:
        """Those who will be asked, by their part. A name or a key that will not do is refused here, before any work."""
        from foldline.callers import by_option

        found = {}
        if self.base_url and not self.model:
            raise click.UsageError("--base-url is where --model is asked; give --model too, or leave it out")
        try:
            if self.model:
                found["model"] = by_option("--model", self.model, self.base_url, "give it with --base-url")
            if self.fallback:
                where = "only --model can have one, with --base-url"
                found["fallback"] = by_option("--fallback", self.fallback, None, where)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        return found


_OPTIONS = (
    click.option("--model", metavar="NAME", help="Who writes the summary, as provider:model. [default: nobody]"),
    click.option("--fallback", metavar="NAME", help="Who writes it if that one cannot."),
    click.option("--base-url", metavar="URL", help="Where the model is asked, if not at its provider's own address."),
    click.option("--style", type=click.Choice(OFFERED), default=OFFERED[0], show_default=True, help="Its sections."),
    click.option("--focus", metavar="TEXT", default="", help="What a model should attend to most."),
    click.option(
        "--mask-secrets/--no-mask-secrets",
        default=True,
        show_default=True,
        help="Whether a model is shown masks in place of keys and passwords.",
    ),
)


def wishing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options about the summary, packed into its argument `wish`."""

    @wraps(function)
    def packed(*arguments: Any, **options: Any) -> Any:
        names = ("model", "fallback", "base_url", "style", "focus", "mask_secrets")
        return function(*arguments, wish=Wish(**{name: options.pop(name) for name in names}), **options)

    command: Callable[..., Any] = packed
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def compactor(wish: Wish, callers: Mapping[str, Caller], budget: Budget, **more: Any) -> Compactor:
    """Who does it, with these to ask."""
    from foldline.compactor import Compactor

    more |= {"style": wish.style, "mask_secrets": wish.mask_secrets}
    return Compactor(budget, callers.get("model"), callers.get("fallback"), **more)


def done(
    callers: Mapping[str, Caller],
    plain: Callable[..., T],
    waiting: Callable[..., Awaitable[T]],
    *given: Any,
    **how: Any,
) -> T:
    """What the two ways to do a thing give. Where someone is asked it is the waiting one: Ctrl-C ends that at once."""
    return asyncio.run(_waited(waiting(*given, **how))) if callers else plain(*given, **how)


async def _waited(answer: Awaitable[T]) -> T:
    found = await answer
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
    from foldline.core.receipt import NOT_TAKEN, WRITTEN

    for attempt in attempts:
        if attempt.outcome.startswith(NOT_TAKEN):
            say(f"note: what {safe(attempt.who)} wrote was {safe(attempt.outcome)}")
        elif attempt.outcome != WRITTEN:
            say(f"note: {safe(attempt.who)} wrote no summary: {safe(attempt.outcome)}")
    if attempts and not attempts[-1].outcome.startswith((WRITTEN, NOT_TAKEN)):
        say("note: so it was extracted without a model; try again, or name another with --fallback")
