"""`foldline verify` and `foldline forget`: whether the archive is whole, and taking something out of it for good."""

from __future__ import annotations

import sys
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

import click

from foldline.cli import exits
from foldline.cli.keeping import Asked, asking, line, masked, reference
from foldline.cli.options import print_json
from foldline.cli.screen import say, working

if TYPE_CHECKING:
    from foldline.archive import Archive

SHOWN = 100
"""Troubles that are printed one by one for people: whoever has more restores a copy."""


@click.command("verify")
@asking
def verify(asked: Asked) -> int:
    """Check every stored byte against its hash, and that everything refers to something that is there.

    Prints one line for each trouble, and ends with exit code 1 if there is any.

    \b
    JSON: {"archive": PATH, "sound": true or false, "troubles": [{where, ref,
    what}]}.
    """
    with asked.opened() as archive, working(f"checking {archive.path}", quiet=asked.json):
        troubles = list(archive.verify())
    if asked.json:
        found = [{**asdict(trouble), "what": masked(trouble.what)} for trouble in troubles]
        print_json({"archive": str(archive.path), "sound": not troubles, "troubles": found})
    else:
        for trouble in islice(troubles, SHOWN):
            print(line(f"{trouble.where} {trouble.ref}: {trouble.what}"))
        number = len(troubles)
        say(f"{line(str(archive.path))}: {f'{number:,} troubles' if number else 'all is as it was stored'}")
    return exits.VIOLATIONS if troubles else exits.FINE


@click.command("forget")
@click.argument("ref")
@asking
@click.option("--yes", is_flag=True, help="Do not ask whether that is meant.")
def forget(asked: Asked, ref: str, yes: bool) -> None:
    """Take a message or a session out of the archive for good.

    Its bytes are overwritten, and so is every checkpoint that may quote it. A note of when remains, so that it does not
    come back when the agent sends it again. This cannot be undone. The agent's own file is left as it is.

    \b
    JSON: {"archive": PATH, "refs": [REF], "sessions": [NAME], "shared": [NAME],
    "kept": N, "checkpoints": [REF]}: the messages that are gone, the sessions that
    held them, those a session shares messages with, how many stay because of that,
    and the checkpoints that went with them.
    """
    with asked.opened() as archive:
        if not yes:
            _meant(archive, ref)
        done = archive.forget(reference(ref))
    if asked.json:
        print_json({"archive": str(archive.path), **asdict(done)})
        return
    kept = f"; {done.kept:,} stay, because {', '.join(done.shared)} share them" if done.kept else ""
    folds = f", and {len(done.checkpoints):,} checkpoints that may quote them" if done.checkpoints else ""
    print(line(f"{done.messages:,} messages of {', '.join(done.sessions)} are forgotten{folds}{kept}"))
    for copy in sorted(archive.path.parent.glob(f"{archive.path.name}.damaged-*")):
        say(line(f"note: {copy} was set aside when the archive was damaged, and may still hold it; delete it yourself"))


def _meant(archive: Archive, ref: str) -> None:
    """Asks, and takes silence for no."""
    if not sys.stdin.isatty():
        raise click.UsageError("this cannot be undone; give --yes to say that it is meant")
    found = archive.get(reference(ref))
    what = type(found).__name__.replace("SessionInfo", "session").replace("Stored", "message").lower()
    click.confirm(f"Forget {line(ref)}, a {what}, for good?", abort=True, err=True)
