"""A view goes on from the last one, or it is another: what was shown before is what tells."""

from __future__ import annotations

import pytest

from foldline.core.thread import goes_on
from foldline.model import Message, Origin, Text


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
