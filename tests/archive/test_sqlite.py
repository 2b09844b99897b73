"""The file itself: who may read it, what happens when it is full, damaged, held, newer, linked or shared."""

import io
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import zlib
from itertools import pairwise, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nobody import as_nobody

from foldline import Archive, Budget, Compactor
from foldline.archive import schema
from foldline.archive.connection import Store
from foldline.conformance import made, saved, talk
from foldline.core.effects import Recalled, Save, ViewPlan
from foldline.errors import ArchiveError, Busy, Corrupt, Full
from foldline.model import Conversation, Message, Origin, Text
from foldline.testing import Session

SECRET = "AKIAIOSFODNN7EXAMPLQ"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "archive.db"


def kept(path, turns=20):
    """A closed archive with a session and a checkpoint in it."""
    archive, conversation = Archive(path), talk(turns=turns).conversation()
    archive.keep(conversation)
    saved(archive, "a", made(), covered=[message.identity for message in conversation.messages[:4]])
    archive.close()
    return conversation


def raw(path):
    return sqlite3.connect(path, isolation_level=None)


# --- where it lies and who may read it: row 43 ---------------------------------------------------------------------


def test_row_43_only_the_owner_may_read_it(path):
    before = os.umask(0)
    try:
        archive = Archive(path)
        archive.keep(talk().conversation())
    finally:
        os.umask(before)
    assert {entry.name for entry in path.parent.iterdir()} == {"archive.db", "archive.db-wal", "archive.db-shm"}
    assert {entry.stat().st_mode & 0o777 for entry in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_row_43_a_file_that_others_could_read_is_closed_to_them(path):
    kept(path)
    path.chmod(0o644)
    Archive(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_row_43_a_symbolic_link_is_refused_and_what_it_points_to_untouched(path, tmp_path):
    target = tmp_path / "victim"
    target.write_bytes(b"precious")
    path.parent.mkdir()
    path.symlink_to(target)
    with pytest.raises(ArchiveError, match=r"symbolic link.*give the file it stands for: .*victim"):
        Archive(path)
    assert target.read_bytes() == b"precious"


def test_the_path_is_found_in_the_environment_or_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("FOLDLINE_HOME", raising=False)
    assert Archive().path == tmp_path / ".local/share/foldline/archive.db"
    assert Archive("~/mine.db").path == tmp_path / "mine.db"
    monkeypatch.setenv("FOLDLINE_HOME", str(tmp_path / "elsewhere"))
    assert Archive().path == tmp_path / "elsewhere" / "archive.db"


@pytest.mark.parametrize("name", ["a b%20?mode=ro#x.db", "ü\U0001f389.db", ":memory:"])
def test_any_name_is_a_file_of_that_name(name, tmp_path):
    Archive(tmp_path / name).keep(talk().conversation())
    assert (tmp_path / name).read_bytes().startswith(b"SQLite format 3")


def test_folders_devices_and_impossible_places_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError, match=r"is a folder; give a file in it"):
        Archive(tmp_path)
    with pytest.raises(Full, match=r"cannot be made.*give a path that can be written"):
        Archive(tmp_path / "file" / "archive.db")
    with pytest.raises(ArchiveError, match="no regular file"):
        Archive("/dev/null")


def test_a_closed_archive_says_so(path):
    archive = Archive(path)
    archive.close()
    archive.close()
    with pytest.raises(ArchiveError, match="was closed; open it again"):
        archive.original("x")


# --- full and read-only: row 2 -------------------------------------------------------------------------------------


def bulky(count, start=0):
    session = Session()
    for number in range(start, start + count):
        session.user(f"question {number}").tools(("Bash", "{}", os.urandom(3_000).hex()))
    return session


def test_row_02_a_full_archive_costs_nobody_the_turn_and_claims_no_checkpoint(path):
    archive = Archive(path, cap=600_000)
    archive.keep(talk().conversation())
    compactor = Compactor(Budget(window=40_000, reserve=1_000), archive=archive)
    fitted = compactor.fit(bulky(150).request())
    codes = [notice.code for notice in fitted.receipt.notices]
    assert codes.count("archive-failed") == 1, codes
    assert "there is no room for more" in str(fitted.receipt.notices)
    assert fitted.receipt.tokens_after <= fitted.receipt.room
    for message in talk().conversation().messages:
        assert archive.original(message.identity) == message.raw, "what was there is there still"


def test_row_02_what_did_not_fit_is_kept_when_there_is_room_again(path):
    small, conversation = Archive(path, cap=200_000), bulky(60).conversation()
    with pytest.raises(Full, match=r"no room for more in .*archive\.db; make room or give another path"):
        small.keep(conversation)
    assert all(small.original(message.identity) is None for message in conversation.messages), "all or nothing"
    with small._store.reading() as connection:
        connection.execute("PRAGMA max_page_count = 100000")
    small.keep(conversation)
    assert all(small.original(message.identity) == message.raw for message in conversation.messages)


def child(code, *args, **how):
    """Runs a program that is given as text; what it prints."""
    program = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_row_02_a_disk_that_takes_no_more_is_full_and_the_file_stays_whole(path):
    conversation = kept(path)
    said = child(
        """
        import os, resource, sys
        from foldline import Archive
        from foldline.errors import Full
        from foldline.testing import Session
        archive, session = Archive(sys.argv[1]), Session()
        limit = max(os.stat(sys.argv[1] + end).st_size for end in ("", "-wal")) + 100_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        full = 0
        for number in range(20):
            session.user(f"q{number}").tools(("Bash", "{}", os.urandom(20_000).hex()))
            try:
                archive.keep(session.conversation())
            except Full as error:
                full += 1
        print(full)
        """,
        path,
    )
    assert int(said[0]) > 0
    archive = Archive(path)
    assert all(archive.original(message.identity) == message.raw for message in conversation.messages)
    with archive._store.reading() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def read_by_nobody(path):
    """What an archive says to a user who may not write to it."""
    archive = Archive(path)
    said = [len(archive.expand(archive.recall(("a",)).checkpoint.ref)), len(archive.sessions())]
    with pytest.raises(Full, match="nothing can be kept in"):
        archive.keep(Session().user("new").conversation())
    return said


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
@pytest.mark.parametrize(("folder", "file"), [(0o755, 0o644), (0o777, 0o444), (0o555, 0o666)])
def test_row_02_what_cannot_be_written_can_be_read(folder, file, tmp_path):
    for parent in (tmp_path, *takewhile(lambda one: "pytest" in str(one), tmp_path.parents)):
        parent.chmod(0o755)  # as many as there are: a run on several cores has one more
    path = tmp_path / "shared" / "archive.db"
    kept(path)
    path.chmod(file)
    path.parent.chmod(folder)
    assert as_nobody(lambda: read_by_nobody(path)) == "[4, 1]"


def test_row_02_where_there_is_nothing_and_nothing_can_be_made_that_is_said(path, monkeypatch):
    path.parent.mkdir()
    path.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(Full, match=r"there is no archive in .*, and none can be made"):
        Archive(path)


# --- another program's, or changed: rows 3 and 6; damaged files are in test_damage.py ---------------------------------


def test_row_03_another_programs_database_is_not_touched(path):
    path.parent.mkdir()
    raw(path).execute("CREATE TABLE theirs(x)")
    with pytest.raises(ArchiveError, match=r"another program's database \(it has theirs\)"):
        Archive(path)
    assert raw(path).execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def test_row_06_bytes_that_changed_are_not_given_out(path):
    conversation = kept(path)
    connection = raw(path)
    message = conversation.messages[2]
    data = connection.execute("SELECT data FROM blobs WHERE hash = ?", (bytes.fromhex(message.identity),)).fetchone()[0]
    changed = data.replace(b"file", b"fine") if b"file" in data else data[:-1] + b"~"
    connection.execute("UPDATE blobs SET data = ? WHERE data = ?", (changed, data))
    with pytest.raises(Corrupt, match=message.identity[:16]):
        Archive(path).original(message.identity)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE plans SET data = '{}'", "plan 1 cannot be read"),
        ("UPDATE plans SET data = 'no json'", "plan 1 cannot be read"),
        ("UPDATE blobs SET data = x'00', codec = 1", "no longer match their hash"),
        ("UPDATE blobs SET data = x'7b7d', codec = 2", "checkpoint .* cannot be read"),
        ("DELETE FROM blobs", "are missing"),
    ],
)
def test_row_03_damaged_rows_are_told_and_not_guessed(damage, said, path):
    kept(path)
    raw(path).execute(damage)
    archive = Archive(path)
    with pytest.raises(Corrupt, match=said):
        archive.recall(("a",))
    fitted = Compactor(Budget(window=100_000), archive=archive).fit(talk().request())
    assert fitted.messages == talk().request()["messages"], "the turn goes on"


