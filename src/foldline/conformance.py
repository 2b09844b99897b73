"""What every archive must do, as tests: ours pass them, and so should yours.

    class TestMine(ArchiveSuite):
        def make(self) -> Backend: return MyArchive(…)       an empty archive each time

ArchiveSuite is for anything a Compactor can use; ShelfSuite is for archives that also look back. The methods are plain
tests for pytest or any other runner; nothing here needs one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from foldline import Budget, Compactor, sources
from foldline.archive.base import Backend, SessionInfo, Stored
from foldline.archive.history import Shelf
from foldline.core.checkpoints.checkpoint import Checkpoint, Recipe
from foldline.core.effects import Recalled, Save, ViewPlan
from foldline.core.facts import Facts
from foldline.core.prune import PruneSettings
from foldline.core.summaries.summary import Summary
from foldline.core.work.ledger import Ledger
from foldline.errors import ArchiveError, FoldlineError, UnknownCheckpoint
from foldline.model import Conversation, Message, Origin, Text
from foldline.testing import Session

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")


def made(text: str = "notes", parent: str = "", skeleton: str = "s") -> Checkpoint:
    """A checkpoint that says so."""
    return Checkpoint(text, skeleton, 0, 2, Recipe(), Summary("checkpoint", ()), Facts(), Ledger(), parent=parent)


def saved(archive: Backend, key: str, checkpoint: Checkpoint | None = None, **how: Any) -> Recalled | None:
    """Saves a plan for a history. `over`, `covered` and `scope` are what they are in Save; the rest is the plan's."""
    over, covered, scope = how.pop("over", None), tuple(how.pop("covered", ())), how.pop("scope", "")
    plan = ViewPlan(key, **{"count": 1, "checkpoint": checkpoint.ref if checkpoint else "", **how})
    return archive.save(Save(plan, checkpoint, covered, over), scope)


def talk(dialect: str = "anthropic", turns: int = 3) -> Session:
    session = Session(dialect, system="be kind")
    for number in range(turns):
        session.user(f"question {number}").tools(("Bash", '{"command": "ls"}', f"file {number}\n" * 3))
    return session


def shown(checkpoint: Checkpoint | None) -> str:
    return checkpoint.text if checkpoint else ""


def refused(kind: type[FoldlineError], call: Callable[[], object]) -> str:
    """What an error says that must come."""
    try:
        answer = call()
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} was to be raised, and the answer was {answer!r}")


