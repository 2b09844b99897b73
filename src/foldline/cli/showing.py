"""`foldline show` and `foldline expand`: what a reference stands for, masked for reading or byte for byte."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from foldline.cli.keeping import Asked, asking, line, lines, masked, page, reference, table, when
from foldline.cli.options import print_json
from foldline.cli.screen import count, safe, safe_text, say

if TYPE_CHECKING:
    from foldline.archive import Archive
    from foldline.archive.base import SessionInfo, Stored
    from foldline.core.checkpoints.checkpoint import Checkpoint
    from foldline.model import Message, Part

_RAW = click.option("--raw", is_flag=True, help="Write the very bytes that were stored, secrets included.")


@click.command("show")
@click.argument("ref")
@asking
@_RAW
def show(asked: Asked, ref: str, raw: bool) -> None:
    """Show a message, a tool result, a checkpoint or a session.

    Messages and tool results are named by the reference a search, a stub or a session shows; of a message, the first
    six digits are enough. Secrets are masked, unless --raw is given.

    \b
    JSON: {"kind": "message", ref, session, position, role, origin, dialect, time,
    text}, {"kind": "result", ref, text}, {"kind": "checkpoint", ref, generation,
    parent, first, last, text} or {"kind": "session", name, project, title,
    checkpoints: [{ref, generation, time, messages, undone}], messages: [{ref,
    position, role, origin, glance}]}. first, last are counted from 1, position from
    0.
    """
    ref = reference(ref)
    with asked.opened() as archive:
        found = archive.get(ref)
        value, text = _told(archive, ref, found)
        if raw:
            _write(_bytes(archive, ref, found))
        elif asked.json:
            print_json(value)
        else:
            page(text)


def _told(archive: Archive, ref: str, found: Any) -> tuple[dict[str, Any], str]:
    """For programs, and for people."""
    from foldline.archive.base import SessionInfo, Stored
    from foldline.core.checkpoints.checkpoint import Checkpoint

    match found:
        case Stored():
            return _message(found), f"{_heading(found)}\n\n{lines(words(found.message))}"
        case Checkpoint():
            return _checkpoint(found), lines(found.text)
        case SessionInfo():
            return _session(archive, found)
    return {"kind": "result", "ref": ref, "text": masked(found)}, lines(found)


def _message(found: Stored) -> dict[str, Any]:
    names = ("ref", "session", "position", "role", "origin", "dialect", "time")
    return {
        "kind": "message",
        **{name: getattr(found, name) for name in names},
        "text": masked(words(found.message)),
    }


def _heading(found: Stored) -> str:
    place = f"message {found.position + 1:,} of session {found.session}"
    return safe(f"{found.ref} · {found.origin} · {when(found.time)} · {place} · {found.dialect}")


def _checkpoint(found: Checkpoint) -> dict[str, Any]:
    return {
        "kind": "checkpoint",
        "ref": found.ref,
        "generation": found.generation,
        "parent": found.parent,
        "first": found.start + 1,
        "last": found.stop,
        "text": masked(found.text),
    }


def _session(archive: Archive, found: SessionInfo) -> tuple[dict[str, Any], str]:
    from dataclasses import asdict

    from foldline.archive.history import lines as glances
    from foldline.archive.listing import checkpoints

    made = checkpoints(archive, found.name)
    said = glances(enumerate(stored.message for stored in archive.messages(found.name)))
    value = {
        "kind": "session",
        "name": found.name,
        "project": masked(found.project),
        "title": masked(found.title),
        "checkpoints": [asdict(one) for one in made],
        "messages": [asdict(one) for one in said],
    }
    about = [f"session {found.name}", found.dialect, found.title, found.project, found.source, when(found.updated)]
    folds = [
        f"checkpoint {one.ref}: made {when(one.time)} after {count(one.messages, 'message')}, "
        f"generation {one.generation}{', undone' if one.undone else ''}"
        for one in made
    ]
    columns = [("", "right"), ("message", "left"), ("origin", "left"), ("says", "rest")]
    rows = [(f"{one.position + 1:,}", one.ref, one.origin, line(one.glance)) for one in said]
    return value, "\n".join((" · ".join(filter(None, map(line, about))), *folds, "", table(columns, rows)))


def _bytes(archive: Archive, ref: str, found: Any) -> bytes:
    from foldline.archive.base import SessionInfo, Stored
    from foldline.core.checkpoints.checkpoint import Checkpoint

    if isinstance(found, SessionInfo):
        raise click.UsageError("--raw is for one message, result or checkpoint; `foldline export` gives whole sessions")
    if isinstance(found, Stored):
        return found.raw
    if isinstance(found, Checkpoint):
        return found.text.encode("utf-8", "surrogatepass")
    return archive.original(ref) or b""


def _write(data: bytes) -> None:
    """The very bytes; on a terminal, with what it would obey made visible."""
    say("note: this is not masked; secrets in it are shown")
    if sys.stdout.isatty():
        print(safe_text(data.decode("utf-8", "replace")))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


@click.command("expand")
@click.argument("checkpoint")
@asking
@_RAW
def expand(asked: Asked, checkpoint: str, raw: bool) -> None:
    """Show all messages that a checkpoint stands for, as they came.

    With --raw, the very bytes of one message after another, a line end after each. Otherwise secrets are masked.

    \b
    JSON: {"checkpoint": REF, "messages": [{ref, position, role, origin, text}]},
    the oldest first; position is counted from 0.
    """
    ref = reference(checkpoint)
    with asked.opened() as archive:
        found = archive.expand(ref)
    if raw:
        _write(b"".join(_row(message) for message in found))
    elif asked.json:
        print_json({"checkpoint": ref, "messages": [_expanded(at, message) for at, message in enumerate(found)]})
    else:
        page("\n\n".join(_section(at, message) for at, message in enumerate(found, 1)))


def _row(message: Message) -> bytes:
    from foldline.archive.rebuild import said

    data = said(message)
    return data if data.endswith(b"\n") else data + b"\n"


def _expanded(at: int, message: Message) -> dict[str, Any]:
    return {
        "ref": message.identity[:16],
        "position": at,
        "role": message.role,
        "origin": message.origin.value,
        "text": masked(words(message)),
    }


def _section(number: int, message: Message) -> str:
    return f"── {number:,} · {message.origin.value} · {message.identity[:16]}\n{lines(words(message))}"


def words(message: Message) -> str:
    """All that a message says, as text."""
    return "\n\n".join(_words(message.parts))


def _words(parts: Iterable[Part]) -> Iterator[str]:
    from foldline.model import Media, Opaque, Text, Thinking, ToolCall, ToolResult

    for part in parts:
        match part:
            case Text(text=text):
                yield text
            case Thinking(text=text):
                yield f"[thinking]\n{text}"
            case ToolCall():
                yield f"[calls {part.name}, {part.id}]\n{_arguments(part)}"
            case ToolResult():
                yield f"[{'error' if part.is_error else 'result'} {part.ref} of {part.call_id}]\n{part.text}"
            case Media():
                yield f"[{part.kind} {part.mime} {part.url or f'{len(part.data):,} characters of base64'}]"
            case Opaque():
                yield f"[{part.kind or 'unknown'}] {masked(json.dumps(dict(part.extra), default=str))[:500]}"


def _arguments(call: Any) -> str:
    """With their secrets masked by their names, which text alone may not tell."""
    from foldline.redact import redact_value

    given = call.parsed()
    return json.dumps(redact_value(dict(given)), indent=2, ensure_ascii=False) if given else str(call.arguments)