def test_row_03_parts_that_cannot_be_read_are_told(path):
    archive = Archive(path)
    archive.keep(Conversation("anthropic", (Message("user", Origin.USER, (Text("made here" * 100),)),)))
    name = archive.sessions()[0].name
    assert next(archive.messages(name)).message.text == "made here" * 100
    for damage in ("x'01ffff'", "x'007b7d'"):
        raw(path).execute(f"UPDATE parts SET data = {damage}")
        with pytest.raises(Corrupt, match="parts"):
            archive.messages(name)


def test_what_was_forgotten_is_said_to_be(path):
    conversation = kept(path)
    raw(path).execute("UPDATE blobs SET data = x'', gone = 1.0")
    with pytest.raises(ArchiveError, match="forgotten on request"):
        Archive(path).original(conversation.messages[0].identity)


def test_row_42_a_blob_that_unpacks_to_more_than_was_stored_is_cut_short(path):
    conversation = kept(path)
    name = bytes.fromhex(conversation.messages[0].identity)
    raw(path).execute("UPDATE blobs SET codec = 1, data = ? WHERE hash = ?", (zlib.compress(bytes(1 << 24)), name))
    with pytest.raises(Corrupt):
        Archive(path).original(name.hex())


# --- held by others: rows 4 and 23 ---------------------------------------------------------------------------------


