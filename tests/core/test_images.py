"""Pictures: their size from their first bytes, and what they cost."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.counting.images import JPEG_PREFIX, MOST, dimensions, tokens

SIDES = st.integers(1, 16_383)


def png(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(header))


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(20)


def jpeg(width, height, *, before=b"", marker=0xC0):
    frame = struct.pack(">BHH", 8, height, width) + b"\x03" + bytes(9)
    return b"\xff\xd8" + before + bytes((0xFF, marker)) + struct.pack(">H", 2 + len(frame)) + frame + bytes(30)


def segment(size, marker=0xE1):
    return bytes((0xFF, marker)) + struct.pack(">H", size) + bytes(size - 2)


def webp(kind, body):
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", len(body)) + body + bytes(30)


def lossy(width, height):
    return webp(b"VP8 ", bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", width, height))


def lossless(width, height):
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def extended(width, height):
    return webp(b"VP8X", bytes(4) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3])


def text(raw):
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize("make", [png, gif, jpeg, lossy, lossless, extended])
@given(width=SIDES, height=SIDES)
def test_the_size_is_read_from_every_format(make, width, height):
    assert dimensions(text(make(width, height))) == (width, height)


@given(st.lists(st.integers(2, 40_000), max_size=3), SIDES, SIDES)
def test_a_jpeg_may_have_blocks_before_its_frame(sizes, width, height):
    before = b"".join(map(segment, sizes))
    assert dimensions(text(jpeg(width, height, before=before))) == (width, height)


@pytest.mark.parametrize("marker", [0xC1, 0xC2, 0xCF])
def test_other_jpeg_frames_are_known_too(marker):
    assert dimensions(text(jpeg(30, 20, marker=marker, before=segment(10, 0xC4) + b"\xff"))) == (30, 20)


def test_only_a_bounded_part_of_a_jpeg_is_searched():
    far = segment(65_535) * (JPEG_PREFIX // 65_535 + 1)
    assert dimensions(text(jpeg(30, 20, before=far))) is None


def test_line_breaks_and_the_url_alphabet_are_understood():
    raw = jpeg(640, 480, before=segment(300))
    assert dimensions(base64.encodebytes(raw).decode()) == (640, 480)
    assert dimensions(base64.urlsafe_b64encode(raw).decode()) == (640, 480)


@given(st.text() | st.binary().map(text))
def test_anything_else_is_unknown_and_no_error(data):
    assert dimensions(data) is None


@pytest.mark.parametrize(
    "raw", [png(0, 5), jpeg(5, 0), webp(b"ALPH", bytes(10)), b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"]
)
def test_a_damaged_head_is_unknown(raw):
    assert dimensions(text(raw)) is None


@given(SIDES, SIDES)
def test_no_picture_is_free_and_none_is_dearer_than_an_unknown_one(width, height):
    assert 0 < tokens((width, height)) <= tokens(None) == MOST


@given(SIDES, SIDES)
def test_turning_a_picture_changes_nothing(width, height):
    assert tokens((width, height)) == tokens((height, width))


@pytest.mark.parametrize(
    ("size", "cost"),
    [
        ((1_092, 1_092), 1_590),
        ((1_024, 1_024), 1_399),
        ((1_030, 1_030), 1_415),  # scaled to 768 it is 4 tiles, as it comes it would be 9
        ((1_030, 769), 1_105),  # 6 tiles
        ((512, 512), 350),
        ((200, 200), 255),
        ((10_000, 100), 765),  # scaled to 2,048 it is 4 tiles
        ((4_096, 4_096), MOST),
    ],
)
def test_known_pictures_cost_what_the_dearer_rule_says(size, cost):
    assert tokens(size) == cost
