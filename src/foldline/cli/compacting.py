"""`foldline compact`: the older part of a conversation as one checkpoint. How it is folded is the compactor's.

Shows the checkpoint, the receipt and what it saved; writes the view, in the dialect of FILE, only where it is told to,
and only after reading back what it is about to write.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

import click

from foldline.cli.asking import Wish, compactor, done, lost, tell_attempts, wishing
from foldline.cli.change import output
from foldline.cli.exits import CannotWrite
from foldline.cli.files import Target, put, target, tell_written
from foldline.cli.keeping import ARCHIVE
from foldline.cli.options import Given, load, meter, notices_json, print_json, reading, tell
from foldline.cli.screen import console, count, safe, safe_text, say, working
from foldline.cli.shelving import shelf
from foldline.core.resume import KINDS, Kind

if TYPE_CHECKING:
    from foldline.callers import Caller
    from foldline.compactor import Compactor, Fitted
    from foldline.core.checkpoints.checkpoint import Checkpoint
    from foldline.model import Conversation, Message, Notice
    from foldline.models import Budget

ROOM_SHARE = 7 / 8
"""Of a window, what a prompt may use unless told otherwise: a window that --to asks for is so much larger."""


@dataclass(frozen=True, slots=True)
class Folding:
    """How to fold: the size of the view, the part that is folded (from 1), and how the agent is told to go on."""

    to: int | None
    first: int | None
    last: int | None
    kind: Kind
    silent: bool
    approval: bool
    questions: bool

    @property
    def more(self) -> str:
        """What to give so that more is folded."""
        if self.first is not None:
            return "--from with a smaller number" if self.first > 1 else "--to with fewer tokens, without --from"
        return "--to with fewer tokens" if self.last is None else "--up-to with a larger number"

    def how(self, conversation: Conversation, tokens: int, budget: Budget, focus: str) -> dict[str, Any] | None:
        """What the compactor is told; None where nothing has to be folded, being small enough as it is."""
        part = self._direction(len(conversation))
        room = budget.reserving(conversation.head.max_output).room
        if part["pivot"] is None and tokens <= min(self.to or budget.at(budget.target), room):
            return None
        return {"to": self.to, "focus": focus, "kind": self.kind, **part}

    def _direction(self, messages: int) -> dict[str, Any]:
        """Which part of so many messages is folded."""
        for name, number in (("--from", self.first), ("--up-to", self.last)):
            if number is not None and number > messages:
                there = "there is 1 message" if messages == 1 else f"there are {messages:,} messages"
                raise click.UsageError(f"{name} is {number:,}, and {there}")
        if self.first is not None:
            return {"direction": "from", "pivot": self.first - 1}
        return {"pivot": self.last}


@click.command("compact")
@reading
@wishing
@click.option("--to", type=click.IntRange(min=1), metavar="TOKENS", help="How large the whole may be afterwards.")
@click.option("--from", "first", type=click.IntRange(min=1), metavar="N", help="Fold message N and all after it.")
@click.option("--up-to", "last", type=click.IntRange(min=1), metavar="N", help="Fold message N and all before it.")
@click.option("--kind", type=click.Choice(KINDS), default="manual", show_default=True, help="The moment it happens in.")
@click.option("--silent/--voiced", default=True, show_default=True, help="May the agent speak of the fold?")
@click.option("--approval", is_flag=True, help="Remind the agent that its tools need approval.")
@click.option("--questions/--no-questions", default=True, show_default=True, help="May the agent ask the user?")
@click.option("--dry-run", is_flag=True, help="Ask no model and write nothing; show what would be done.")
@ARCHIVE
@click.option("--no-archive", is_flag=True, help="Keep nothing.")
@partial(output, otherwise="nowhere")
def command(
    given: Given,
    wish: Wish,
    dry_run: bool,
    archive: str | None,
    no_archive: bool,
    output: str | None,
    in_place: bool,
    force: bool,
    **how: Any,
) -> None:
    """Fold the older part of a conversation into one checkpoint.

    Without --to, the window is half full afterwards. Messages are counted from 1, as inspect shows them. Nothing is
    written unless -o or --in-place says where; but everything is kept in the archive, so that `foldline expand` brings
    back what was folded and `foldline undo` undoes it.
    """
    folding = Folding(**how)
    if folding.first is not None and folding.last is not None:
        raise click.UsageError("--from and --up-to exclude each other")
    if no_archive and archive is not None:
        raise click.UsageError("--archive and --no-archive exclude each other")
    where = target(given.file, output, in_place=in_place, force=force) if output is not None or in_place else None
    callers = {} if dry_run else wish.callers()
    kept = shelf(given, archive, wanted=not (dry_run or no_archive))
    with closing(kept), working(f"reading {given.name}", quiet=given.json) as life:
        conversation = load(given)
        _check_history(given, conversation, where)
        budget = budget_of(given, conversation, folding.to)
        writer = f"{next(iter(callers.values())).name} reads" if callers else "folding"
        life.step(f"{writer} {count(len(conversation), 'message')}")
        counts = meter(given, conversation)
        asked = folding.how(conversation, counts.count(conversation).tokens, budget, wish.focus)
        if asked is None:
            budget = replace(budget, prune_at=budget.compact_at)  # what is small enough is left alone
        manner = {"silent": folding.silent, "approval": folding.approval, "questions": folding.questions}
        by = compactor(wish, callers, budget, archive=kept, meter=counts, **manner)
        fitted = _fitted(by, callers, conversation, asked)
        data = b"" if where is None else proved(fitted.view, given)
    if where is not None and not dry_run:
        put(data, where)
    put_at = None if dry_run else where
    _answer(Shown(given, conversation, fitted, budget, put_at, kept.path, kept.told, folding.more))


def _fitted(
    by: Compactor, callers: Mapping[str, Caller], conversation: Conversation, how: dict[str, Any] | None
) -> Fitted:
    if how is None:
        return done(callers, by.fit, by.afit, conversation)
    return done(callers, by.compact, by.acompact, conversation, **how)


def budget_of(given: Given, conversation: Conversation, to: int | None) -> Budget:
    """The budget of the window that was given, or of the model FILE names; where nobody says, whatever `to` needs."""
    from foldline.model import Notice
    from foldline.models import UNKNOWN_WINDOW, Budget

    if given.window:
        return Budget(given.window)
    if conversation.head.model:
        return Budget.for_model(conversation.head.model)
    if to:
        return Budget(max(UNKNOWN_WINDOW, int(to / ROOM_SHARE) + 1))
    text = f"FILE names no model, so its window is taken as {UNKNOWN_WINDOW:,} tokens; give --window or --to"
    return Budget(UNKNOWN_WINDOW, notices=(Notice("model-unknown", text),))


def _check_history(given: Given, conversation: Conversation, where: Target | None) -> None:
    if where is not None and given.history == "all" and conversation.compactions:
        raise click.UsageError(
            "this session was compacted before, and what lies behind that is no part of the next request; "
            "leave out --history all to write a view, or -o to look at one"
        )


def proved(view: Conversation, given: Given) -> bytes:
    """The document, once it is sure that reading it gives this view again."""
    from foldline import sources

    data: bytes = sources.write(view)
    again = sources.read(data, view.dialect, history=given.history, pick=given.pick)
    if list(map(_said, again.messages)) != list(map(_said, view.messages)):
        raise CannotWrite(
            f"the view does not read back from a {view.dialect} file as it is, so nothing was written; "
            "please report this, and use the checkpoint that is shown without -o"
        )
    return data


def _said(message: Message) -> tuple[Any, ...]:
    calls = tuple((call.id, call.name) for call in message.calls)
    return message.role, message.text.strip(), calls, tuple(result.ref for result in message.results)


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything the answer is made of. `where` is where the view went, `archive` where it is kept, if anywhere."""

    given: Given
    before: Conversation
    fitted: Fitted
    budget: Budget
    where: Target | None
    archive: str | None
    told: tuple[Notice, ...]
    """What the archive has to say."""
    more: str
    """What to give so that more is folded."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What is to be said besides the receipt."""
        found = self.fitted.checkpoint
        gone = lost(self.before.messages[found.start : found.stop], found.text) if found else ()
        return (*self.budget.notices, *gone, *self.told)

    def to_json(self) -> dict[str, Any]:
        """The documented shape."""
        receipt = self.fitted.receipt
        return {
            "file": self.given.file,
            "output": self.where.path if self.where else None,
            "archive": self.archive,
            "dialect": self.before.dialect,
            "model": self.before.head.model,
            "window": self.budget.window,
            "messages_before": len(self.before),
            "messages_after": len(self.fitted.view),
            "tokens_before": receipt.tokens_before,
            "tokens_after": receipt.tokens_after,
            "tokens_freed": receipt.tokens_before - receipt.tokens_after,
            "receipt": receipt.to_dict(),
            "checkpoint": _checkpoint(self.fitted.checkpoint),
            "notices": notices_json((*self.notices, *receipt.notices)),
        }