def test_row_04_an_archive_that_another_process_holds_is_busy_and_the_turn_goes_on(path):
    kept(path)
    archive = Archive(path, wait=0.05)
    holder = raw(path)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match=r"another process holds .*; try again: what was not kept is kept then"):
        archive.keep(talk(turns=30).conversation())
    request = talk(turns=30).request()
    fitted = Compactor(Budget(window=100_000), archive=archive).fit(request)
    assert [notice.code for notice in fitted.receipt.notices] == ["archive-failed"]
    assert fitted.request is request
    assert archive.recall(("a",)).checkpoint == made(), "reading needs no one's leave"
    holder.execute("COMMIT")
    archive.keep(talk(turns=30).conversation())
    assert archive.sessions()[0].messages == 90


def test_row_04_threads_that_queue_for_a_held_archive_do_not_wait_one_after_the_other(path):
    kept(path)
    archive, holder, waits = Archive(path, wait=0.4), raw(path), []
    holder.execute("BEGIN IMMEDIATE")

    def work(number):
        since = time.monotonic()
        with pytest.raises(Busy):
            archive.keep(talk(turns=30 + number).conversation())
        waits.append(time.monotonic() - since)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(waits) == 12
    assert max(waits) < 3, "a third of what it is when each begins to wait behind the other"


def keeping(path, number, count, queue):
    archive = Archive(path, wait=30)
    session = Session().user("shared").assistant("shared too").user(f"by {number}")
    for at in range(count):
        archive.keep(session.assistant(f"{number}-{at}").conversation())
    won = saved(archive, "a", made(f"by {number}")) is None
    queue.put((number, won, session.request()))


