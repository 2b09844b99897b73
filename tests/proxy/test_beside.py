"""Commits beside the request: shared by whoever waits, acknowledged when they are durable, failing each for itself."""

import sqlite3
import threading
import time
from concurrent.futures import wait

import pytest
from tests.archive.crashing import Bomb, child, heard, troubles

from foldline import Archive
from foldline.archive.memory import MemoryArchive
from foldline.errors import Busy, Full
from foldline.proxy import beside as module
from foldline.proxy.beside import AT_ONCE, Beside, Kept
from foldline.testing import Session


def talk(number, turns=1):
    session = Session().user(f"question {number}")
    for turn in range(turns):
        session.tools(("Bash", "{}", f"output {number}-{turn} " * 50))
    return session.conversation()


class Gated(MemoryArchive):
    """Waits at a gate before it keeps anything. What is called bad is refused."""

    def __init__(self, bad=None, error=None):
        super().__init__()
        self.gate, self.batches, self.bad, self.error = threading.Event(), [], bad, error

    def keep_all(self, many):
        self.batch([conversation for conversation, _ in many])

    def keep(self, conversation, scope=""):
        self.batch([conversation])

    def batch(self, conversations):
        assert self.gate.wait(10)
        self.batches.append(len(conversations))
        if self.error or self.bad in conversations:
            raise self.error or Full("no room for this one")
        for conversation in conversations:
            super().keep(conversation)


def kept_by(archive, conversations):
    """What became of each; the first is on its way before the others come."""
    beside = Beside(archive)
    with beside.turn() as kept:
        for conversation in conversations:
            beside.keep(conversation)
    archive.gate.set()
    wait(kept.pending, 10)
    beside.close()
    return [future.exception() for future in kept.pending]


def test_those_who_wait_share_a_commit():
    archive = Gated()
    conversations = [talk(number) for number in range(AT_ONCE + 10)]
    assert kept_by(archive, conversations) == [None] * len(conversations)
    assert sum(archive.batches) == len(conversations)
    assert max(archive.batches) <= AT_ONCE
    assert len(archive.batches) <= 3
    assert all(archive.original(each.messages[0].identity) for each in conversations)


def test_one_that_fails_fails_alone():
    conversations = [talk(number) for number in range(6)]
    outcomes = kept_by(Gated(bad=conversations[3]), conversations)
    assert [type(outcome) for outcome in outcomes] == [type(None)] * 3 + [Full] + [type(None)] * 2


def test_a_file_that_somebody_holds_is_waited_for_once():
    archive = Gated(error=Busy("held"))
    assert all(isinstance(outcome, Busy) for outcome in kept_by(archive, [talk(number) for number in range(9)]))
    assert len(archive.batches) <= 2


def test_nothing_is_acknowledged_before_it_is_on_the_disk(tmp_path):
    archive = Archive(tmp_path / "archive.db")
    beside, statements = Beside(archive), []
    with archive._store.reading() as connection:
        connection.set_trace_callback(statements.append)
        with beside.turn() as kept:
            for number in range(10):
                beside.keep(talk(number))
        assert not any(future.done() for future in kept.pending)
    assert kept.settle() is None
    assert statements.count("COMMIT") <= 2
    other = Archive(tmp_path / "archive.db")
    assert len(other.sessions()) == 10
    assert list(other.verify()) == []
    beside.close()


@pytest.mark.parametrize("statement", [1, 5, 20, 60, 120, 200, 240, 10_000])
def test_killed_in_the_middle_of_a_batch_what_was_acknowledged_is_there(tmp_path, statement):
    """Three times eight at once, each conversation longer than before; killed at some statement of some batch."""
    path = tmp_path / "archive.db"

    def task(say):
        archive, bomb = Archive(path), Bomb("inside", statement)
        beside = Beside(archive)
        say("open\n")
        with archive._store.reading() as connection:
            connection.set_trace_callback(lambda _: bomb("inside"))
        for turn in range(3):
            conversations = [talk(number, turn) for number in range(8)]
            with beside.turn() as kept:
                for conversation in conversations:
                    beside.keep(conversation)
            for conversation, future in zip(conversations, kept.pending, strict=True):
                assert future.exception() is None
                say("".join(f"kept {message.identity}\n" for message in conversation.messages))
        beside.close()

    acknowledged, code = heard(*child(task))
    assert code == (0 if statement == 10_000 else -9)
    assert acknowledged or statement < 200, "where nothing is acknowledged nothing is shown"
    assert troubles(path, acknowledged) == []


