"""`foldline handoff`: a conversation as one text, to be pasted into a new session of any agent.

The text is the checkpoint of the whole conversation, with nothing kept beside it. It is plain: no colours, and nothing
in it that a terminal would obey. What stands in it is made in the core.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from foldline.cli.asking import Wish, asking, fold, lost, options_of, tell_attempts
from foldline.cli.files import describe, put, target
from foldline.cli.options import Given, load, meter, notices_json, print_json, reading, tell
from foldline.cli.screen import count, safe_text, say, working
from foldline.errors import CannotFit

if TYPE_CHECKING:
    from foldline.core.checkpoint import Composed
    from foldline.core.effects import Effect
    from foldline.core.options import Options
    from foldline.core.summarise import Span, Written
    from foldline.model import Conversation, Notice

TOKENS = 6_000
"""What a new session can take at its beginning without minding."""
SNAPSHOT_SHARE = 0.15
"""Share of the text that shows the last messages: here they are nowhere else."""
QUOTED = 600
"""Characters of the user's latest message that a checkpoint quotes in any case; a longer one follows it whole, …"""
LATEST_SHARE = 0.5
"""… unless it would take more than this share of the text."""
EXTRACT_SHARE, WRITTEN_SHARE = 0.3, 0.6
"""Shares of the rest for the summary: an extracted one leaves more to the user's words, tasks and files; one that a
model writes holds those as well, and must not end at its limit."""
SHARES = (0.96, 0.7, 0.4)
"""Shares of the room that are aimed at, until it fits: joined texts have a few tokens more than their parts, and the
shorter a text, the more of it cannot be left out."""
LATEST = "## The user's latest message, word for word"


@dataclass(frozen=True, slots=True)
class Handoff:
    """The text, its tokens, who wrote the summary in it, and how many lines of what found no room."""

    text: str
    tokens: int
    written: Written
    left_out: tuple[tuple[str, int], ...] = ()


