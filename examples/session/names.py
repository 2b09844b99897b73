"""Identifiers and seals that look real, derived from their place so that they never change."""

from __future__ import annotations

import base64
import hashlib
import uuid

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def token(prefix: str, *key: object) -> str:
    """`prefix` and 22 letters and digits, as the API's own ids have."""
    number = int.from_bytes(_hash(prefix, *key), "big")
    letters = []
    for _ in range(22):
        number, rest = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[rest])
    return prefix + "".join(letters)


def row_id(*key: object) -> str:
    return str(uuid.UUID(bytes=_hash("row", *key)[:16], version=4))


def seal(text: str) -> str:
    """Stands where a thinking block's signature stands. It has the shape of one and proves nothing."""
    parts = [_hash("seal", number, text) for number in range(4 + len(text) // 120)]
    return base64.b64encode(b"\x12" + b"".join(parts)).decode("ascii")


def _hash(*key: object) -> bytes:
    return hashlib.sha256("\x1f".join(map(str, key)).encode("utf-8")).digest()
