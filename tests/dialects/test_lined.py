"""Rows put together again, whatever dialect they are of."""

from __future__ import annotations

import codecs

from hypothesis import given
from hypothesis import strategies as st

from foldline.dialects.lined import START, assemble

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
