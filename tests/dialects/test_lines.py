"""Streams of lines: every whole record is read, every byte is kept, every skip is said."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.dialects import lines, mending


class Row(msgspec.Struct):
    type: str | None = None
    id: str | None = None
    text: msgspec.Raw = msgspec.Raw(b"null")


PEEK = lines.Peek(Row, lambda row: row.type == "row" and row.id is not None)


def record(id_: str, text: object = "") -> bytes:
    return json.dumps({"type": "row", "id": id_, "text": text}, ensure_ascii=False).encode()


def read(data: bytes) -> lines.Rows[Row]:
    rows = lines.split(data.splitlines(keepends=True), PEEK)
    assert b"".join(rows.rows) == data
    assert len(rows.rows) == len(rows.values)
    return rows


def ids(rows: lines.Rows[Row]) -> list[str | None]:
    return [value.id for value in rows.values if value is not None]


def codes(rows: lines.Rows[Row]) -> list[str]:
    return [notice.code for notice in rows.notices]


texts = st.text(max_size=30)
nested = st.recursive(texts | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(texts, inner))


@given(st.lists(st.binary(max_size=40).map(lambda junk: junk.replace(b"\r", b""))))
def test_any_bytes_are_kept(pieces):
    data = b"\n".join(pieces)
    rows = lines.split(data.split(b"\n"), PEEK)
    assert b"".join(rows.rows) == data.replace(b"\n", b"")


@given(st.lists(nested, max_size=8), st.sampled_from([b"\n", b"\r\n"]))
def test_clean_lines_are_one_row_each_and_say_nothing(values, end):
    data = b"".join(record(str(n), value) + end for n, value in enumerate(values))
    rows = lines.split(_split(data), PEEK)
    assert ids(rows) == [str(n) for n in range(len(values))]
    assert rows.notices == ()


def _split(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


@given(nested, st.data())
def test_a_record_torn_anywhere_does_not_hide_the_next_on_its_line(value, data):
    torn = record("torn", value)
    cut = data.draw(st.integers(0, len(torn) - 1))
    line = torn[:cut] + record("whole", {"type": "text", "text": "}{"}) + b"\n"
    rows = lines.split([record("before") + b"\n", line, record("after") + b"\n"], PEEK)
    assert ids(rows) == ["before", "whole", "after"]
    assert b"".join(rows.rows) == record("before") + b"\n" + line + record("after") + b"\n"
    assert sum(n.code not in ("bad-utf8",) for n in rows.notices) == (1 if torn[:cut].strip() else 0)


@given(nested, st.data())
def test_a_truncated_last_line_is_said_and_no_part_of_it_is_taken_for_a_record(value, data):
    torn = record("torn", [{"type": "block", "id": "inner"}, value])
    cut = data.draw(st.integers(1, len(torn) - 1))
    rows = lines.split([record("before") + b"\n", torn[:cut]], PEEK)
    assert ids(rows) == ["before"]
    assert [n.code for n in rows.notices if n.code != "bad-utf8"] == ["truncated"]
    assert rows.notices[-1].line == 2
    assert rows.notices[-1].offset == len(record("before")) + 1
    assert f"({cut} bytes)" in rows.notices[-1].text


@given(st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=4), st.data())
def test_every_record_between_damaged_lines_is_read(junk, data):
    """S3.13: damage costs the damaged lines and nothing else."""
    damaged = [b"!" + piece.replace(b"\n", b" ").replace(b"{", b" ") + b"\n" for piece in junk]
    stream = [line for n, piece in enumerate(damaged) for line in (piece, record(str(n)) + b"\n")]
    rows = lines.split(stream, PEEK)
    assert ids(rows) == [str(n) for n in range(len(damaged))]


def test_two_records_spliced_into_one_line_are_two_rows():
    rows = read(record("a") + record("b") + b"\n" + record("c"))
    assert ids(rows) == ["a", "b", "c"]
    assert rows.rows == (record("a"), record("b") + b"\n", record("c"))
    assert rows.notices == ()


def test_three_records_spliced_with_blanks_between_are_three_rows():
    assert ids(read(record("a") + b" \x00 " + record("b") + b"\t" + record("c") + b"\n")) == ["a", "b", "c"]


def test_runs_of_nul_are_skipped_and_counted():
    rows = read(record("a") + b"\n" + b"\x00" * 512 + record("b") + b"\n" + b"\x00" * 9)
    assert ids(rows) == ["a", "b"]
    assert codes(rows) == ["nul", "nul"]
    assert rows.notices[0].text.endswith("(512 bytes)")
    assert (rows.notices[0].line, rows.notices[0].offset) == (2, len(record("a")) + 1)


def test_nul_after_a_record_is_skipped():
    rows = read(record("a") + b"\x00\x00\n" + record("b"))
    assert ids(rows) == ["a", "b"]
    assert codes(rows) == ["nul"]


def test_a_byte_order_mark_is_set_aside():
    rows = read(b"\xef\xbb\xbf" + record("a") + b"\n")
    assert ids(rows) == ["a"]
    assert rows.rows[0] == b"\xef\xbb\xbf"
    assert codes(rows) == ["bom"]


def test_a_byte_order_mark_alone_is_no_record():
    assert ids(read(b"\xef\xbb\xbf")) == []


def test_bytes_that_are_not_utf8_are_read_and_said():
    """S3.15: invalid UTF-8 stands as U+FFFD."""
    rows = read(record("a").replace(b'"text": ""', b'"text": "caf\xe9"') + b"\n" + record("b"))
    assert ids(rows) == ["a", "b"]
    assert codes(rows) == ["bad-utf8"]
    assert rows.values[0] is not None
    assert mending.decode_raw(rows.values[0].text) == "caf�"


def test_bytes_that_are_not_utf8_in_a_field_that_is_looked_at_are_read_too():
    rows = read(b'{"type":"row","id":"caf\xe9"}\n')
    assert ids(rows) == ["caf�"]


def test_lone_surrogates_are_read():
    assert ids(read(b'{"type":"row","id":"a","text":"\\ud800"}\n')) == ["a"]


def test_blanks_around_records_on_a_damaged_line_are_nothing_to_speak_of():
    rows = read(b"  " + record("a") + b" " + record("b") + b" \n")
    assert ids(rows) == ["a", "b"]
    assert rows.notices == ()


def test_blank_lines_are_nothing_to_speak_of():
    rows = read(b"\n \r\n" + record("a") + b"\r\n\n")
    assert ids(rows) == ["a"]
    assert rows.notices == ()


def test_escapes_json_does_not_know_are_taken_literally():
    rows = read(b'{"type":"row","id":"a","text":"\\d \\\\d \\u00e9 \\u12"}\n')
    assert codes(rows) == ["mended"]
    assert mending.decode(rows.rows[0])["text"] == "\\d \\d é \\u12"


def test_an_object_of_other_kinds_is_kept_and_named():
    rows = read(b'{"type":5}\n' + record("a"))
    assert ids(rows) == ["a"]
    assert codes(rows) == ["not-understood"]


@pytest.mark.parametrize("line", [b"5", b"[1]", b'"text"', b"null", b"NaN", b'{"id":NaN}'])
def test_what_is_no_object_is_no_record(line):
    rows = read(line + b"\n" + record("a"))
    assert ids(rows) == ["a"]
    assert len(rows.notices) == 1


def test_a_record_nested_too_deeply_is_skipped_and_named():
    deep = b'{"type":"row","id":"deep","text":' + b"[" * 10**6 + b"]" * 10**6 + b"}\n"
    rows = read(deep + record("a"))
    assert ids(rows) == ["a"]
    assert codes(rows) == ["too-deep"]


def test_objects_inside_a_torn_record_are_not_taken_for_records():
    inner = b'{"type":"row","id":"inner"}'
    rows = read(b'{"type":"row","id":"torn","text":[' + inner + b"," + inner + b"\n" + record("a"))
    assert ids(rows) == ["inner", "a"]  # the last one stands at the end of its line, as a record would
    assert ids(read(b'{"type":"row","text":[' + inner + b',{"x":1\n' + record("a"))) == ["a"]


def test_beyond_a_cap_the_rest_is_counted():
    rows = read(b"junk\n" * (lines.MOST_NOTICES + 5))
    assert len(rows.notices) == lines.MOST_NOTICES + 1
    assert rows.notices[-1].text == "and 5 more places like these (25 bytes)"


def test_a_hostile_line_does_not_hold_up_the_rest():
    hostile = b'{"a":' * 20_000 + b'"' + b"x" * 200_000 + b"\n"
    start = time.process_time()
    assert ids(read(hostile + record("a"))) == ["a"]
    assert time.process_time() - start < 5


def test_a_row_of_a_damaged_line_carries_the_line_end_once():
    rows = read(b"torn" + record("a") + b"\r\n" + record("b") + b"\r\n")
    assert rows.rows == (b"torn", record("a") + b"\r\n", record("b") + b"\r\n")
