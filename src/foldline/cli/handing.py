"""`foldline handoff`: a conversation as one text, to be pasted into a new session of any agent.

What stands in the text is decided in foldline/handoff.py. Nothing else goes to standard output.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from foldline.cli.asking import Wish, compactor, done, lost, tell_attempts, wishing
from foldline.cli.files import describe, put, target
from foldline.cli.options import Given, load, notices_json, print_json, reading, tell
from foldline.cli.screen import count, say, working

if TYPE_CHECKING:
    from foldline.handoff import Handoff
    from foldline.model import Conversation, Notice


@click.command("handoff")
@reading
@wishing
@click.option("--to", type=click.IntRange(min=1), metavar="TOKENS", help="How large the text may be. [default: 6000]")
@click.option("-o", "--output", metavar="OUT", help="Write to this file instead of standard output.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
def command(given: Given, wish: Wish, to: int | None, output: str | None, force: bool) -> None:
    """Print a text to go on with in a new session of any agent.

    It tells what the conversation was about: its goal, the user's rules and decisions, tasks, errors, files, and what
    was being done last. Nothing else goes to standard output.
    """
    from foldline.models import Budget

    where = target(given.file, output, in_place=None, force=force)
    callers = wish.callers()
    with working(f"reading {given.name}", quiet=given.json) as life:
        conversation = load(given)
        writer = f"{next(iter(callers.values())).name} reads" if callers else "folding"
        life.step(f"{writer} {count(len(conversation), 'message')}")
        by = compactor(wish, callers, Budget.for_model(conversation.head.model))
        made = done(callers, by.handoff, by.ahandoff, conversation, to=to, focus=wish.focus)
    if not given.json or not where.is_stream:
        put(made.text.encode("utf-8"), where)
    if given.json:
        print_json(_json(given, conversation, made, None if where.is_stream else where.path))
        return
    tell(_notices(conversation, made))
    tell_attempts(made.attempts)
    if not where.is_stream:
        say(f"{count(len(conversation), 'message')} in {made.tokens:,} tokens, written to {describe(where)}")


def _json(given: Given, conversation: Conversation, made: Handoff, path: str | None) -> dict[str, Any]:
    return {
        "file": given.file,
        "output": path,
        "dialect": conversation.dialect,
        "messages": len(conversation),
        "text": made.text,
        "tokens": made.tokens,
        "author": made.author,
        "attempts": [asdict(attempt) for attempt in made.attempts],
        "left_out": dict(made.left_out),
        "notices": notices_json(_notices(conversation, made)),
    }


def _notices(conversation: Conversation, made: Handoff) -> tuple[Notice, ...]:
    return (*conversation.notices, *lost(conversation.messages, made.text))