def test_row_23_two_processes_keep_everything_and_one_checkpoint_wins(path):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=keeping, args=(path, number, 15, queue)) for number in range(2)]
    [worker.start() for worker in workers]
    answers = [queue.get(timeout=60) for _ in workers]
    [worker.join(30) for worker in workers]
    archive = Archive(path)
    assert sum(won for _, won, _ in answers) == 1
    winner = next(number for number, won, _ in answers if won)
    assert archive.recall(("a",)).checkpoint.text == f"by {winner}"
    assert sorted(session.messages for session in archive.sessions()) == [18, 18]
    with archive._store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM nodes").fetchone() == (2 + 2 * 16,)


def test_twenty_threads_share_one_archive(path):
    archive, meet, failed = Archive(path), threading.Barrier(20), []

    def work(number):
        try:
            session = Session().user(f"thread {number}")
            meet.wait(10)
            for at in range(5):
                conversation = session.assistant(f"{number}-{at}").conversation()
                archive.keep(conversation)
                assert archive.original(conversation.messages[-1].identity) == conversation.messages[-1].raw
                archive.recall(("a",))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert failed == []
    assert sorted(session.messages for session in archive.sessions()) == [6] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def _asked(number, turns):
    session = Session().user(f"session {number}")
    for turn in range(turns):
        session.tools(("Bash", "{}", f"file {turn}\n"))
    return session.conversation()


@settings(max_examples=12)  # two files each
@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=8),
    cuts=st.sets(st.integers(1, 8)),
)
def test_what_is_kept_together_is_kept_as_one_after_the_other(steps, cuts):
    """Conversations of three sessions, each shorter or longer than before, in batches of any size."""
    many = [(_asked(number, turns), f"scope {number}") for number, turns in steps]
    with tempfile.TemporaryDirectory() as folder:
        alone, together = Archive(f"{folder}/alone.db"), Archive(f"{folder}/together.db")
        for conversation, scope in many:
            alone.keep(conversation, scope)
        for start, stop in pairwise(sorted({0, len(many), *(cut for cut in cuts if cut < len(many))})):
            together.keep_all(many[start:stop])
        assert list(together.verify()) == []
        kept = [sorted((each.name, each.scope, each.messages) for each in a.sessions()) for a in (alone, together)]
        assert kept[0] == kept[1]
        for conversation, _ in many:
            assert all(together.original(message.identity) == message.raw for message in conversation.messages)


def test_of_a_batch_that_fails_nothing_is_kept(path):
    archive = Archive(path)
    odd = _asked(1, 0).with_messages((Message("user", Origin.USER, (Text("x"),), raw=7),))
    with pytest.raises((TypeError, ArchiveError)):
        archive.keep_all([(_asked(0, 2), ""), (odd, "")])
    assert archive.sessions() == []
    archive.keep_all([(_asked(0, 2), "")])
    assert len(archive.sessions()) == 1
    assert list(archive.verify()) == []


def test_a_forked_child_has_a_connection_of_its_own(path):
    archive, conversation = Archive(path), talk().conversation()
    archive.keep(conversation)
    with archive._store.reading():  # held at the fork, and for ever in the child
        pid = os.fork()
        if pid == 0:
            archive.keep(talk(turns=5).conversation())
            os._exit(archive.sessions()[0].messages)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 15
    assert archive.sessions()[0].messages == 15
    archive.keep(talk(turns=6).conversation())
    assert archive.sessions()[0].messages == 18


# --- versions: row 5 -----------------------------------------------------------------------------------------------