def _checkpoint(found: Checkpoint | None) -> dict[str, Any] | None:
    if found is None:
        return None
    recipe = found.recipe
    return {
        "ref": found.ref,
        "text": found.text,
        "first": found.start + 1,
        "last": found.stop,
        "generation": found.generation,
        "author": recipe.model,
        "style": recipe.style,
        "focus": recipe.focus,
        "kind": recipe.kind,
        "direction": recipe.direction,
    }


def _answer(shown: Shown) -> None:
    beside = shown.where is not None and shown.where.is_stream
    if shown.given.json:
        print_json(shown.to_json(), to_stderr=beside)
        return
    tell(shown.notices)
    tell_attempts(shown.fitted.receipt.attempts)
    _draw(shown, sys.stderr if beside else sys.stdout)
    if shown.where is not None and not shown.where.is_stream:
        tell_written(shown.where, shown.before.dialect)
    if shown.archive and shown.fitted.checkpoint:
        ref = shown.fitted.checkpoint.ref
        say(f"kept in {safe(shown.archive)} as checkpoint {ref}")
        say(f"`foldline expand {ref}` shows what it stands for, `foldline undo {ref}` undoes it")


def _draw(shown: Shown, stream: TextIO) -> None:
    from foldline.cli.draw import Picture

    receipt, checkpoint = shown.fitted.receipt, shown.fitted.checkpoint
    picture = Picture(console(stream))
    if checkpoint is not None:
        print(f"{safe_text(checkpoint.text)}\n", file=stream)
    picture.line("Receipt", "bold")
    print(f"{safe_text(str(receipt))}\n", file=stream, flush=True)
    picture.compare(
        ("before", receipt.tokens_before, len(shown.before)),
        ("after", receipt.tokens_after, len(shown.fitted.view)),
    )
    if checkpoint is None:
        picture.line(f"Nothing was folded; to fold more, give {shown.more}.")
