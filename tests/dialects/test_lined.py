"""Rows put together again, whatever dialect they are of."""

from __future__ import annotations

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.dialects.base import Lined, Source
from foldline.dialects.lined import START, Links, Made, assemble, first_change, plan, unsized
from foldline.model import Message, Origin, Text

ends = st.sampled_from([b"", b"\n", b"\r\n"])


@given(st.data())
def test_each_row_has_a_line_of_its_own_whatever_stood_beside_it(data):
    rows = [b'{"row":%d}' % number + data.draw(ends) for number in range(data.draw(st.integers(1, 6)))]
    places = range(len(rows))
    gone = data.draw(st.sets(st.sampled_from(places)))
    built = {place: b'{"built":%d}' % place + data.draw(ends) for place in data.draw(st.sets(st.sampled_from(places)))}
    added = {place: [b'{"new":%d}\n' % place] for place in data.draw(st.sets(st.sampled_from([START, *places])))}
    left = list(added.get(START, []))
    for place in places:
        left += [built.get(place, rows[place])] if place not in gone else []
        left += added.get(place, [])
    assert [line.rstrip() for line in assemble(rows, gone, built, added).splitlines()] == [row.rstrip() for row in left]


def test_a_byte_order_mark_stays_with_the_first_record():
    assert assemble([codecs.BOM_UTF8, b"{}\n", b"[]\n"], {2}, {}, {}) == codecs.BOM_UTF8 + b"{}\n"


def test_what_changed_first_is_the_first_row_gone_other_or_with_something_before_it():
    rows, made = [b"0", b"1", b"2", b"3"], (Made(1, None, ()),)
    assert first_change(rows, (), {1: b"1"}, ()) == len(rows)
    assert first_change(rows, {3}, {1: b"1", 2: b"x"}, ()) == 2
    assert first_change(rows, {3}, {}, made) == 2
    assert first_change(rows, {0}, {1: b"x"}, made) == 0


def test_a_row_loses_its_size_and_nothing_else():
    row = b'{"a": 1.0,  "message":{"usage":{"in": 7, "tier": "s", "out": 0}} ,"z":"\\u00e9"}\r\n'
    bare = unsized(row, ("message", "usage"), ("in", "out", "cached"))
    assert json.loads(bare) == json.loads(row.replace(b'"in": 7', b'"in": 0'))
    assert bare.endswith(b"}\r\n")
    assert unsized(bare, ("message", "usage"), ("in", "out")) is bare


@given(st.sampled_from([b'{"usage": 3}', b'{"message": [1]}', b'{"message": {"usage": "much"}}', b"{}"]))
def test_a_row_without_a_size_keeps_its_bytes(row):
    assert unsized(row, ("message", "usage"), ("in",)) is row


def test_new_rows_hang_on_what_the_next_message_hung_on_or_the_last_on_the_way_that_is_left():
    links = Links(["a", "b", "c", "d"], ["", "a", "b", "b"])
    way = (0, 1, 3)
    assert links.above(Made(2, 3, ()), way, frozenset()) == "b"
    assert links.above(Made(2, 3, ()), way, frozenset({1})) == "a"
    assert links.above(Made(2, 3, ()), way, frozenset({0, 1})) == ""
    assert links.above(Made(2, None, ()), way, frozenset()) == "b"
    assert links.above(Made(3, None, ()), way, frozenset({3})) == "b"
    assert links.above(Made(START, None, ()), way, frozenset()) == ""
    torn = Links(["a", "b"], ["nowhere", "a"])
    assert torn.above(Made(START, 1, ()), (0, 1), frozenset({0})) == "nowhere"


def message(*rows: int) -> Message:
    return Message("user", Origin.USER, (Text("said"),), rows=rows)


@pytest.mark.parametrize(
    ("rows", "floor", "after", "before"),
    [
        ([(1,), (2, 4), (), (5,)], START, 4, 5),
        ([(1,), (2, 9), (), (5,)], START, 2, 5),  # what came later adds to what stands before
        ([(1,), (2, 9), ()], START, 9, None),
        ([(8,), (3,), (), (9,)], 6, 8, 9),  # what was kept stands behind its summary
        ([(3,), (), (9,)], 6, 6, 9),
        ([(), (3,), (9,)], 6, 6, 3),
    ],
)
def test_new_rows_stand_behind_the_message_before_them(rows, floor, after, before):
    layout = Lined(Source(b""), (b"{}\n",) * 10, ())
    run = plan(layout, [message(*held) for held in rows], floor).made[0]
    assert (run.after, run.before) == (after, before)