def contents(connection):
    made_of = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    tables = ("blobs", "nodes", "sessions", "checkpoints", "plans", "active", "said")
    return made_of, [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def test_row_05_a_migration_that_fails_leaves_the_file_as_if_it_had_never_begun(path):
    kept(path)
    connection = raw(path)
    before = contents(connection)
    steps = (
        *schema.MIGRATIONS,
        ("CREATE TABLE more(x)", "UPDATE sessions SET title = 'lost'", "CREATE TABLE nodes(x)"),
    )
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        schema.migrate(connection, steps)
    assert contents(connection) == before
    assert schema.version_of(connection) == len(schema.MIGRATIONS)
    assert Archive(path).recall(("a",)).checkpoint == made()


def test_row_05_an_older_file_is_brought_up_to_date_step_by_step(path):
    kept(path)
    connection = raw(path)
    steps = (*schema.MIGRATIONS, ("CREATE TABLE more(x)",), ("INSERT INTO more VALUES (7)",))
    assert schema.migrate(connection, steps)
    assert connection.execute("SELECT x FROM more").fetchall() == [(7,)]
    assert schema.migrate(connection, steps), "and once is enough"
    assert connection.execute("SELECT x FROM more").fetchall() == [(7,)]


def test_row_05_a_plan_of_before_that_left_out_pictures_only_still_does(path):
    archive = Archive(path)
    archive.save(Save(ViewPlan("a", 9, carried=3, clamped=50)))
    archive.save(Save(ViewPlan("b", 9, carried=3)))
    archive.close()
    raw(path).execute(
        """UPDATE plans SET data = json_remove(json_set(data, '$.clamped',
            CASE skeleton WHEN 'b' THEN 1 << 62 ELSE 50 END), '$.bare')"""
    )
    assert Archive(path).recall(("a",)) == Recalled(ViewPlan("a", 9, carried=3, clamped=50))
    assert Archive(path).recall(("b",)) == Recalled(ViewPlan("b", 9, carried=3, bare=True))


def test_row_05_two_processes_that_migrate_at_once_do_it_once(path):
    path.parent.mkdir()
    meet = threading.Barrier(6)
    failed = []

    def open_it():
        meet.wait(10)
        try:
            Store(path)
        except ArchiveError as error:
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join(30) for thread in threads]
    assert failed == []


def test_row_05_a_newer_file_is_read_and_not_written(path):
    conversation = kept(path)
    raw(path).execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
    archive = Archive(path)
    assert archive.original(conversation.messages[0].identity) == conversation.messages[0].raw
    with pytest.raises(Full, match=r"a newer Foldline wrote this file; upgrade"):
        archive.keep(Session().user("new").conversation())
    assert raw(path).execute("SELECT count(*) FROM sessions").fetchone() == (1,)


def test_row_2_no_checkpoint_is_claimed_for_what_there_was_no_room_for(path):
    """The notes are small and find room where the messages did not: they would stand for nothing."""
    archive, talked = Archive(path), talk().conversation()
    archive.keep(talked.with_messages(talked.messages[:2]))
    names = [message.identity for message in talked.messages]
    checkpoint = made("notes")
    with pytest.raises(ArchiveError, match=f"were not kept, the first {names[2][:16]}"):
        saved(archive, "a", checkpoint, covered=names, count=len(names))
    assert archive.recall(("a",)) is None
    assert archive.known([checkpoint.text]) == {}
    assert list(archive.verify()) == []
    archive.keep(talked)
    saved(archive, "a", checkpoint, covered=names, count=len(names))
    assert len(archive.expand(checkpoint.ref)) == len(names)
    assert list(archive.verify()) == []


# --- secrets: row 32 -----------------------------------------------------------------------------------------------


