"""`foldline import`: transcripts of other agents into the archive, once or for as long as it runs.

How they are found and stored is in archive/transcripts.py and archive/folders.py.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foldline.archive.folders import Brought, Importer
from foldline.archive.transcripts import Failed
from foldline.cli import exits
from foldline.cli.keeping import Asked, asking, line, when
from foldline.cli.options import SHOWN_NOTICES, print_json
from foldline.cli.screen import count, safe, say, working
from foldline.errors import InputError
from foldline.redact import redact_value

if TYPE_CHECKING:
    from foldline.archive import Archive
    from foldline.model import Conversation

INTERVAL = 2.0
"""Seconds between two looks: soon enough for a search in what was just said, and no load for the disk."""
HEADER = 256
"""Bytes in which an export says that it is one."""


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@asking
@click.option("--again", is_flag=True, help="Read also what has not changed since the last import.")
@click.option("--watch", is_flag=True, help="Go on, and take in what is new, until Ctrl-C.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=INTERVAL,
    show_default=True,
    metavar="SECONDS",
    help="With --watch: how long between two looks.",
)
def command(asked: Asked, paths: tuple[str, ...], again: bool, watch: bool, every: float) -> int:
    """Take transcripts of agents into the archive.

    PATH is a file or a folder: ~/.claude/projects, ~/.codex/sessions, ~/.pi/agent/sessions, ~/.local/share/opencode, or
    any other with transcripts in it, packed or not; or a file that `foldline export` wrote. What was imported before
    and has not changed is not read again. The last step of a file that was written to a moment ago waits for the next
    import. A file that cannot be read is named, and the exit code is 3 then; the others are imported.

    \b
    JSON: {"archive": PATH, files, unchanged, messages, "sessions": [NAME],
    "waiting": [FILE], "failed": [{name, what}], forgotten, "exports": [{name,
    sessions, messages, new, checkpoints, masked, failed}]}; messages are those that
    were new, forgotten those that are not taken back. With --watch, one such object
    on a line whenever something was new.
    """
    with asked.opened(make=True) as archive:
        importer = Importer(archive, _read)
        exports = [Path(path) for path in paths if _is_export(path)]
        where = [Path(path) for path in paths if Path(path) not in exports]
        with working(f"looking into {paths[0]}", quiet=asked.json) as life:
            copies = tuple(_taken(archive, path) for path in exports)
            if not watch:
                brought = importer.bring(where, again=again, tell=lambda name: life.step(f"reading {name}"))
        if watch:
            return _watched(asked, archive, importer, where, every)
    _answer(asked, archive, brought, copies)
    return exits.UNREADABLE if brought.failed or any(copy.failed for copy in copies) else exits.FINE


@dataclass(frozen=True, slots=True)
class Copy:
    """What came of an export of another archive: how much is in it, what of that was new, which lines were damaged."""

    name: str
    sessions: int = 0
    messages: int = 0
    new: int = 0
    checkpoints: int = 0
    masked: bool = False
    failed: tuple[str, ...] = ()


def _is_export(path: str) -> bool:
    """It begins as `foldline export` writes it."""
    from foldline.archive.transfer import FORMAT

    if not os.path.isfile(path):  # to open a pipe is to wait for whoever writes to it
        return False
    try:
        with open(path, "rb") as file:
            return f'"format":"{FORMAT}"'.encode() in file.read(HEADER)
    except OSError:
        return False  # reading it will say what is wrong


def _taken(archive: Archive, path: Path) -> Copy:
    with open(path, "rb") as file:
        try:
            done = archive.import_(file)
        except InputError as error:
            return Copy(str(path), failed=(error.what,))
    counts = (done.sessions, done.messages, done.new, done.checkpoints, done.masked)
    return Copy(str(path), *counts, tuple(map(str, done.damaged)))


def _read(given: Any) -> Conversation:
    from foldline import sources

    return sources.read(given, history="all")


def _answer(asked: Asked, archive: Archive, brought: Brought, copies: Sequence[Copy]) -> None:
    if asked.json:
        told = {**asdict(brought), "exports": [asdict(copy) for copy in copies]}
        print_json({"archive": str(archive.path), **redact_value(told)})
        return
    _tell(brought)
    for copy in copies:
        _tell(Brought(failed=tuple(Failed(copy.name, what) for what in copy.failed)))
        masked = "; its secrets are masked" if copy.masked else ""
        print(line(f"{copy.new:,} new of {count(copy.messages, 'message')} of {copy.name}{masked}"))
    if brought.files or not copies:
        print(line(f"{_count(brought)}, into {archive.path}"))


def _count(brought: Brought) -> str:
    read = brought.files - brought.unchanged - len(brought.failed)
    return (
        f"{count(brought.messages, 'new message')} of {count(len(brought.sessions), 'session')} "
        f"from {count(read, 'file')}; {brought.unchanged:,} unchanged, {len(brought.failed):,} not read"
    )


def _tell(brought: Brought) -> None:
    """What was not taken, on stderr."""
    for failed in brought.failed[:SHOWN_NOTICES]:
        say(f"not read: {safe(failed.name)}: {line(failed.what)}")
    if len(brought.failed) > SHOWN_NOTICES:
        say(f"not read: and {len(brought.failed) - SHOWN_NOTICES:,} more; --json names them all")
    if brought.waiting:
        number = len(brought.waiting)
        files = f"{number:,} files" if number > 1 else safe(brought.waiting[0])
        say(f"note: the last step of {files} may still be written; an import takes it once the file has been still")
    if brought.forgotten:
        these = count(brought.forgotten, "message")
        verb = "was forgotten on request, and is" if brought.forgotten == 1 else "were forgotten on request, and are"
        say(f"note: {these} in what was read {verb} not taken back")


def _watched(asked: Asked, archive: Archive, importer: Importer, where: list[Path], every: float) -> int:
    """Looks again and again. Ctrl-C ends it, between two transactions or by taking one back."""
    if not asked.json:
        say(f"watching every {every:g} s; Ctrl-C ends it")
    whole = Brought()
    try:
        while True:
            brought = importer.bring(where)
            whole = whole.plus(brought)
            if brought.messages or brought.failed:
                _news(asked, archive, brought)
            time.sleep(every)
    except KeyboardInterrupt:
        if not asked.json:
            say(f"ended: {count(whole.messages, 'new message')} of {count(len(whole.sessions), 'session')}")
    return exits.FINE


def _news(asked: Asked, archive: Archive, brought: Brought) -> None:
    if asked.json:
        print(json.dumps({"archive": str(archive.path), **redact_value(asdict(brought))}), flush=True)
        return
    _tell(brought)
    if brought.messages:
        new = count(brought.messages, "new message")
        print(f"{when(time.time())}  {new} of {', '.join(brought.sessions)}", flush=True)