class ArchiveSuite:
    """What a Compactor relies on."""

    def make(self) -> Backend:
        raise NotImplementedError("give an empty archive")

    def test_every_message_and_every_result_comes_back_as_it_was(self) -> None:
        archive = self.make()
        for dialect in DIALECTS:
            conversation = talk(dialect).user("🎉 \ud83d lone \0 nul").conversation()
            archive.keep(conversation)
            archive.keep(conversation)
            for message in conversation.messages:
                assert archive.original(message.identity) == message.raw
                for result in message.results:
                    assert archive.original(result.ref) == result.text.encode("utf-8", "surrogatepass")
        assert archive.original("nobody") is None
        assert archive.original("0" * 32) is None

    def test_messages_without_bytes_come_back_too(self) -> None:
        archive = self.make()
        said = Message("user", Origin.USER, (Text("made in Python"),))
        archive.keep(Conversation("anthropic", (said,)))
        assert b"made in Python" in (archive.original(said.identity) or b"")
        checkpoint = made()
        saved(archive, "a", checkpoint, covered=(said.identity,))
        assert archive.expand(checkpoint.ref) == (said,)

    def test_an_empty_conversation_is_no_error(self) -> None:
        archive = self.make()
        archive.keep(talk().conversation().with_messages(()))
        assert archive.recall((), "") is None
        assert archive.known(()) == {}

    def test_sessions_that_take_turns_fork_and_rewind_are_all_kept(self) -> None:
        archive, seen = self.make(), list[Message]()
        whole = talk(turns=6).conversation()
        other = talk(turns=2).user("something else").conversation()
        for count in (2, 5, 3, 9, 4, 18):
            archive.keep(whole.with_messages(whole.messages[:count]))
            archive.keep(other.with_messages(other.messages[:count]))
            seen += [*whole.messages[:count], *other.messages[:count]]
        assert all(archive.original(message.identity) == message.raw for message in seen)

    def test_all_versions_of_a_message_are_kept(self) -> None:
        archive = self.make()
        request = talk().request()
        first = sources.read(request)
        archive.keep(first)
        request["messages"][0] = {"role": "user", "content": [{"type": "text", "text": "question 0", **_MARK}]}
        second = sources.read(request)
        archive.keep(second)
        assert archive.original(first.messages[0].identity) != archive.original(second.messages[0].identity)
        for message in (*first.messages, *second.messages):
            assert archive.original(message.identity) == message.raw

    def test_the_plan_of_the_longest_prefix_is_recalled_in_its_own_scope(self) -> None:
        archive = self.make()
        first, second = made("first"), made("second")
        saved(archive, "a", first)
        saved(archive, "ab", second)
        saved(archive, "abc", made("of others"), scope="theirs")
        assert _checkpoint(archive.recall(("a", "ab", "abc", "abcd"))) == second
        assert _checkpoint(archive.recall(("a", "ax"))) == first
        assert archive.recall(("x",)) is None
        assert shown(_checkpoint(archive.recall(("a", "ab", "abc"), "theirs"))) == "of others"
        assert archive.known(("first", "nobody's")) == {"first": first}

    def test_a_plan_comes_back_as_it_was(self) -> None:
        archive = self.make()
        plan = ViewPlan("a", 9, 4, 1, "", 2, 50, frozenset({"x:1", "y:2#1"}), 77, 1, (0, 3), PruneSettings(limit=7))
        plan = replace(plan, guide=1, guide_as="abc", bare=True)
        assert archive.save(Save(plan)) is None
        assert archive.recall(("a",)) == Recalled(plan)

    def test_the_first_of_two_plans_for_one_history_holds_and_the_other_is_told(self) -> None:
        archive = self.make()
        first, second = made("first"), made("second")
        assert saved(archive, "a", first) is None
        lost = saved(archive, "a", second)
        assert lost is not None
        assert lost.checkpoint == first
        assert archive.known(("second",)) == {}
        assert saved(archive, "a", second, over=lost.plan) is None
        assert _checkpoint(archive.recall(("a",))) == second
        assert archive.known(("first", "second")).keys() == {"first", "second"}, "nothing is taken away"

    def test_of_many_that_save_at_once_one_wins(self) -> None:
        archive, meet = self.make(), threading.Barrier(8)
        lost: list[Recalled | None] = []

        def save(number: int) -> None:
            meet.wait(10)
            lost.append(saved(archive, "a", made(f"by {number}")))

        threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        winner = _checkpoint(archive.recall(("a",)))
        assert winner is not None
        assert [answer.checkpoint for answer in lost if answer] == [winner] * 7

    def test_a_plan_made_ahead_of_need_stands_beside_the_one_in_use(self) -> None:
        archive = self.make()
        ready, in_use, newer = made("ready"), made("shown"), made("newer")
        saved(archive, "a", ready, ready=True)
        found = archive.recall(("a",))
        assert found is not None
        assert (found.checkpoint, found.plan.checkpoint, _checkpoint(found.ready)) == (None, "", ready)
        saved(archive, "a", in_use)
        assert _checkpoint(archive.recall(("a",))) == in_use
        saved(archive, "a", newer, ready=True)
        found = archive.recall(("a", "ab"))
        assert found is not None
        assert _checkpoint(found.ready) == newer

    def test_a_checkpoint_expands_to_all_that_its_lineage_stands_for(self) -> None:
        for dialect in DIALECTS:
            archive, messages = self.make(), talk(dialect).conversation()
            archive.keep(messages)
            names = [message.identity for message in messages.messages]
            parent = made("parent")
            child = made("child", parent.ref)
            saved(archive, "a", parent, covered=names[:2], count=len(names))
            saved(archive, "b", child, covered=names[2:], count=len(names))
            assert archive.expand(child.ref) == messages.messages
            assert archive.expand(parent.ref) == messages.messages[:2]
            assert "nobody" in refused(UnknownCheckpoint, lambda archive=archive: archive.expand("nobody"))  # type: ignore[misc]
            orphan = replace(child, parent="gone")
            saved(archive, "c", orphan)
            refused(UnknownCheckpoint, lambda archive=archive, orphan=orphan: archive.expand(orphan.ref))  # type: ignore[misc]

    def test_what_was_folded_and_never_kept_is_said_to_be_missing(self) -> None:
        """When the fold is to be saved, or at the latest when it is to be brought back."""
        archive = self.make()
        checkpoint = made()

        def fold_and_expand() -> object:
            saved(archive, "a", checkpoint, covered=["ab" * 16])
            return archive.expand(checkpoint.ref)

        assert "abab" in refused(ArchiveError, fold_and_expand)

    def test_folds_in_a_row_expand_to_the_whole_history(self) -> None:
        archive = self.make()
        compactor = Compactor(Budget(window=4_000, reserve=500), archive=archive)
        session, ref = Session(), ""
        for number in range(12):
            session.user(f"question {number}").tools(("Bash", "{}", f"line {number}\n" * 150))
            ref = compactor.fit(session.request()).receipt.checkpoint or ref
        folded = archive.expand(ref)
        assert len(folded) > len(session.messages) // 2
        assert folded == session.conversation().messages[: len(folded)]


