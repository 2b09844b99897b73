"""Bytes by their hash: stored once, packed where that pays, checked against the hash when they come back.

What the bytes mean, and which message they belong to, is not known here.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping

from foldline.errors import ArchiveError, Corrupt
from foldline.model import digest

PLAIN, PACKED, MASKED = 0, 1, 2
"""How bytes are stored. MASKED is added to either: secrets were taken out, so the hash is that of other bytes."""
LOST = 4
"""The bytes were lost when the file was damaged. They are stored again when they come again."""
WORTH_PACKING = 512
"""Bytes below which packing saves less than it costs to unpack."""
LEVEL = 1
"""zlib's fastest: on transcripts it saves nearly as much as the others, at a third of the time."""
FORGOTTEN = "forgotten on request"
"""What stands in the place of what was taken out, with the day."""
AT_ONCE = 500
"""Hashes asked for in one statement; SQLite allows 32,766 in newer builds and 999 in older ones."""
MOST = 1 << 30
"""Bytes that a blob may unpack to: what is over it was not packed here."""

_WANTING = "SELECT id, codec FROM blobs WHERE codec & ? AND gone IS NULL AND id IN (SELECT value FROM json_each(?))"

Mask = Callable[[bytes], bytes]


class Blobs:
    """The blobs of one archive. `mask`, if given, takes the secrets out before anything is stored."""

    def __init__(self, mask: Mask | None = None) -> None:
        self._mask = mask

    def put(
        self, connection: sqlite3.Connection, wanted: Mapping[bytes, bytes], ids: Mapping[bytes, int] | None = None
    ) -> dict[bytes, int]:
        """Stores bytes under their hashes, those that are not there yet. The ids of all of them.

        What was forgotten stays so, whoever brings it again. `ids`, if known, are of those that are there.
        """
        ids = self.ids(connection, wanted) if ids is None else dict(ids)
        new = [name for name in wanted if name not in ids]
        if new:
            first = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM blobs").fetchone()[0]
            rows = ((first + n, name, *self._stored(wanted[name])) for n, name in enumerate(new))
            connection.executemany("INSERT INTO blobs(id, hash, codec, size, data) VALUES (?, ?, ?, ?, ?)", rows)
            ids.update((name, first + n) for n, name in enumerate(new))
        return ids

    @property
    def masks(self) -> bool:
        """What is stored may not be what was given."""
        return self._mask is not None

    def shown(self, text: str) -> str:
        """What is known of a conversation besides its messages, such as its title: masked where their bytes are."""
        return (
            text if self._mask is None else self._mask(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
        )

    @property
    def wanting(self) -> int:
        """The codecs of what is not as it came: lost, or masked where that is not this archive's way."""
        return LOST if self._mask is not None else LOST | MASKED

    def heal(
        self, connection: sqlite3.Connection, wanted: Mapping[bytes, bytes], ids: Mapping[bytes, int] | None = None
    ) -> frozenset[int]:
        """Puts back what was lost or came masked from elsewhere, where it comes again. The ids of what is whole now."""
        names = {blob: name for name, blob in (self.ids(connection, wanted) if ids is None else ids).items()}
        if not names:
            return frozenset()
        rows = connection.execute(_WANTING, (self.wanting, json.dumps(list(names)))).fetchall()
        lost = [blob for blob, codec in rows if codec == LOST or digest(wanted[names[blob]]) == names[blob].hex()]
        if lost:
            connection.executemany(
                "UPDATE blobs SET codec = ?, size = ?, data = ? WHERE id = ?",
                [(*self._stored(wanted[names[blob]]), blob) for blob in lost],
            )
        return frozenset(lost)

    def ids(self, connection: sqlite3.Connection, names: Iterable[bytes]) -> dict[bytes, int]:
        """The ids of those hashes that are there."""
        asked, found = list(names), dict[bytes, int]()
        for start in range(0, len(asked), AT_ONCE):
            some = asked[start : start + AT_ONCE]
            marks = ",".join("?" * len(some))
            found.update(connection.execute(f"SELECT hash, id FROM blobs WHERE hash IN ({marks})", some))  # noqa: S608
        return found

    def get(self, connection: sqlite3.Connection, blob: int) -> bytes:
        """The bytes. Raises Corrupt when they are not what was stored, ArchiveError when they were forgotten."""
        row = connection.execute("SELECT hash, codec, size, data, gone FROM blobs WHERE id = ?", (blob,)).fetchone()
        if row is None:
            raise missing(blob)
        return unpacked(*row)

    def pack(self, data: bytes) -> bytes:
        """Bytes that have no hash of their own, masked and packed like the others, with their codec in front."""
        codec, _, stored = self._stored(data)
        return bytes((codec,)) + stored

    def _stored(self, data: bytes) -> tuple[int, int, bytes]:
        """The codec, the size and the bytes that go into the table."""
        codec = PLAIN
        if self._mask is not None and (masked := self._mask(data)) != data:
            data, codec = masked, MASKED
        if len(data) >= WORTH_PACKING and len(packed := zlib.compress(data, LEVEL)) < len(data):
            return codec + PACKED, len(data), packed
        return codec, len(data), data


def absent(codec: int, gone: float | None) -> str:
    """Why bytes are not there; "" when they are."""
    if gone is not None:
        return forgotten(gone)
    return "lost when the archive was damaged" if codec == LOST else ""


def forgotten(when: float) -> str:
    return f"{FORGOTTEN} on {time.strftime('%Y-%m-%d', time.gmtime(when))}"


def missing(blob: int) -> Corrupt:
    return Corrupt(f"the bytes of blob {blob} are missing; run verify to see what else is")


def unpacked(name: bytes, codec: int, size: int, data: bytes, gone: float | None) -> bytes:
    """The bytes of a row as they were given. Raises like `Blobs.get`."""
    if gone is not None:
        raise ArchiveError(f"{name.hex()[:16]}: {absent(codec, gone)}; its bytes are gone")
    if codec == LOST:
        raise Corrupt(f"{name.hex()[:16]}: {absent(codec, gone)}; its bytes are in the damaged file, if anywhere")
    plain = _inflated(name, data, size) if codec & PACKED else data
    if not codec & MASKED and digest(plain) != name.hex():
        raise Corrupt(_CHANGED.format(name.hex()[:16]))
    return plain


def unpack(data: bytes) -> bytes:
    """What `Blobs.pack` was given."""
    return _inflated(b"", data[1:], MOST) if data[:1] in (b"\x01", b"\x03") else data[1:]


def _inflated(name: bytes, data: bytes, size: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, max(1, min(size, MOST)))
    except zlib.error:
        raise Corrupt(_CHANGED.format(name.hex()[:16] or "a message's parts")) from None


_CHANGED = "the stored bytes of {} no longer match their hash; run verify, and restore the file from a copy"
