"""`foldline undo`, `foldline redo` and `foldline diff`: what a checkpoint changed, and how to be without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from foldline.cli.keeping import Asked, asking, line, page, reference, table
from foldline.cli.options import print_json
from foldline.cli.screen import count

if TYPE_CHECKING:
    from foldline.archive.base import Line
    from foldline.core.checkpoints.checkpoint import Checkpoint


@click.command("undo")
@click.argument("checkpoint")
@asking
def undo(asked: Asked, checkpoint: str) -> None:
    """Show histories from now on as if a checkpoint had not been made.

    So are those that build on it. Nothing is taken away: `foldline redo` brings it back.

    \b
    JSON: {"checkpoint": REF, "undone": true, "in_force": REF or null}; in_force is
    the checkpoint that holds now.
    """
    with asked.opened() as archive:
        now = archive.undo(reference(checkpoint))
    _answer(asked, reference(checkpoint), now, undone=True)


@click.command("redo")
@click.argument("checkpoint")
@asking
def redo(asked: Asked, checkpoint: str) -> None:
    """Take back an undo.

    \b
    JSON: {"checkpoint": REF, "undone": false, "in_force": REF or null}; in_force is
    the checkpoint that holds now.
    """
    with asked.opened() as archive:
        now = archive.redo(reference(checkpoint))
    _answer(asked, reference(checkpoint), now, undone=False)


def _answer(asked: Asked, ref: str, now: Checkpoint | None, *, undone: bool) -> None:
    if asked.json:
        print_json({"checkpoint": ref, "undone": undone, "in_force": now.ref if now else None})
        return
    holds = f"checkpoint {now.ref} holds now" if now else "the history is shown as it is"
    again = f"; `foldline redo {ref}` takes that back" if undone else ""
    other = "" if undone or (now and now.ref == ref) else " (one that it builds on is undone)"
    print(line(f"checkpoint {ref} is {'undone' if undone else 'in use again'}: {holds}{other}{again}"))


@click.command("diff")
@click.argument("checkpoint")
@asking
def diff(asked: Asked, checkpoint: str) -> None:
    """Show what a checkpoint changed in what the model sees.

    \b
    JSON: {"checkpoint": REF, "generation": N, "folded": LINES, "stubbed": LINES,
    "shown": LINES}, LINES being [{ref, position, role, origin, glance}]: the
    messages it stands for, those whose results are shortened, those shown as they
    are.
    """
    with asked.opened() as archive:
        found = archive.diff(reference(checkpoint))
    if asked.json:
        print_json(asdict(found))
        return
    parts: tuple[tuple[str, Sequence[Line]], ...] = (
        (f"folded into checkpoint {found.checkpoint}", found.folded),
        ("shown with shortened results", found.stubbed),
        ("shown as they are", found.shown),
    )
    page("\n\n".join(f"{count(len(rows), 'message')} {what}\n{_drawn(rows)}".rstrip() for what, rows in parts))


def _drawn(rows: Sequence[Line]) -> str:
    columns: Any = [("", "right"), ("message", "left"), ("origin", "left"), ("says", "rest")]
    drawn = [(f"{one.position + 1:,}", one.ref, one.origin, line(one.glance)) for one in rows]
    return table(columns, drawn) if drawn else ""
