"""`foldline verify` and `foldline forget`: whether the archive is whole, and taking something out of it for good."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foldline.cli import exits
from foldline.cli.keeping import Asked, asking, line, masked, reference
from foldline.cli.options import notices_json, print_json
from foldline.cli.screen import count, say, working

if TYPE_CHECKING:
    from foldline.archive import Archive
    from foldline.archive.base import Trouble

SHOWN = 100
"""Troubles that are printed one by one for people: whoever has more restores a copy."""


@click.command("verify")
@asking
def verify(asked: Asked) -> int:
    """Check that every stored byte is as it was.

    Each against its hash; and that everything refers to something that is there.

    Prints one line for each trouble, and ends with exit code 1 if there is any. A damaged archive that was set aside is
    one for as long as it lies beside the new one.

    \b
    JSON: {"archive": PATH, "sound": true or false, "troubles": [{where, ref,
    what}], "notices": [{code, text, line, offset}]}.
    """
    with asked.opened() as archive, working(f"checking {archive.path}", quiet=asked.json):
        troubles = [*_set_aside(archive), *archive.verify()]
    if asked.json:
        found = [{**asdict(trouble), "what": masked(trouble.what)} for trouble in troubles]
        told = {"sound": not troubles, "troubles": found, "notices": notices_json(archive.notices)}
        print_json({"archive": str(archive.path), **told})
    else:
        for trouble in islice(troubles, SHOWN):
            print(line(f"{trouble.where} {trouble.ref}: {trouble.what}"))
        number = len(troubles)
        say(f"{line(str(archive.path))}: {count(number, 'trouble') if number else 'all is as it was stored'}")
    return exits.VIOLATIONS if troubles else exits.FINE


def _copies(archive: Archive) -> list[Path]:
    """What was set aside when the archive was damaged."""
    return sorted(archive.path.parent.glob(f"{glob.escape(archive.path.name)}.damaged-*"))


def _set_aside(archive: Archive) -> Iterator[Trouble]:
    """Who repaired it may have been another program, which told nobody who reads."""
    from foldline.archive.base import Trouble
    from foldline.archive.place import SIDES

    what = "was set aside because it was damaged; what could not be read of it is missing here, so keep it or move it"
    for copy in _copies(archive):
        if not copy.name.endswith(SIDES):
            yield Trouble("file", copy.name, what)


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
    shared = f"{', '.join(done.shared)} {'shares' if len(done.shared) == 1 else 'share'}"
    kept = (
        f"; {done.kept:,} stay{'s' if done.kept == 1 else ''}, because {shared} {_them(done.kept)}" if done.kept else ""
    )
    quoting = f"{count(len(done.checkpoints), 'checkpoint')} that may quote {_them(done.messages)}"
    verb = "is" if done.messages == 1 else "are"
    messages = f"{count(done.messages, 'message')} of {', '.join(done.sessions)} {verb} forgotten"
    print(line(f"{messages}{f', and {quoting}' if done.checkpoints else ''}{kept}"))
    for copy in _copies(archive):
        say(line(f"note: {copy} was set aside when the archive was damaged, and may still hold it; delete it yourself"))


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


def _meant(archive: Archive, ref: str) -> None:
    """Asks, and takes silence for no."""
    if not sys.stdin.isatty():
        raise click.UsageError("this cannot be undone; give --yes to say that it is meant")
    found = archive.get(reference(ref))
    what = type(found).__name__.replace("SessionInfo", "session").replace("Stored", "message").lower()
    click.confirm(f"Forget {line(ref)}, a {what}, for good?", abort=True, err=True)
