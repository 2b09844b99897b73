"""`foldline export`: the archive, or some sessions of it, as lines of JSON. What they hold is in archive/transfer.py.

A file appears under its name once it is whole, and only its owner can read it. `foldline import` takes it in again.
"""

from __future__ import annotations

import io
import os
import secrets
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, BinaryIO

import click

from foldline.cli.exits import CannotWrite
from foldline.cli.files import STREAM, Target, describe, target
from foldline.cli.keeping import Asked, asking, line
from foldline.cli.options import print_json
from foldline.cli.screen import count, safe_json, say, working

if TYPE_CHECKING:
    from foldline.archive.transfer import Exported

Write = Callable[[BinaryIO], "Exported"]


@click.command("export")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@asking
@click.option("-o", "--output", metavar="OUT", help="Write to this file instead of standard output.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option("--unmasked", is_flag=True, help="Leave secrets as they are, byte for byte.")
def export(asked: Asked, sessions: tuple[str, ...], output: str | None, force: bool, unmasked: bool) -> None:
    """Write sessions, or the whole archive, as one JSON record a line.

    Secrets are masked unless --unmasked is given. `foldline import` takes such a file into another archive.

    \b
    JSON (on standard error while the records are on standard output):
    {"archive": PATH, "output": PATH or "-", "unmasked": true or false, sessions,
    messages, checkpoints, masked}, the last four being numbers of what was written.
    """
    where = target(STREAM, output, in_place=False, force=force)
    with asked.opened() as archive:

        def write(file: BinaryIO) -> Exported:
            return archive.export(file, sessions or None, mask=not unmasked)

        with working(f"writing {archive.path}", quiet=asked.json):
            done = _to_stream(write) if where.is_stream else _to_file(write, where)
    figures = {"archive": str(archive.path), "output": where.path, "unmasked": unmasked, **asdict(done)}
    if asked.json:
        print_json(figures, to_stderr=where.is_stream)
        return
    named = {"session": done.sessions, "message": done.messages, "checkpoint": done.checkpoints}
    told = [*(count(number, name) for name, number in named.items() if number)]
    counts = ", ".join([*told, *([f"{done.masked:,} masked"] if done.masked else [])])
    say(line(f"{counts or 'nothing'} written to {describe(where)}{', not masked' if unmasked else ''}"))


def _to_stream(write: Write) -> Exported:
    """To standard output as it comes; to a terminal with what it would obey made visible."""
    out = sys.stdout.buffer
    if not sys.stdout.isatty():
        done = write(out)
        out.flush()
        return done
    held = io.BytesIO()
    done = write(held)
    out.write(safe_json(held.getvalue()))
    out.flush()
    return done


def _to_file(write: Write, where: Target) -> Exported:
    folder, name = os.path.split(os.path.abspath(where.path))
    beside = os.path.join(folder, f".{name[:64]}.{secrets.token_hex(6)}.tmp")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            done = write(file)
            file.flush()
            os.fsync(file.fileno())
        if not where.replace and os.path.exists(where.path):
            raise CannotWrite(f"{where.path} has come into being meanwhile; it was left as it is")
        os.replace(beside, where.path)
    except OSError as error:
        raise CannotWrite(f"{where.path} cannot be written: {error.strerror}; nothing there was changed") from None
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
    return done
