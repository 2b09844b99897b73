"""Where the file lies: places that cannot be used, modes that cannot be changed, copies that only the owner reads."""

import errno
import fcntl
import os
import resource
import shutil
import signal
import sqlite3
import threading
import time
from itertools import takewhile

import pytest
from tests.nobody import NOBODY, as_nobody

from foldline import Archive, Budget, Compactor
from foldline.archive import connection
from foldline.conformance import talk
from foldline.errors import ArchiveError, Busy, Full

from .crashing import child, heard


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "archive.db"


def kept(path, turns=3):
    """A closed archive with a conversation in it."""
    archive, conversation = Archive(path), talk(turns=turns).conversation()
    archive.keep(conversation)
    archive.close()
    return conversation


def mode(path):
    return path.stat().st_mode & 0o777


def refusing(code):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    return refuse


def modes_at(stage, monkeypatch):
    """The modes of what a function has copied, by the name of the copy."""
    found, does = {}, getattr(shutil, stage)

    def looked_at(one, other):
        does(one, other)
        found[other.name] = mode(other)

    monkeypatch.setattr(shutil, stage, looked_at)
    return found


def turn(path):
    """The codes of the notices of a turn for which the folder was closed behind an open archive."""
    archive = Archive(path)
    archive.keep(talk().conversation())
    path.parent.chmod(0)
    fitted = Compactor(Budget(window=100_000), archive=archive).fit(talk(turns=9).request())
    assert fitted.messages == talk(turns=9).request()["messages"]
    path.parent.chmod(0o700)
    archive.keep(talk(turns=9).conversation())
    return {notice.code for notice in fitted.receipt.notices}, archive.sessions()[0].messages


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_row_02_a_folder_that_is_closed_meanwhile_costs_nobody_the_turn(path, tmp_path):
    for parent in (tmp_path, *takewhile(lambda one: "pytest" in str(one), tmp_path.parents)):
        parent.chmod(0o755)
    path.parent.mkdir()
    os.chown(path.parent, NOBODY, NOBODY)
    assert as_nobody(lambda: turn(path)) == "({'archive-failed'}, 27)"


def test_row_02_what_the_system_refuses_is_said_as_our_own(path, monkeypatch):
    with pytest.raises(Full, match=r"cannot be used; give a path that can be read and written \(File name too long\)"):
        Archive(path.with_name("x" * 300))
    monkeypatch.setattr(fcntl, "flock", refusing(errno.ENOSYS))
    with pytest.raises(Full, match="Function not implemented"):
        Archive(path)


def test_row_02_a_disk_that_was_made_read_only_is_read_whatever_the_modes_on_it(path, monkeypatch):
    kept(path)
    path.chmod(0o644)
    monkeypatch.setattr(os, "chmod", refusing(errno.EROFS))
    archive = Archive(path)
    assert archive.sessions()[0].messages == 9
    with pytest.raises(Full, match=r"others can read it, and that cannot be changed \(Read-only file system\)"):
        archive.keep(talk(turns=5).conversation())


def test_row_02_a_rescue_for_which_there_is_no_room_costs_nobody_the_turn(path):
    kept(path, turns=50)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])

    def work(say):
        limit = len(data) // 4
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            Archive(path)
        except Full as error:
            say("it said: cannot be used" if "cannot be used" in str(error) else f"it said: {error}")

    assert heard(*child(work)) == ([("it", "said:", "cannot", "be", "used")], 0)
    left = {one.name for one in path.parent.iterdir()}
    assert left == {f"archive.db.rescue{end}" for end in ("", "-wal", "-shm")}, "no copy takes up the room"
    assert [notice.code for notice in Archive(path).notices] == ["archive-damaged"]


def test_row_43_commits_that_others_could_read_are_closed_to_them(path):
    first = Archive(path)
    first.keep(talk().conversation())
    for name in ("archive.db", "archive.db-wal", "archive.db-shm"):
        path.with_name(name).chmod(0o644)
    Archive(path)
    assert {one.name: mode(one) for one in path.parent.iterdir()} == {
        "archive.db": 0o600,
        "archive.db-wal": 0o600,
        "archive.db-shm": 0o600,
    }


