"""A mapping of a few entries keeps those that were put in last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldline.recent import Recent


@given(st.lists(st.tuples(st.integers(0, 9), st.integers())), st.integers(1, 6))
def test_it_holds_what_was_put_in_last(puts, most):
    held, wanted = Recent(most), []
    for key, value in puts:
        held[key] = value
        wanted = [*(pair for pair in wanted if pair[0] != key), (key, value)][-most:]
    assert list(held.items()) == wanted


def test_an_entry_that_is_put_in_again_is_new():
    held = Recent(2)
    held["a"], held["b"] = 1, 2
    held["a"] = 3
    held["c"] = 4
    assert list(held.items()) == [("a", 3), ("c", 4)]
