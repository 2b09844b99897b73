"""A view goes on from the last one, or it is another: what was shown before is what tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foldline.core.thread import BRANCHES, Thread, goes_on
from foldline.model import Grammar, Media, Message, Opaque, Origin, Text, ToolCall, ToolResult


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
        (ToolResult("c", (Opaque("odd"), Text("a"))), ToolResult("c", (Opaque("odd"), replace(Text("a"), extra=MARK)))),
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
    assert not goes_on((last,), (replace(now, parts=(replace(marked, **OTHER[type(marked)]),)), TWO))


OTHER = {
    Text: {"text": "b"},
    ToolCall: {"id": "d"},
    Media: {"kind": "file"},
    ToolResult: {"content": (Opaque("other"), Text("a"))},
}


def shown(*histories):
    """What is left once each of these histories was shown as it is, and the last of them comes again."""
    thread = Thread.begin(Grammar())
    for history in histories:
        thread.chain.digests(history)
        thread = thread.showing(history, len(history))
    return thread


THREE, FORK = said("three"), said("fork")


def test_a_view_that_begins_with_what_was_shown_last_extends_it():
    thread = shown((ONE, TWO))
    thread.chain.digests((ONE, TWO, THREE))
    assert thread.is_extended_by((ONE, TWO, THREE))
    assert not thread.is_extended_by((OURS, THREE))
    assert thread.broken((ONE, TWO, THREE), 3) is None
    assert thread.broken((OURS, THREE), 3) == thread.last[0]


def test_nothing_was_shown_of_another_history():
    thread = shown((ONE, TWO))
    thread.chain.digests((FORK,))
    assert not thread.is_extended_by((FORK,))
    assert thread.broken((OURS,), 1) is None


def test_after_a_rewind_and_back_the_longest_part_that_was_shown_counts():
    thread = shown((ONE, TWO), (ONE,))
    thread.chain.digests((ONE, TWO, THREE))
    assert thread.broken((OURS, THREE), 3).count == 2


def test_only_the_last_view_of_a_history_is_remembered_and_of_forks_the_newest():
    forks = [(ONE, said(f"fork {number}")) for number in range(BRANCHES + 2)]
    assert [last.view for last in shown(*forks).last] == forks[: -BRANCHES - 1 : -1]
    assert [last.view for last in shown((ONE,), (ONE, TWO), (ONE, TWO, THREE)).last] == [(ONE, TWO, THREE)]


def test_a_list_without_any_words_is_shown_too():
    assert shown((), ()).last[0].view == ()


def test_a_history_that_went_back_within_its_last_words_breaks_nothing():
    """What stands behind the last words, such as results, changes no digest: fewer messages are a rewind."""
    result = Message("user", Origin.TOOL, (ToolResult("c", (Text("so"),)),), raw=b"{}")
    thread = shown((ONE, TWO, result))
    for now, broken in (((ONE, TWO), False), ((ONE, TWO, result), True)):
        thread.chain.digests(now)
        assert (thread.broken((ONE, TWO), len(now)) is not None) == broken
