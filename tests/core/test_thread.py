"""A view goes on from the last one, or it is another: what was shown before is what tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foldline.core.thread import goes_on
from foldline.model import Media, Message, Origin, Text, ToolCall, ToolResult


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


MARK = {"cache_control": {"type": "ephemeral"}}
PICTURE = Media("image", "image/png", "iVBORw0KGgo=")


@pytest.mark.parametrize(
    ("plain", "marked"),
    [
        *((part, replace(part, extra=MARK)) for part in (Text("a"), ToolCall("c", "Bash", "{}"), PICTURE)),
        *(
            (ToolResult("c", (part,)), ToolResult("c", (replace(part, extra=MARK),), form="blocks"))
            for part in (Text("a"), PICTURE)
        ),
        (ToolResult("c", (Text("a"),)), ToolResult("c", (Text("a"),), extra=MARK)),
    ],
)
def test_a_mark_on_what_was_made_here_makes_it_no_other(plain, marked):
    """Of messages that were mended, and of stubs, no bytes say that they are the same."""
    last, now = (Message("user", Origin.TOOL, (part,)) for part in (plain, marked))
    assert goes_on((last,), (now, TWO))
    assert not goes_on((last,), (replace(now, parts=(marked, Text("more"))), TWO))
