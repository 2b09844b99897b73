"""What commands that write a document share: read, change, write, and say what it did.

The document goes where `files.target` says; the figures go to stderr when the document takes standard output, and to
standard output otherwise. A document that nothing was changed in is written as it came, byte for byte. What is changed
is the commands' business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from foldline.cli.files import Target, put, target, tell_written
from foldline.cli.options import Given, load, meter, notices_json, print_json, tell
from foldline.cli.screen import count, say, working

if TYPE_CHECKING:
    from foldline.core.counting.meter import Meter
    from foldline.model import Conversation, Message, Notice


@dataclass(frozen=True, slots=True)
class Change:
    """The messages as they are now, figures for programs, a line for people, and what else is to be said."""

    messages: tuple[Message, ...]
    figures: Mapping[str, Any]
    text: str
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A change with its measure."""

    before: Conversation
    tokens_before: int
    tokens_after: int
    done: Change

    @property
    def notices(self) -> tuple[Notice, ...]:
        return (*self.before.notices, *self.done.notices)


Work: TypeAlias = "Callable[[Conversation, Meter], Change]"


def output(function: Callable[..., Any], otherwise: str = "standard output") -> Callable[..., Any]:
    """Gives a command the options that say where its document goes, `otherwise` being where it goes without them."""
    for option in (
        click.option("--force", is_flag=True, help="Replace OUT if it exists."),
        click.option("--in-place", is_flag=True, help="Replace FILE itself, in one step; its mode is kept."),
        click.option("-o", "--output", metavar="OUT", help=f"Write to this file; else to {otherwise}."),
    ):
        function = option(function)
    return function


def change(given: Given, work: Work, output: str | None, *, in_place: bool, force: bool) -> None:
    """Reads, changes, writes and reports."""
    where = target(given.file, output, in_place=in_place, force=force)
    with working(f"reading {given.name}", quiet=given.json) as life:
        conversation = load(given)
        life.step(f"working through {count(len(conversation), 'message')}")
        outcome, data = _changed(given, conversation, work)
    put(data, where)
    if given.json:
        print_json(_figures(given, where, outcome), to_stderr=where.is_stream)
    else:
        _tell(where, outcome)


def _changed(given: Given, conversation: Conversation, work: Work) -> tuple[Outcome, bytes]:
    from foldline import sources

    counts = meter(given, conversation)
    before = counts.count(conversation).tokens
    done = work(conversation, counts)
    same = done.messages == conversation.messages
    after = conversation if same else conversation.with_messages(done.messages)
    data = sources.write(after)
    return Outcome(conversation, before, counts.count(after).tokens, done), data


def _figures(given: Given, where: Target, outcome: Outcome) -> dict[str, Any]:
    return {
        "file": given.file,
        "output": where.path,
        "dialect": outcome.before.dialect,
        "messages_before": len(outcome.before),
        "messages_after": len(outcome.done.messages),
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "tokens_freed": outcome.tokens_before - outcome.tokens_after,
        **outcome.done.figures,
        "notices": notices_json(outcome.notices),
    }


def _tell(where: Target, outcome: Outcome) -> None:
    freed = outcome.tokens_before - outcome.tokens_after
    share = f" ({freed / outcome.tokens_before:.0%})" if freed > 0 and outcome.tokens_before else ""
    tell(outcome.notices)
    say(f"{outcome.done.text}: {outcome.tokens_before:,} tokens → {outcome.tokens_after:,}, {freed:,} freed{share}")
    if not where.is_stream:
        tell_written(where, outcome.before.dialect)