def test_row_32_masked_at_rest_a_secret_is_nowhere_in_the_file_and_all_else_works(path):
    archive = Archive(path, redact_at_rest=True)
    session = (
        Session().user(f"my key is {SECRET}, use it").tools(("Bash", f'{{"k": "{SECRET}"}}', f"key={SECRET}\n" * 60))
    )
    conversation = session.user("thanks").conversation()
    names = [message.identity for message in conversation.messages]
    checkpoint = made(f"# Notes on the key {SECRET}")
    archive.keep(conversation)
    saved(archive, "a", checkpoint, covered=names, count=len(names))
    child_of = made("child", checkpoint.ref)
    saved(archive, "ab", child_of)
    everything = b"".join(entry.read_bytes() for entry in path.parent.iterdir())
    with archive._store.reading() as connection:
        packed = connection.execute("SELECT data FROM blobs WHERE codec & 1").fetchall()
    everything += b"".join(zlib.decompress(data) for (data,) in packed)
    assert SECRET.encode() not in everything
    again = Archive(path)
    assert [message.role for message in again.expand(child_of.ref)] == [
        message.role for message in conversation.messages
    ]
    assert again.original(names[-1]) == conversation.messages[-1].raw, "what has no secret is as it was"
    shown = again.recall(("a",)).checkpoint
    assert SECRET not in shown.text
    assert again.known([shown.text]).keys() == {shown.text}
    assert again.known([checkpoint.text]) == {checkpoint.text: shown}
    assert again.lineage(made("grandchild", shown.ref).parent) == (shown.ref,)


def test_row_32_masked_at_rest_so_is_what_is_told_of_a_session(path):
    archive = Archive(path, redact_at_rest=True)
    name = archive.append(
        Session().user("hello").conversation(), title=f"the key {SECRET}", source=f"/logs/{SECRET}.jsonl"
    )
    told = archive.get(name)
    assert (told.title[:16], told.source[:14]) == ("the key [masked ", "/logs/[masked ")
    whole, file = Archive(path.with_name("whole.db")), io.BytesIO()
    whole.append(Session().user("goodbye").conversation(), title=f"the key {SECRET}")
    whole.export(file, mask=False)
    archive.import_(io.BytesIO(file.getvalue()))
    assert {session.title[:16] for session in archive.sessions()} == {"the key [masked "}
    archive.close()
    whole.close()
    assert SECRET.encode() not in path.read_bytes()


def test_row_32_without_it_originals_are_whole_and_what_is_shown_is_masked(path):
    archive, conversation = Archive(path), Session().user(f"my key is {SECRET}").conversation()
    archive.keep(conversation)
    name = conversation.messages[0].identity
    saved(archive, "a", made(), covered=[name])
    assert SECRET.encode() in archive.original(name)
    assert SECRET not in archive.diff(made().ref).folded[0].glance


def begun(path, go, told):
    go.wait(30)
    try:
        archive = Archive(path)
        archive.keep(Session().user(f"by {os.getpid()}").conversation())
        told.put("")
    except BaseException as error:
        told.put(repr(error))


def test_of_processes_that_begin_a_file_at_once_none_is_refused(tmp_path):
    context = multiprocessing.get_context("fork")
    for attempt in range(6):
        go, told = context.Event(), context.Queue()
        path = tmp_path / str(attempt) / "archive.db"
        workers = [context.Process(target=begun, args=(path, go, told)) for _ in range(8)]
        [worker.start() for worker in workers]
        go.set()
        assert [told.get(timeout=60) for _ in workers] == [""] * 8
        [worker.join(60) for worker in workers]
        assert len(Archive(path).sessions()) == 8


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL])
def test_row_04_whatever_sqlite_calls_it_when_others_are_in_the_way_is_busy(code, path):
    """And no sign of damage, for which the whole file would be read."""
    archive, error = Archive(path), sqlite3.OperationalError("locking protocol")
    error.sqlite_errorcode = code
    with pytest.raises(Busy, match="another process holds"), archive._store.reading():
        raise error
    assert archive._store.suspect is None


def test_a_file_that_is_locked_while_it_is_opened_is_waited_for(path, monkeypatch):
    """SQLite gives the lock for changing to WAL without waiting, or not at all."""
    tries, opened = [], Store._open

    def locked(store):
        tries.append(store)
        if len(tries) < 3:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return opened(store)

    monkeypatch.setattr(Store, "_open", locked)
    Archive(path).keep(Session().user("hello").conversation())
    assert len(tries) == 3
    monkeypatch.setattr(Store, "_open", lambda store: locked(tries.clear() or store))
    with pytest.raises(Busy):
        Archive(path, wait=0.05)
