"""The screenshot the user pastes: a dispatch board of 320 by 200 pixels with amounts a hundred times too large.

The pixels go into stored blocks, not compressed ones: compressors differ between builds, and the file must not.
"""

from __future__ import annotations

import struct
import zlib

WIDTH, HEIGHT, SCALE = 320, 200, 2
FONT = {
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717", "6": "74757", "7": "71122",
    "8": "75757", "9": "75717", ".": "00002", ",": "00024", "-": "00700", ":": "02020", " ": "00000",
    "A": "75755", "B": "65656", "C": "74447", "E": "74747", "F": "74744", "H": "55755", "I": "72227", "L": "44447",
    "M": "57755", "N": "57775", "O": "75557", "P": "75744", "S": "74717", "U": "55557",
}  # fmt: skip
"""Three by five pixels; each digit is one row of three bits."""

ROWS = (
    ("NACHNAHME OFFEN", ""),
    ("AACHEN", ""),
    ("NF48215431", "106.086,00"),
    ("NF48983813", "173.215,00"),
    ("BONN", ""),
    ("NF48215350", "2.792,00"),
    ("NF48983888", "138.444,00"),
    ("NF48983891", "146.319,00"),
    ("PL-28364", "12.326,00"),
    ("SUMME:", "3.158.583,00"),
)


def screenshot() -> bytes:
    grid = [bytearray(WIDTH) for _ in range(HEIGHT)]
    grid[22][:] = b"\1" * WIDTH
    for number, (left, right) in enumerate(ROWS):
        top = 6 + number * 19
        _print(grid, left, 10 if right == "" else 24, top)
        _print(grid, right, WIDTH - 12 - len(right) * 4 * SCALE, top)
    return _png([_packed(row) for row in grid])


def _print(grid: list[bytearray], text: str, left: int, top: int) -> None:
    for place, letter in enumerate(text):
        for y, row in enumerate(FONT[letter]):
            for x in range(3):
                if int(row) >> (2 - x) & 1:
                    _dot(grid, left + (place * 4 + x) * SCALE, top + y * SCALE)


def _dot(grid: list[bytearray], x: int, y: int) -> None:
    for line in grid[y : y + SCALE]:
        line[x : x + SCALE] = b"\1" * SCALE


def _packed(row: bytearray) -> bytes:
    bits = "".join(map(str, row))
    return b"\0" + int(bits, 2).to_bytes(WIDTH // 8, "big")


def _png(lines: list[bytes]) -> bytes:
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 1, 3, 0, 0, 0)
    palette = bytes((250, 250, 247, 31, 41, 71))
    chunks = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", _stored(b"".join(lines))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _stored(data: bytes) -> bytes:
    """A zlib stream of one stored block; the data is below its limit of 65,535 bytes."""
    size = struct.pack("<HH", len(data), len(data) ^ 0xFFFF)
    return b"\x78\x01\x01" + size + data + struct.pack(">I", zlib.adler32(data))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