@click.command("handoff")
@reading
@asking
@click.option(
    "--to",
    type=click.IntRange(min=1),
    default=TOKENS,
    show_default=True,
    metavar="TOKENS",
    help="How large the text may be.",
)
@click.option("-o", "--output", metavar="OUT", help="Write to this file instead of standard output.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
def command(given: Given, wish: Wish, to: int, output: str | None, force: bool) -> None:
    """Print a continuation, to be pasted into a new session of any agent.

    It tells what the conversation was about: its goal, the user's rules and decisions, tasks, errors, files, and what
    was being done last. Nothing else goes to standard output.
    """
    where = target(given.file, output, in_place=None, force=force)
    callers = wish.callers()
    with working(f"reading {given.name}", quiet=given.json) as life:
        conversation = load(given)
        writer = f"{next(iter(callers.values())).name} reads" if callers else "folding"
        life.step(f"{writer} {count(len(conversation), 'message')}")
        made = handoff(given, conversation, wish, callers, to)
    if not given.json or not where.is_stream:
        put(made.text.encode("utf-8"), where)
    if given.json:
        print_json(_json(given, conversation, made, None if where.is_stream else where.path))
        return
    tell(_notices(conversation, made))
    tell_attempts(made.written.attempts)
    if not where.is_stream:
        say(f"{count(len(conversation), 'message')} in {made.tokens:,} tokens, written to {describe(where)}")


def handoff(given: Given, conversation: Conversation, wish: Wish, callers: Any, to: int) -> Handoff:
    """The continuation in at most `to` tokens. Raises CannotFit when even the least does not fit."""
    from foldline.core.resume import Manner
    from foldline.models import Budget

    counts = meter(given, conversation)

    def size(text: str) -> int:
        return round(counts.text(text) * counts.ratio)

    def whole(text: str) -> str:
        return safe_text("\n\n".join(filter(None, (text, latest)))) + "\n"

    latest = _latest(conversation, int(to * LATEST_SHARE), size)
    options = options_of(wish, callers, Budget(to), manner=Manner("manual", silent=False), force=True)
    room = to - size(latest)
    steps = _steps(conversation, options, room, size, lambda text: size(whole(text)) <= to)
    written, composed = fold(steps, callers)
    text = whole(composed.text)
    if size(text) > to:
        raise CannotFit(
            f"the shortest continuation has {size(text):,} tokens, and {to:,} are allowed; give --to more",
            tokens=size(text),
            allowed=to,
        )
    return Handoff(text, size(text), written, composed.left_out)


def _steps(
    conversation: Conversation, options: Options, room: int, size: Callable[[str], int], fits: Callable[[str], bool]
) -> Generator[Effect, Any, tuple[Written, Composed]]:
    """The summary and what stands around it, smaller each time until it fits. A model is asked once."""
    from foldline.core.cycles import pair
    from foldline.core.deeds import deeds
    from foldline.core.facts import facts_of
    from foldline.core.resume import resume
    from foldline.core.summarise import EXTRACTED, Span, summarise

    pairing = pair(conversation.messages, conversation.grammar)
    done = tuple(deeds(conversation.messages, pairing))
    span = Span(conversation.messages, pairing, 0, facts_of(conversation.messages, done), done)
    manner = resume(options.manner)
    share = WRITTEN_SHARE if options.voices else EXTRACT_SHARE
    written = yield from summarise(span, options, _part(room * SHARES[0], manner, share, size), size)
    composed = _composed(span, written, manner, int(room * SHARES[0]), size)
    for aim in (int(room * smaller) for smaller in SHARES[1:]):
        if fits(composed.text):
            break
        if written.author == EXTRACTED:
            quiet = replace(options, cheap=None, fallback=None)
            again = yield from summarise(span, quiet, _part(aim, manner, EXTRACT_SHARE, size), size)
            written = replace(again, attempts=written.attempts)
        composed = _composed(span, written, manner, aim, size)
    return written, composed


def _part(room: float, manner: str, share: float, size: Callable[[str], int]) -> int:
    """Tokens for the summary: its share of what the snapshot and the last words leave."""
    return max(int((room * (1 - SNAPSHOT_SHARE) - size(manner)) * share), 0)


def _composed(span: Span, written: Written, manner: str, room: int, size: Callable[[str], int]) -> Composed:
    from foldline.core.checkpoint import Frame, compose, snapshot_of
    from foldline.core.ledger import ledger_of

    snapshot = snapshot_of(span.messages, 0, int(room * SNAPSHOT_SHARE), size)
    frame = Frame(len(span.messages), written.author, manner, kept_tail=False)
    ledger = ledger_of(span.deeds)
    return compose(written.summary, span.facts, ledger, snapshot, frame, room, size)


def _latest(conversation: Conversation, most: int, size: Callable[[str], int]) -> str:
    """What the user said last, where it is too long to be quoted whole and short enough to be added."""
    from foldline.core.fold import newest_user

    at = newest_user(conversation.messages)
    text = conversation.messages[at].text if at is not None else ""
    added = f"{LATEST}\n{text.strip()}"
    return added if len(text) > QUOTED and size(added) <= most else ""


def _json(given: Given, conversation: Conversation, made: Handoff, path: str | None) -> dict[str, Any]:
    return {
        "file": given.file,
        "output": path,
        "dialect": conversation.dialect,
        "messages": len(conversation),
        "text": made.text,
        "tokens": made.tokens,
        "author": made.written.author,
        "attempts": [{"who": attempt.who, "outcome": attempt.outcome} for attempt in made.written.attempts],
        "left_out": dict(made.left_out),
        "notices": notices_json(_notices(conversation, made)),
    }


def _notices(conversation: Conversation, made: Handoff) -> tuple[Notice, ...]:
    return (*conversation.notices, *lost(conversation.messages, made.text))
