"""Two lists agree as far as they agree, whatever the size of a block."""

from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.history.prefix import BLOCK, goes_on, shared
from foldline.model import Message, Origin, Text

lists = st.lists(st.integers(0, 2), max_size=6).map(tuple)


@given(lists, lists, st.sampled_from([0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK]))
def test_it_is_the_length_of_the_common_beginning(one, other, before):
    old, new = (7,) * before + one, (7,) * before + other
    same = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
    assert shared(old, new) == len(list(same))


def test_what_never_equals_itself_is_known_by_identity():
    odd = float("nan")
    assert shared((odd, 1), (odd, 2)) == 1


def said(text, role="user", raw=b"{}"):
    return Message(role, Origin.USER if role == "user" else Origin.ASSISTANT, (Text(text),), raw=raw)


ONE, TWO, OURS = said("one"), said("two"), said("[go on]", raw=None)


@pytest.mark.parametrize(
    ("last", "now", "holds"),
    [
        ((), (ONE,), True),
        ((ONE,), (ONE, TWO), True),
        ((ONE, OURS), (ONE, OURS, TWO), True),
        ((ONE,), (said("one, marked"), TWO), True),
        ((ONE, OURS, TWO), (said("one, marked"), OURS, TWO), True),
        ((ONE, TWO), (ONE,), False),
        ((ONE, OURS), (ONE,), False),
        ((ONE, OURS), (ONE, TWO), False),
        ((ONE, TWO), (ONE, OURS), False),
        ((said("one"), OURS), (said("one, marked"), TWO), False),
        ((ONE, said("system", "system")), (ONE, TWO, said("system", "system")), False),
    ],
)
def test_a_view_goes_on_where_only_the_client_changed_what_it_begins_with(last, now, holds):
    assert goes_on(last, now) is holds
