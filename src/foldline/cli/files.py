"""Documents out: to standard output, to a new file, or onto the input itself. Never by halves.

A file is written beside its place under another name, brought to disk, and moved there in one step. An existing file
is replaced only when that was asked for; the input only with --in-place, and only if nobody changed it meanwhile. A
link stays a link: what it points to is written.
How documents are read is the business of `foldline.sources`.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from dataclasses import dataclass

import click

from foldline.cli.exits import CannotWrite
from foldline.cli.screen import safe, safe_json, say

STREAM = "-"
"""Standard input or output, where a file could be named."""
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""How gzip and zstd files begin: they are read unpacked, and written so."""
_NEW_FILE = 0o666
"""What a new file's mode is before the user's mask."""
_PERMISSIONS = 0o7777


@dataclass(frozen=True, slots=True)
class Target:
    """Where the document goes. `path` is "-" for standard output; `seen` is the input's state when it is replaced."""

    path: str = STREAM
    replace: bool = False
    seen: os.stat_result | None = None

    @property
    def is_stream(self) -> bool:
        return self.path == STREAM


def target(source: str, output: str | None, *, in_place: bool | None, force: bool) -> Target:
    """Where to write, decided and refused before any work is done. `in_place` is None where nobody can ask for it."""
    if in_place:
        return _onto(source, output)
    if output is None or output == STREAM:
        return Target()
    if not output:
        raise click.UsageError("the name of the output is empty; name a file, or - for standard output")
    if os.path.isdir(output):
        raise click.UsageError(f"{output} is a folder; name a file in it")
    if os.path.exists(output) and not os.path.isfile(output):  # a pipe or a device is written to, not replaced
        return Target(output)
    return _file(source, output, force, "another name" if in_place is None else "--in-place to replace it")


def _file(source: str, output: str, force: bool, advice: str) -> Target:
    path = os.path.realpath(output) if os.path.islink(output) else output
    if os.path.islink(path):
        raise click.UsageError(f"{output} is a link that leads back to itself; name a file")
    if not os.path.exists(path):
        _must_take(path)
        return Target(path)
    if source != STREAM and os.path.exists(source) and os.path.samefile(source, output):
        raise click.UsageError(f"{output} is the input itself; give {advice}")
    if not force:
        raise click.UsageError(f"{output} exists; give --force to replace it, or another name")
    _must_take(path)
    return Target(path, replace=True)


def _must_take(path: str) -> None:
    """Its folder is there and takes a new file: said now, since a model that was asked in vain has been paid for."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.stat(os.path.join(folder, os.curdir))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _cannot_write(path, error) from None


def _cannot_write(path: str, error: OSError) -> CannotWrite:
    return CannotWrite(f"{path} cannot be written: {error.strerror}; nothing there was changed")


def _onto(source: str, output: str | None) -> Target:
    if output is not None:
        raise click.UsageError("--in-place and --output exclude each other")
    if source == STREAM:
        raise click.UsageError("--in-place needs a file; standard input has no place")
    real = os.path.realpath(source)
    if not os.path.exists(source) or os.path.isdir(real):
        return Target(real, replace=True)  # reading it will say what is wrong
    if not os.path.isfile(real):
        raise click.UsageError(f"{source} is no file that could be replaced; give --output with a name")
    if _is_packed(real):
        raise click.UsageError(f"{source} is packed, and would not be afterwards; give --output with another name")
    _must_take(real)
    return Target(real, replace=True, seen=os.stat(real))


def _is_packed(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4).startswith(_PACKED)
    except OSError:
        return False  # as above


def put(data: bytes, where: Target) -> None:
    """Writes the document."""
    if where.is_stream:
        _put_stream(data)
        return
    try:
        if os.path.exists(where.path) and not os.path.isfile(where.path):
            with open(where.path, "wb") as device:
                device.write(data)
        else:
            _put_file(data, where)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write(where.path, error) from None


def _put_stream(data: bytes) -> None:
    out = sys.stdout.buffer
    out.write(safe_json(data) if sys.stdout.isatty() else data)
    if sys.stdout.isatty() and not data.endswith(b"\n"):
        out.write(b"\n")
    out.flush()


def _put_file(data: bytes, where: Target) -> None:
    folder, name = os.path.split(os.path.abspath(where.path))
    beside = os.path.join(folder, f".{name[:64]}.{secrets.token_hex(6)}.tmp")
    try:
        _write_new(beside, data, where)
        _still_right(where)
        os.replace(beside, where.path)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def _write_new(path: str, data: bytes, where: Target) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW_FILE), "wb") as file:
        if where.replace:
            os.chmod(path, stat.S_IMODE(os.stat(where.path).st_mode) & _PERMISSIONS)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _still_right(where: Target) -> None:
    """The place is still as it was when we looked: free, or the input unchanged."""
    if not where.replace and os.path.lexists(where.path):
        raise CannotWrite(f"{where.path} has come into being meanwhile; it was left as it is")
    if where.seen is not None and _state(os.stat(where.path)) != _state(where.seen):
        raise CannotWrite(f"{where.path} was changed by someone else meanwhile; it was left as it is, so try again")


def _state(file: os.stat_result) -> tuple[int, int, int]:
    return file.st_mtime_ns, file.st_size, file.st_ino


def describe(where: Target) -> str:
    """The place, for people."""
    return "standard output" if where.is_stream else safe(where.path)


def tell_written(where: Target, dialect: str) -> None:
    """Where the document is now, and what its agent has to be told before it goes on from there."""
    say(f"written to {describe(where)}")
    if dialect == "opencode":
        say("`opencode import` adds to a session that is there: `opencode session delete` it first")
