"""Two lists agree as far as they agree, whatever the size of a block."""

from __future__ import annotations

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from foldline.core.history.prefix import BLOCK, shared

lists = st.lists(st.integers(0, 2), max_size=6).map(tuple)


@given(lists, lists, st.sampled_from([0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK]))
def test_it_is_the_length_of_the_common_beginning(one, other, before):
    old, new = (7,) * before + one, (7,) * before + other
    same = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
    assert shared(old, new) == len(list(same))


def test_what_never_equals_itself_is_known_by_identity():
    odd = float("nan")
    assert shared((odd, 1), (odd, 2)) == 1