class Panic(BaseException):
    """What a library in another language may raise: it is no Exception."""


def test_whatever_a_commit_fails_with_nobody_waits_for_ever():
    outcomes = kept_by(Gated(error=Panic("gone")), [talk(number) for number in range(5)])
    assert [type(outcome) for outcome in outcomes] == [Panic] * 5


def test_a_turn_that_was_kept_before_it_is_fitted_is_kept_once():
    archive, conversation = Gated(), talk(1)
    archive.gate.set()
    beside = Beside(archive)
    with beside.turn() as mine:
        beside.keep(conversation, "a")
    with beside.turn(mine):
        beside.keep(conversation, "a")
        beside.keep(conversation, "another scope")
    assert mine.settle() is None
    assert (len(mine.pending), sum(archive.batches)) == (2, 2)
    beside.close()


def test_one_that_could_not_be_kept_is_tried_again_when_it_is_fitted():
    archive, conversation = Gated(error=Full("no room")), talk(1)
    archive.gate.set()
    beside = Beside(archive)
    with beside.turn() as mine:
        beside.keep(conversation)
    assert isinstance(mine.settle(), Full)
    archive.error = None
    with beside.turn(mine):
        beside.keep(conversation)
    assert mine.settle() is None, "it is kept after all"
    assert archive.original(conversation.messages[0].identity)
    beside.close()


# --- what nobody waits for -------------------------------------------------------------------------------------------


def patiently(beside, number):
    with beside.turn(patient=True) as mine:
        beside.keep(talk(number))
    return mine.pending[0]


def test_what_nobody_waits_for_shares_the_commit_of_what_comes_next(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 60)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    first = patiently(beside, 1)
    time.sleep(0.05)
    assert not first.done()
    assert kept(beside, 2) is None
    assert first.done(), "in the order they came"
    assert archive.deeds == ["keep"]
    assert len(archive.sessions()) == 2
    beside.close()


def test_what_nobody_waits_for_is_written_when_nothing_comes(tmp_path):
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    assert until(patiently(beside, 1).done)
    assert len(archive.sessions()) == 1
    assert until(lambda: indexed(archive) == 3)
    beside.close()


@pytest.mark.parametrize("end", ["flush", "close"])
def test_who_flushes_or_closes_has_all_of_it_written_at_once(tmp_path, monkeypatch, end):
    monkeypatch.setattr(module, "QUIET", 60)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    waiting = [patiently(beside, number) for number in range(3)]
    getattr(beside, end)()
    assert all(future.done() for future in waiting)
    assert len(archive.sessions()) == 3
    beside.close()


def test_where_a_commit_costs_nothing_nobody_is_patient():
    beside = Beside(MemoryArchive())
    began = time.monotonic()
    patiently(beside, 1).result(10)
    assert time.monotonic() - began < module.QUIET
    beside.flush()
    beside.close()


# --- the search index, when there is time ----------------------------------------------------------------------------


class Noted(Archive):
    """Writes down what it is asked to do; `wrong` is raised where the index is to be filled."""

    def __init__(self, path, wrong=None):
        super().__init__(path)
        self.deeds, self.wrong = [], wrong

    def keep_all(self, many, *, findable=True):
        super().keep_all(many, findable=findable)
        self.deeds.append("keep")

    def catch_up(self, most=-1, *, patient=True):
        self.deeds.append("index")
        if self.wrong:
            raise self.wrong
        return super().catch_up(most, patient=patient)

    def settle(self):
        self.deeds.append("settle")
        super().settle()


def kept(beside, number):
    with beside.turn() as mine:
        beside.keep(talk(number))
    return mine.settle()


def indexed(archive):
    with sqlite3.connect(archive.path) as connection:
        return connection.execute("SELECT count(*) FROM said").fetchone()[0]