class ShelfSuite(ArchiveSuite):
    """What those rely on who look back."""

    def make(self) -> Shelf:
        raise NotImplementedError("give an empty archive")

    def test_an_undone_checkpoint_is_not_recalled_until_it_is_redone(self) -> None:
        archive = self.make()
        parent = made("parent")
        child = made("child", parent.ref)
        saved(archive, "a", parent)
        saved(archive, "ab", child)
        assert archive.undo(child.ref) == parent
        assert _checkpoint(archive.recall(("a", "ab"))) == parent
        assert archive.undo(parent.ref) is None
        assert archive.recall(("a", "ab")) is None
        assert archive.redo(child.ref) is None, "what it builds on is still undone"
        assert archive.redo(parent.ref) == parent
        assert _checkpoint(archive.recall(("a", "ab"))) == child
        refused(UnknownCheckpoint, lambda: archive.undo("nobody"))
        refused(UnknownCheckpoint, lambda: archive.undo(""))

    def test_the_same_fold_made_anew_after_an_undo_holds_again(self) -> None:
        archive = self.make()
        first = made("first")
        saved(archive, "a", first)
        archive.undo(first.ref)
        assert archive.recall(("a",)) is None
        assert saved(archive, "a", first) is None
        assert _checkpoint(archive.recall(("a",))) == first
        assert archive.undone() == frozenset()

    def test_after_an_undo_the_same_history_can_be_folded_anew(self) -> None:
        archive = self.make()
        first, second = made("first"), made("second")
        saved(archive, "a", first)
        archive.undo(first.ref)
        assert saved(archive, "a", second) is None
        assert _checkpoint(archive.recall(("a",))) == second
        archive.undo(second.ref)
        archive.redo(first.ref)
        assert _checkpoint(archive.recall(("a",))) == first

    def test_what_was_said_is_found_by_its_words_where_it_may_be_looked_for(self) -> None:
        archive = self.make()
        spoken = Session().user("the parser loses commas").assistant("parseConfig does it").conversation()
        archive.append(spoken, "ours", project="/here", time=1.0)
        archive.append(Session().user("other commas").conversation(), "theirs", project="/there", time=2.0)
        assert [found.ref for found in archive.search("commas", scope="ours")] == [spoken.messages[0].identity[:16]]
        assert len(archive.search("commas")) == 2
        assert [found.role for found in archive.search("parse_config")] == ["assistant"]
        assert archive.search("commas", role="assistant") == archive.search("nowhere at all") == []
        assert archive.search('"unclosed AND (') == []

    def test_sessions_grow_and_branch_off(self) -> None:
        archive = self.make()
        whole = talk(turns=4).conversation()
        half = whole.with_messages(whole.messages[:6])
        name = archive.append(half, project="ours", title="a talk", time=1.0)
        assert archive.append(whole, time=2.0) == name
        assert archive.append(half, time=3.0) == name, "a prefix changes nothing"
        other = talk(turns=2).user("something else").conversation()
        fork = archive.append(other, time=4.0)
        found = {session.name: session for session in archive.sessions()}
        assert list(found) == [fork, name], "the newest first"
        assert (found[name].messages, found[name].updated, found[name].title) == (len(whole), 2.0, "a talk")
        assert (found[fork].forked, found[fork].project, found[fork].messages) == (name, "ours", len(other))
        assert [stored.message for stored in archive.messages(fork)] == list(other.messages)
        assert [stored.raw for stored in archive.messages(name)] == [message.raw for message in whole.messages]
        assert [session.name for session in archive.sessions(project="theirs")] == []
        refused(ArchiveError, lambda: archive.messages("nobody"))

    def test_scopes_do_not_share_sessions(self) -> None:
        archive, conversation = self.make(), talk().conversation()
        assert archive.append(conversation, "ours") != archive.append(conversation, "theirs")
        assert [session.scope for session in archive.sessions("theirs")] == ["theirs"]

    def test_the_same_history_has_the_same_name_everywhere(self) -> None:
        assert self.make().append(talk().conversation()) == self.make().append(talk(turns=5).conversation())

    def test_whatever_has_a_reference_can_be_fetched_by_it(self) -> None:
        archive, conversation = self.make(), talk().conversation()
        session = archive.append(conversation)
        checkpoint, message = made(), conversation.messages[2]
        saved(archive, "a", checkpoint, covered=[message.identity])
        found = archive.get(message.identity[:8].upper())
        assert isinstance(found, Stored)
        assert (found.message, found.raw, found.position, found.session) == (message, message.raw, 2, session)
        assert archive.get(checkpoint.ref) == checkpoint
        assert isinstance(archive.get(session), SessionInfo)
        assert archive.get(message.results[0].ref) == message.results[0].text
        for wrong in ("abc", "../../etc", "f" * 32, "", "x" * 10_000, "'; DROP TABLE nodes"):
            refused(ArchiveError, lambda wrong=wrong: archive.get(wrong))  # type: ignore[misc]

    def test_a_diff_says_what_was_folded_stubbed_and_shown(self) -> None:
        archive, conversation = self.make(), talk(turns=4).conversation()
        archive.keep(conversation)
        names = [message.identity for message in conversation.messages]
        result = conversation.messages[8].results[0]
        checkpoint = made()
        plan = {"count": len(names), "start": 6, "stubs": frozenset({f"{result.call_id}:{result.ref}"})}
        saved(archive, "a", checkpoint, covered=names[:6], **plan)
        diff = archive.diff(checkpoint.ref)
        assert [line.ref for line in diff.folded] == [name[:16] for name in names[:6]]
        assert [line.position for line in diff.stubbed] == [8]
        assert [line.position for line in diff.shown] == [6, 7, 9, 10, 11]
        assert diff.folded[0].glance == "question 0"


_MARK = {"cache_control": {"type": "ephemeral"}}


def _checkpoint(found: Recalled | None) -> Checkpoint | None:
    return found.checkpoint if found else None


__all__ = ["ArchiveSuite", "ShelfSuite"]