def test_row_43_nobody_else_can_read_what_a_rescue_copies(path, monkeypatch):
    kept(path, turns=50)
    heard(*child(lambda _: (Archive(path).keep(talk(turns=51).conversation()), os.kill(os.getpid(), 9))))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = modes_at("copyfile", monkeypatch)
    before = os.umask(0)
    try:
        assert [notice.code for notice in Archive(path).notices] == ["archive-damaged"]
    finally:
        os.umask(before)
    assert found == {"archive.db.reading": 0o600, "archive.db.reading-wal": 0o600}


def test_row_04_a_file_that_is_being_written_is_not_read_without_a_lock(path, monkeypatch):
    kept(path)
    holder = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN IMMEDIATE", "DELETE FROM sessions", "COMMIT"):
        holder.execute(statement)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(Busy):
        Archive(path, wait=0.1)
    holder.close()
    assert Archive(path, wait=0.1).sessions() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_was_forked_while_another_thread_opened_an_archive_can_open_one(path):
    begun, end = threading.Event(), threading.Event()

    def opening():
        with connection._opening:
            begun.set()
            end.wait(20)

    def work(say):
        signal.alarm(5)
        Archive(path).keep(talk().conversation())
        say("all kept")

    thread = threading.Thread(target=opening)
    thread.start()
    begun.wait(20)
    threading.Timer(0.2, end.set).start()
    assert heard(*child(work)) == ([("all", "kept")], 0)
    thread.join()


def test_what_a_child_keeps_after_its_parent_closed_the_archive_is_kept(path):
    """SQLite in the child took the parent's locks for its own, and the parent deleted the commits it wrote to."""
    archive = Archive(path)
    archive.keep(talk(turns=1).conversation())
    reading, writing = os.pipe()

    def work(say):
        signal.alarm(20)
        archive.keep(talk(turns=2).conversation())
        say("kept first\n")
        os.read(reading, 1)
        archive.keep(talk(turns=3).conversation())
        say("kept second\n")

    process, told = child(work)
    assert os.read(told, 100) == b"kept first\n"
    archive.close()
    os.write(writing, b"x")
    assert heard(process, told) == ([("kept", "second")], 0)
    found = Archive(path)
    assert [found.original(message.identity) for message in talk(turns=3).conversation().messages] == [
        message.raw for message in talk(turns=3).conversation().messages
    ]
    assert list(found.verify()) == []


@pytest.mark.parametrize("way", ["writing", "apart"])
def test_a_child_that_was_forked_while_another_thread_wrote_can_write(path, way):
    archive, begun = Archive(path, wait=0.5), threading.Event()

    def at_it():
        with getattr(archive._store, way)():
            begun.set()
            time.sleep(0.3)

    def work(say):
        archive.keep(talk().conversation())
        say("all kept")

    thread = threading.Thread(target=at_it)
    thread.start()
    begun.wait(20)
    assert heard(*child(work)) == ([("all", "kept")], 0)
    thread.join()
    archive.keep(talk(turns=4).conversation())
    assert list(archive.verify()) == []


def test_whoever_forks_in_the_middle_of_writing_goes_on_with_it(path):
    archive = Archive(path)
    with archive._store.writing() as connection:
        assert heard(*child(lambda say: say("all well"))) == ([("all", "well")], 0)
        connection.execute("INSERT INTO meta VALUES ('there', 'yes')")
    with archive._store.reading() as connection:
        assert connection.execute("SELECT value FROM meta WHERE key = 'there'").fetchone() == ("yes",)


def test_a_path_that_no_file_can_have_is_told(tmp_path):
    with pytest.raises(ArchiveError, match="holds a NUL"):
        Archive(tmp_path / "archive\0.db")
