"""What a picture costs: its size from its first bytes, and tokens from its size.

Standard library only; nothing is decoded but a bounded prefix of the base64. What other media cost is in `meter`.
"""

from __future__ import annotations

import base64
import binascii
import math

JPEG_PREFIX = 1 << 17
"""Bytes of a JPEG searched for its frame header: an EXIF block and a colour profile fill 64 kB each at most."""

HEADER = 64
"""Bytes that hold the size in every other format."""

LONG_EDGE = 2_576
"""Pixels: larger pictures are scaled down to it first (Claude's high resolution; its other models stop at 1,568)."""

PIXELS_PER_TOKEN = 750
"""Claude's published rule: width × height / 750."""

MOST = 4_784
"""Tokens of the dearest picture under that rule; also what a picture of unknown size counts as."""

TILE, TILE_TOKENS, TILE_BASE = 512, 170, 85
TILED_LONG, TILED_SHORT = 2_048, 768
"""OpenAI's published rule: 85 tokens and 170 for each tile of 512 pixels, once the picture fits 2,048 by 768."""

_WHITE = str.maketrans("", "", " \t\r\n")


def dimensions(data: str) -> tuple[int, int] | None:
    """Width and height of a PNG, JPEG, GIF or WebP given as base64 text; None when they cannot be told."""
    head = _decode(data, HEADER)
    if head[:8] == b"\x89PNG\r\n\x1a\n" and head[12:16] == b"IHDR":
        size = (_big(head[16:20]), _big(head[20:24]))
    elif head[:6] in (b"GIF87a", b"GIF89a"):
        size = (_little(head[6:8]), _little(head[8:10]))
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        size = _webp(head)
    elif head[:2] == b"\xff\xd8":
        size = _jpeg(_decode(data, JPEG_PREFIX))
    else:
        return None
    return size if min(size) > 0 else None


def tokens(size: tuple[int, int] | None) -> int:
    """What the picture costs, by the dearer of the two published rules."""
    return MOST if size is None else max(_by_area(*size), _by_tiles(*size))


def _by_area(width: int, height: int) -> int:
    scale = min(1.0, LONG_EDGE / max(width, height))
    return min(MOST, math.ceil(width * scale * height * scale / PIXELS_PER_TOKEN))


def _by_tiles(width: int, height: int) -> int:
    scale = min(1.0, TILED_LONG / max(width, height))
    scale *= min(1.0, TILED_SHORT / (min(width, height) * scale))
    return TILE_BASE + TILE_TOKENS * math.ceil(width * scale / TILE) * math.ceil(height * scale / TILE)


def _decode(data: str, size: int) -> bytes:
    """The first bytes of base64 text. Line breaks and the URL alphabet are understood; damaged text gives b""."""
    text = data[: size * 2].translate(_WHITE)[: (size + 2) // 3 * 4]
    text = text[: len(text) // 4 * 4].replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text.encode("ascii", "replace"))
    except binascii.Error:
        return b""


def _big(raw: bytes) -> int:
    return int.from_bytes(raw, "big")


def _little(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def _webp(head: bytes) -> tuple[int, int]:
    kind = head[12:16]
    if kind == b"VP8X":
        return _little(head[24:27]) + 1, _little(head[27:30]) + 1
    if kind == b"VP8L" and head[20:21] == b"\x2f":
        bits = _little(head[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF
    return 0, 0


def _jpeg(raw: bytes) -> tuple[int, int]:
    """Walk from marker to marker up to the frame header (SOF0 to SOF15, without the three that are tables)."""
    at = 2
    while at + 9 <= len(raw) and raw[at] == 0xFF:
        marker = raw[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(raw[at + 7 : at + 9]), _big(raw[at + 5 : at + 7])
        else:
            at += 2 + max(2, _big(raw[at + 2 : at + 4]))
    return 0, 0