def until(true):
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return true()


def test_the_index_waits_until_nothing_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 0.2)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    assert [kept(beside, number) for number in range(4)] == [None] * 4
    assert archive.deeds == ["keep"] * 4
    assert indexed(archive) == 0
    assert until(lambda: indexed(archive) == 12)
    assert archive.deeds.count("index") == 2, "a slice at a time"
    assert kept(beside, 5) is None, "and it goes on keeping"
    beside.close()


def test_what_is_left_is_indexed_when_it_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 60)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    assert [kept(beside, number) for number in range(9)] == [None] * 9
    began = time.monotonic()
    beside.close()
    assert time.monotonic() - began < 10
    assert indexed(archive) == 27


def test_where_it_is_never_quiet_the_index_is_not_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 60)
    monkeypatch.setattr(module, "BEHIND", 3)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    assert [kept(beside, number) for number in range(20)] == [None] * 20
    assert until(lambda: indexed(archive) >= 3 * (20 - 3 - 1))
    beside.close()


def test_however_much_comes_at_a_time_the_index_keeps_up(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 60)
    monkeypatch.setattr(module, "BEHIND", 3)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    for number in range(40):
        with beside.turn() as mine:
            beside.keep(longer_talk(number, 12))
        assert mine.settle() is None
    assert until(lambda: indexed(archive) >= 24 * (40 - 3 * module.BEHIND))
    beside.close()
    assert indexed(archive) == 24 * 40


def longer_talk(number, turns):
    session = Session()
    for turn in range(turns):
        session.user(f"question {number} {turn}").assistant(f"answer {number} {turn}")
    return session.conversation()


def test_while_another_process_writes_the_index_is_tried_again_until_it_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 0.2)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    other = sqlite3.connect(archive.path, isolation_level=None, check_same_thread=False)
    assert kept(beside, 1) is None
    other.execute("BEGIN IMMEDIATE")
    assert until(lambda: archive.deeds.count("index") >= 2)
    other.execute("ROLLBACK")
    assert until(lambda: indexed(archive) == 3)
    beside.close()


def test_nobody_who_closes_waits_for_another_process(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 60)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    other = sqlite3.connect(archive.path, isolation_level=None)
    assert kept(beside, 1) is None
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    beside.close()
    assert time.monotonic() - began < archive._store.wait / 2
    other.execute("ROLLBACK")
    assert len(archive.search("question")) == 1


@pytest.mark.parametrize("wrong", [Busy("held"), Full("no room"), Panic("gone"), ValueError("odd")])
def test_an_index_that_cannot_be_filled_costs_nobody_anything(tmp_path, monkeypatch, wrong):
    monkeypatch.setattr(module, "QUIET", 0.001)
    archive = Noted(tmp_path / "archive.db", wrong)
    beside = Beside(archive)
    for number in range(3):
        assert kept(beside, number) is None
        assert until(lambda: archive.deeds[-1] == "index")
    beside.close()
    archive.wrong = None
    assert len(archive.search("question", limit=99)) == 3


def test_what_was_committed_is_moved_to_its_place_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 0.001)
    archive = Noted(tmp_path / "archive.db")
    beside = Beside(archive)
    for number in range(2 * module.SETTLE):
        assert kept(beside, number) is None
        assert until(lambda: archive.deeds[-1] != "keep")
    beside.close()
    assert archive.deeds.count("settle") == 2


def test_it_is_found_through_another_archive_the_moment_it_is_acknowledged(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 60)
    beside, other = Beside(Archive(tmp_path / "archive.db")), Archive(tmp_path / "archive.db")
    for number in range(5):
        assert kept(beside, number) is None
        assert [found.position for found in other.search(f'"question {number}"')] == [0]
    beside.close()


def test_who_comes_when_it_is_closed_is_refused_and_nobody_waits_for_that():
    beside = Beside(MemoryArchive())
    beside.close()
    mine = Kept()
    with pytest.raises(RuntimeError), beside.turn(mine):
        beside.keep(talk(1))
    beside.flush()
    assert isinstance(mine.pending[0].exception(timeout=5), RuntimeError)
