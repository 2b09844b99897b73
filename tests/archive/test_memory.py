"""The archive in memory: everything stays, the first plan of a history holds, checkpoints expand to their originals."""

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline import MemoryArchive
from foldline.core.checkpoint import Checkpoint, Recipe
from foldline.core.effects import Recalled, Save, ViewPlan
from foldline.core.facts import Facts
from foldline.core.ledger import Ledger
from foldline.core.summary import Summary
from foldline.errors import UnknownCheckpoint
from foldline.testing import Session


def checkpoint(text="notes", parent="", stop=2):
    return Checkpoint(text, "s", 0, stop, Recipe(), Summary("checkpoint", ()), Facts(), Ledger(), parent=parent)


def saved(archive, key, made=None, *, over=None, covered=(), scope="", **plan):
    ref = made.ref if made else ""
    return archive.save(Save(ViewPlan(key, 1, checkpoint=ref, **plan), made, covered, over), scope)


@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=8))
def test_every_message_and_every_result_comes_back_as_it_was(texts):
    session = Session()
    for text in texts:
        session.user(text).tools(("Bash", "{}", text * 2))
    conversation = session.conversation()
    archive = MemoryArchive()
    archive.keep(conversation)
    archive.keep(conversation)
    for message in conversation.messages:
        assert archive.original(message.identity) == message.raw
        for result in message.results:
            assert archive.original(result.ref) == result.text.encode("utf-8", "surrogatepass")
    assert archive.original("nobody") is None


def test_sessions_that_take_turns_are_all_kept():
    archive = MemoryArchive()
    one, two = Session().user("one"), Session().user("two")
    for number in range(4):
        for session in (one, two):
            archive.keep(session.assistant(f"{number}").conversation())
    for session in (one, two):
        assert all(archive.original(message.identity) for message in session.conversation().messages)


def test_an_empty_conversation_is_kept_too():
    conversation = Session().user("x").conversation()
    archive = MemoryArchive()
    archive.keep(conversation.with_messages(()))
    assert archive.recall((), "") is None


def test_the_plan_of_the_longest_prefix_is_recalled_in_its_own_scope():
    archive = MemoryArchive()
    first, second = checkpoint("first"), checkpoint("second")
    saved(archive, "a", first)
    saved(archive, "ab", second)
    saved(archive, "abc", checkpoint("of others"), scope="theirs")
    assert archive.recall(("a", "ab", "abc", "abcd")).checkpoint == second
    assert archive.recall(("a", "ax")).checkpoint == first
    assert archive.recall(("x",)) is None
    assert archive.recall(("a", "ab", "abc"), "theirs").checkpoint.text == "of others"
    assert archive.known(("first", "nobody's")) == {"first": first}


def test_a_plan_without_a_checkpoint_is_recalled_as_that():
    archive = MemoryArchive()
    saved(archive, "a", stubs=frozenset({"x"}))
    assert archive.recall(("a",)) == Recalled(ViewPlan("a", 1, stubs=frozenset({"x"})))


def test_the_first_of_two_plans_for_one_history_holds_and_the_other_is_told():
    archive = MemoryArchive()
    first, second = checkpoint("first"), checkpoint("second")
    assert saved(archive, "a", first) is None
    lost = saved(archive, "a", second)
    assert lost.checkpoint == first
    assert archive.known(("second",)) == {}
    assert saved(archive, "a", second, over=lost.plan) is None
    assert archive.recall(("a",)).checkpoint == second
    assert archive.known(("first", "second")).keys() == {"first", "second"}, "nothing is taken away"


def test_of_many_that_save_at_once_one_wins():
    archive, meet, lost = MemoryArchive(), threading.Barrier(8), []

    def save(number):
        meet.wait(10)
        lost.append(saved(archive, "a", checkpoint(f"by {number}")))

    threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
    [thread.start() for thread in threads]
    [thread.join(10) for thread in threads]
    winner = archive.recall(("a",)).checkpoint
    assert [answer.checkpoint for answer in lost if answer] == [winner] * 7


def test_a_plan_made_ahead_of_need_stands_beside_the_one_in_use():
    archive = MemoryArchive()
    ready, shown = checkpoint("ready"), checkpoint("shown")
    saved(archive, "a", ready, ready=True)
    found = archive.recall(("a",))
    assert (found.checkpoint, found.plan.checkpoint, found.ready.checkpoint) == (None, "", ready)
    saved(archive, "a", shown)
    assert archive.recall(("a",)).checkpoint == shown
    newer = checkpoint("newer")
    saved(archive, "a", newer, ready=True)
    assert archive.recall(("a", "ab")).ready.checkpoint == newer


def test_a_checkpoint_expands_to_all_that_its_lineage_stands_for():
    archive = MemoryArchive()
    messages = Session().user("one").assistant("two").user("three").conversation()
    archive.keep(messages)
    names = [message.identity for message in messages.messages]
    parent = checkpoint("parent")
    child = checkpoint("child", parent.ref)
    saved(archive, "a", parent, covered=tuple(names[:2]))
    saved(archive, "b", child, covered=tuple(names[2:]))
    assert archive.expand(child.ref) == messages.messages
    assert archive.expand(parent.ref) == messages.messages[:2]
    with pytest.raises(UnknownCheckpoint, match="there is no checkpoint nobody"):
        archive.expand("nobody")
    orphan = replace(child, parent="gone")
    saved(archive, "c", orphan)
    with pytest.raises(UnknownCheckpoint, match="gone"):
        archive.expand(orphan.ref)
