"""What a caller gives, opened: dicts, lists, bytes, text, paths; packed files unpacked; everything within limits.

    read(given)            → Conversation, streamed line by line where it is a file of lines
    write(conversation)    → bytes, text or a value, as it was given (a packed file comes back unpacked, as bytes)

What the contents mean is the business of `foldline.dialects`.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, get_args

import zstandard

from foldline import dialects
from foldline.core.arguments import check_known
from foldline.dialects import jsontext
from foldline.dialects.base import Source
from foldline.dialects.lined import History
from foldline.errors import InputError, MalformedInput, TooLarge
from foldline.model import Conversation

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MAGIC = 4
_STEP = 1024
"""Packed bytes unpacked at once: even where every few of them stand for 128 KiB, that is some 30 MB and no more."""
_LONGEST_PATH = 4096
"""Linux's limit: a longer string is no path, and looking for it would fail for another reason."""
write = dialects.write


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be read at all. Both count unpacked bytes, so that a small file cannot unpack into all memory."""

    file: int = 1 << 30
    line: int = 256 << 20


_USUAL = Limits()
_CHECK = "check the name"
_OR_TEXT = f"{_CHECK}; JSON given as text begins with {{ or ["
"""What to do where there is no such file; the second where a text was given, which may have been meant as no path."""


@dataclass(frozen=True)
class Opened:
    """A source, and its lines where it is streamed; `lines` is None where the source holds its data."""

    source: Source
    lines: Iterator[bytes] | None = None


def read(
    given: Any,
    dialect: str | None = None,
    *,
    history: History = "live",
    pick: int = 0,
    limits: Limits = _USUAL,
) -> Conversation:
    """The conversation in a dict, a list, bytes, text or a file.

    `dialect` names its format (detected otherwise). `history` is "live" for what an agent would send next, "all" for
    everything a session file holds. `pick` chooses from a file that holds several conversations.
    """
    check_known("history", history, get_args(History))
    opened = open_source(given, limits)
    return dialects.read(opened.source, opened.lines, dialect, history, pick)


def open_source(given: Any, limits: Limits = _USUAL) -> Opened:
    """Whatever was given, ready to be read. Nothing is read of a file beyond its first bytes."""
    if isinstance(given, (bytes, bytearray, memoryview)):
        return _open_bytes(bytes(given), limits)
    if isinstance(given, os.PathLike):
        return _open_path(os.fspath(given), limits)
    if isinstance(given, str):
        return _open_text(given, limits) if _is_text(given) else _open_path(given, limits, _OR_TEXT)
    if isinstance(given, (Mapping, list, tuple)):
        return Opened(_checked(Source(jsontext.encode(given), "value"), limits))
    kinds = "a dict, a list of messages, bytes, JSON text or a path"
    raise InputError(f"cannot read {type(given).__name__}; give {kinds}")


def _is_text(given: str) -> bool:
    """JSON begins with a bracket, and no path is empty, or as long or as many-lined as text."""
    start = given.lstrip("\ufeff \t\r\n")[:1]
    return start in ("{", "[", "") or "\n" in given or "\0" in given or len(given) > _LONGEST_PATH


def _open_text(text: str, limits: Limits) -> Opened:
    return Opened(_checked(Source(jsontext.bytes_of(text), "text"), limits))


def _open_bytes(data: bytes, limits: Limits) -> Opened:
    if _packing(data):
        return Opened(Source(b""), _lines(io.BufferedReader(io.BytesIO(data)), "", limits))
    return Opened(_checked(Source(data), limits))


def _checked(source: Source, limits: Limits) -> Source:
    if len(source.data) > limits.file:
        raise TooLarge(_over(len(source.data), limits.file, "the input", "file"))
    return source


def _open_path(path: str | bytes, limits: Limits, advice: str = _CHECK) -> Opened:
    name = os.fsdecode(path)
    try:
        state = os.stat(path)
        if stat.S_ISDIR(state.st_mode):
            raise InputError("this is a folder; name a file in it", source=name)
        if state.st_size > limits.file:
            raise TooLarge(_over(state.st_size, limits.file, "the file", "file"), source=name)
        stream = open(path, "rb")  # noqa: SIM115 - the generator of lines closes it
    except FileNotFoundError:
        raise InputError(f"there is no such file; {advice}", source=name) from None
    except PermissionError:
        raise InputError("this may not be read; check who owns it and its mode", source=name) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be opened: {error}; check the name", source=name) from None
    return Opened(Source(b"", "bytes", name), _lines(stream, name, limits))


def _packing(start: bytes) -> str:
    if start.startswith(_GZIP):
        return "gzip"
    return "zstd" if start.startswith(_ZSTD) else ""


def _lines(stream: io.BufferedReader, name: str, limits: Limits) -> Iterator[bytes]:
    """The lines of a file, unpacked if need be. The file is read once, a line at a time."""
    with stream as file:
        packing = _packing(file.peek(_MAGIC)[:_MAGIC])
        plain = _unpacked(file, packing)
        try:
            yield from _limited(plain, name, limits)
        except (zlib.error, gzip.BadGzipFile, EOFError, zstandard.ZstdError) as error:
            what = f"the {packing} packing is damaged ({error}); unpack what can be saved of it and give that"
            raise MalformedInput(what, source=name) from None
        except OSError as error:
            raise InputError(f"reading failed: {error}; check the disk or the connection", source=name) from None


class _Unzstd(io.RawIOBase):
    """Unpacks frame after frame, and notices when the last one is cut off, which the library's own reader does not."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._packed = file, b""
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            self._packed = self._packed or self._file.read(_STEP)
            if not self._packed and self._frame is not None:
                raise zstandard.ZstdError("it is cut off")
            if not self._packed:
                return 0
            self._unpack()
        size = min(len(buffer), len(self._plain))
        buffer[:size], self._plain = self._plain[:size], self._plain[size:]
        return size

    def _unpack(self) -> None:
        frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
        self._plain = memoryview(frame.decompress(self._packed))
        self._packed, self._frame = (frame.unused_data, None) if frame.eof else (b"", frame)


def _unpacked(file: BinaryIO, packing: str) -> BinaryIO:
    if packing == "gzip":
        return gzip.GzipFile(fileobj=file, mode="rb")  # type: ignore[return-value]
    if packing == "zstd":
        return io.BufferedReader(_Unzstd(file))
    return file


def _limited(file: BinaryIO, name: str, limits: Limits) -> Iterable[bytes]:
    offset = number = 0
    while line := file.readline(min(limits.line, limits.file) + 1):
        number += 1
        if len(line) > limits.line:
            what = _over(None, limits.line, "this line", "line")
            raise TooLarge(what, source=name, line=number, offset=offset)
        offset += len(line)
        if offset > limits.file:
            raise TooLarge(_over(None, limits.file, "the input", "file"), source=name)
        yield line


def _over(size: int | None, limit: int, what: str, setting: str) -> str:
    has = f"{what} has {size:,} bytes" if size is not None else f"{what} is longer"
    return f"{has}, over the limit of {limit:,}; give Limits({setting}=…) to allow more. Nothing was changed"
