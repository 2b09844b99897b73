"""Damaged files: set aside untouched, what can be read saved and said, and never a crash (rows 3 and 6)."""

import multiprocessing
import os
import random
import shutil
import sqlite3

import pytest

from foldline import Archive, Budget, Compactor
from foldline.archive import rescue
from foldline.archive.pages import scan
from foldline.archive.place import RESCUE, Damaged, beside
from foldline.conformance import DIALECTS, made, saved, talk
from foldline.errors import ArchiveError, Busy, Corrupt
from foldline.model import Conversation, Message, Origin, Text
from foldline.testing import Session

from .crashing import child, heard

PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A closed archive with sessions of all dialects, versions, a transcript and folds in it; and one long session."""
    path = tmp_path_factory.mktemp("sound") / "archive.db"
    archive = Archive(path)
    for dialect in DIALECTS:
        archive.append(talk(dialect).conversation())
    lines = (Message("user", Origin.USER, (Text(f"line {n}"),), raw=b'{"n": %d}' % n) for n in range(5))
    archive.append(Conversation("claude-code", tuple(lines)))
    compactor = Compactor(Budget(window=4_000, reserve=500), archive=archive)
    session = Session()
    for number in range(14):
        session.user(f"question {number}").tools(("Bash", "{}", f"line {number}\n" * 150))
        compactor.fit(session.request())
    assert list(archive.verify()) == []
    archive.close()
    return path.read_bytes(), session.conversation()


def flipped(data, dice):
    bad = bytearray(data)
    for _ in range(dice.choice([1, 1, 5, 50, 300])):
        bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
    return bytes(bad)


def zeroed(data, dice):
    at = dice.randrange(len(data) // PAGE) * PAGE
    return data[:at] + bytes(PAGE) + data[at + PAGE :]


def scribbled(data, dice):
    at = dice.randrange(len(data) // PAGE) * PAGE
    return data[:at] + dice.randbytes(PAGE) + data[at + PAGE :]


def cut_off(data, dice):
    return data[: dice.randrange(1, len(data))]


def no_database(_, dice):
    return dice.randbytes(dice.randrange(1, 20_000))


def asides(path):
    """The files that were set aside, without what lies beside them."""
    return [file for file in path.parent.glob("*.damaged-*") if not file.name.endswith(("-wal", "-shm"))]


def named(path):
    return [file.name for file in asides(path)]


def use(archive, conversation):
    """Everything one does with an archive. What it says is wrong, if something is."""
    try:
        archive.keep(conversation)
        for session in archive.sessions():
            list(archive.messages(session.name))
        archive.search("question")
        for message in conversation.messages:
            found = archive.original(message.identity)
            assert found in (message.raw, None), "never other bytes than those that were kept"
            assert found is not None or list(archive.verify()), "what cannot be found is said"
    except ArchiveError as error:
        return str(error)
    return ""


def damaged(harm, seeds, sound, tmp_path):
    """Damaged files, each in a folder of its own that is cleared behind it: the path and its bytes."""
    for seed in seeds:
        path = tmp_path / str(seed) / "archive.db"
        path.parent.mkdir()
        bad = harm(sound, random.Random(seed))
        path.write_bytes(bad)
        yield path, bad
        shutil.rmtree(path.parent)


@pytest.mark.parametrize("harm", [zeroed, scribbled, cut_off])
@pytest.mark.parametrize("shard", range(2))
def test_row_03_a_file_without_some_of_its_pages_is_kept_and_the_next_turn_goes_on(harm, shard, sound, tmp_path):
    """120 damaged files: what is set aside is what was found, and the archive works again at the second turn."""
    data, conversation = sound
    replaced = 0
    for path, bad in damaged(harm, range(shard * 20, shard * 20 + 20), data, tmp_path):
        archive = Archive(path)
        use(archive, conversation)
        assert use(archive, conversation) == ""
        list(archive.verify())
        archive.close()
        assert [file.read_bytes() for file in asides(path)] == [bad] * len(archive.notices)
        assert [name for name in named(path) if name not in str(archive.notices)] == []
        replaced += len(archive.notices)
    assert 5 < replaced <= 20


@pytest.mark.parametrize("shard", range(2))
def test_row_03_flipped_bits_are_met_as_damage_or_named(shard, sound, tmp_path):
    """40 files. What SQLite does not notice is met where a message is read, and verify names it."""
    data, conversation = sound
    replaced = 0
    for path, _ in damaged(flipped, range(shard * 20, shard * 20 + 20), data, tmp_path):
        archive = Archive(path)
        use(archive, conversation)
        unread = use(archive, conversation)
        assert bool(unread) <= bool(list(archive.verify())), unread
        archive.close()
        for file in asides(path):  # damage may be met after whole pages were written behind it
            assert (len(file.read_bytes()) - len(data)) % PAGE == 0
            assert len(file.read_bytes()) >= len(data)
        assert len(asides(path)) == len(archive.notices) <= 2
        assert [name for name in named(path) if name not in str(archive.notices)] == []
        replaced += bool(archive.notices)
    assert replaced


def others_database(path, version=0):
    """What another program keeps: a table, and a version of its own."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("CREATE TABLE theirs(id INTEGER PRIMARY KEY, said TEXT)")
    raw.executemany("INSERT INTO theirs(said) VALUES (?)", [("x" * 500,)] * 50)
    raw.execute(f"PRAGMA user_version = {version}")
    raw.close()
    return path.read_bytes()


def damaged_database(path):
    """The same, of which nothing can be read but the header."""
    data = others_database(path)
    return data[:100] + bytes(PAGE - 100) + data[PAGE:]


STRANGERS = {
    "notes": lambda _: b"notes\n",
    "a line end": lambda _: b"\n",
    "a long text": lambda _: b"CREATE TABLE blobs(id INTEGER PRIMARY KEY)\r\n" * 2_000,
    "pages of carriage returns": lambda _: b"\r" * (8 * PAGE),
    "a file of zeros": lambda _: bytes(8 * PAGE),
    "random bytes": lambda _: random.Random(1).randbytes(50_000),
    "a database": others_database,
    "a database of the version that ours has": lambda path: others_database(path, 4),
    "a database of an older version": lambda path: others_database(path, 1),
    "a database of a newer version": lambda path: others_database(path, 70),
    "a damaged database": damaged_database,
}


@pytest.mark.parametrize("what", STRANGERS)
@pytest.mark.parametrize("mode", [0o644, 0o444, 0o600])
def test_a_file_that_never_was_an_archive_is_refused_and_not_touched(what, mode, tmp_path):
    path = tmp_path / "n.txt"
    data = STRANGERS[what](path)
    path.write_bytes(data)
    path.chmod(mode)
    before = path.stat()
    for _ in range(2):
        with pytest.raises(ArchiveError, match="give the archive a file of its own"):
            Archive(path)
    assert path.read_bytes() == data
    after = path.stat()
    assert (after.st_mode, after.st_ino, after.st_mtime_ns) == (before.st_mode, before.st_ino, before.st_mtime_ns)
    assert list(tmp_path.iterdir()) == [path]


def test_an_archive_that_was_overwritten_while_it_is_open_is_said_and_what_lies_there_is_left(tmp_path):
    path, conversation = tmp_path / "archive.db", talk().conversation()
    archive = Archive(path)
    archive.keep(conversation)
    for file in tmp_path.iterdir():
        file.unlink()
    path.write_bytes(b"notes\n")
    with pytest.raises(ArchiveError, match=r"archive\.db is no archive; give the archive a file of its own"):
        archive.keep(conversation)
    assert path.read_bytes() == b"notes\n"


def test_an_empty_file_is_a_new_archive(tmp_path):
    path, conversation = tmp_path / "archive.db", talk().conversation()
    path.touch()
    archive = Archive(path)
    archive.keep(conversation)
    assert archive.notices == ()
    assert archive.original(conversation.messages[0].identity) == conversation.messages[0].raw


@pytest.mark.parametrize("lost", [16, 100, PAGE])
def test_an_archive_that_has_lost_its_beginning_is_known_by_what_is_left(lost, sound, tmp_path):
    path = tmp_path / "archive.db"
    for data in (sound[0], empty(tmp_path / "empty.db")):
        path.write_bytes(bytes(lost) + data[lost:])
        archive = Archive(path)
        assert [notice.code for notice in archive.notices] == ["archive-damaged"]
        assert bytes(lost) + data[lost:] in [file.read_bytes() for file in asides(path)]
        assert path.stat().st_mode & 0o777 == 0o600
        archive.close()


def empty(path):
    """An archive with nothing in it."""
    Archive(path).close()
    return path.read_bytes()


def test_row_03_what_can_be_read_is_saved_and_counted(sound, tmp_path):
    """The first page that holds only messages' bytes is zeroed: those are lost, and all others are there."""
    data, conversation = sound
    path = tmp_path / "archive.db"
    at = data.index(conversation.messages[3].raw[:40]) // PAGE * PAGE
    path.write_bytes(data[:at] + bytes(PAGE) + data[at + PAGE :])
    archive = Archive(path)
    archive.keep(talk(turns=7).conversation())
    text = archive.notices[0].text
    assert archive.notices[0].code == "archive-damaged"
    assert "messages in " in text
    assert " were lost" in text
    lost = [trouble for trouble in archive.verify() if "lost when the archive was damaged" in trouble.what]
    assert lost
    archive.keep(conversation)
    assert all(archive.original(message.identity) == message.raw for message in conversation.messages), "healed"


def test_row_03_a_page_costs_what_stood_on_it_and_no_more(sound, tmp_path):
    """Every page in turn is zeroed, the first one too, and all that is left is looked for."""
    data, conversation = sound
    stored = bytes_of(data, conversation, tmp_path)
    lost, saved_pages = 0, 0
    for at in range(0, len(data), PAGE):
        path = tmp_path / str(at) / "archive.db"
        path.parent.mkdir()
        path.write_bytes(data[:at] + bytes(PAGE) + data[at + PAGE :])
        rescue.rescue(path, None, Damaged("told"), 1.0)
        if not asides(path):
            beside(path, RESCUE).hardlink_to(path)
            rescue.rescue(path, None, Damaged("told"), 1.0)
        archive = Archive(path)
        missing = {name for name in stored if not _whole(archive, name)}
        there = {name for name, held in stored.items() if held in data[at : at + PAGE]}
        assert missing <= there, f"page {at // PAGE}"
        lost, saved_pages = lost + len(missing), saved_pages + (not missing)
        archive.close()
        shutil.rmtree(path.parent)
    assert lost >= len(stored), "each stands on some page"
    assert saved_pages > len(data) // PAGE // 2, "most pages hold other things"


def bytes_of(data, conversation, folder):
    """What is stored of each message; all of it stands on one page."""
    path = folder / "read.db"
    path.write_bytes(data)
    raw = sqlite3.connect(path)
    found = {name.hex(): held for name, held in raw.execute("SELECT hash, data FROM blobs")}
    raw.close()
    return {message.identity: found[message.identity] for message in conversation.messages}


def _whole(archive, name):
    try:
        return archive.original(name) is not None
    except Corrupt:
        return False


def test_rows_are_found_in_the_pages_themselves(tmp_path):
    path = tmp_path / "any.db"
    rows = [(None, "text é", 7, -70_000, 2.5, b"\0\1" * size, None, 0, 1) for size in (1, 10, 3_000, 20_000)]
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c, d, e, f, g, h)")
    raw.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    raw.execute("INSERT INTO t(id) VALUES (1 << 60)")
    raw.close()
    found = dict(scan(path))
    assert [found[number] for number in (1, 2, 3, 4)] == rows
    assert found[1 << 60] == (None,) * 9
    data = path.read_bytes()
    for seed in range(200):
        path.write_bytes((flipped, zeroed, scribbled, cut_off, no_database)[seed % 5](data, random.Random(seed)))
        list(scan(path))


def test_row_03_a_place_that_is_lost_says_so_and_what_is_behind_it_is_there(tmp_path):
    path, conversation = tmp_path / "archive.db", talk(turns=5).conversation()
    archive = Archive(path)
    name = archive.append(conversation)
    archive.close()
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("DELETE FROM nodes WHERE position IN (4, 5)")
    raw.execute("DELETE FROM blobs WHERE id = (SELECT blob FROM nodes WHERE position = 8)")
    raw.close()
    rescue.rescue(path, Archive(path)._store, Corrupt("told"), 1.0)
    archive = Archive(path)
    texts = [stored.message.text for stored in archive.messages(name)]
    assert [at for at, text in enumerate(texts) if "lost when" in text] == [4, 5, 8]
    whole = [at for at in range(len(conversation)) if at not in (4, 5, 8)]
    found = list(archive.messages(name))
    assert all(found[at].raw == conversation.messages[at].raw for at in whole)
    strays = next(session for session in archive.sessions() if session.name != name)
    assert [stored.raw for stored in archive.messages(strays.name)] == [m.raw for m in conversation.messages[4:6]]
    assert {trouble.what.split(" (")[0] for trouble in archive.verify()} <= {
        "lost when the archive was damaged",
        "it cannot be found by searching",
    }


def test_row_03_commits_beside_an_empty_file_are_not_thrown_away(tmp_path):
    path, conversation = tmp_path / "archive.db", talk().conversation()
    process, reading = child(lambda say: (Archive(path).keep(conversation), say("x"), os.kill(os.getpid(), 9)))
    heard(process, reading)
    commits = beside(path, "-wal").read_bytes()
    assert commits
    os.truncate(path, 0)
    archive = Archive(path)
    assert "archive-damaged" in [notice.code for notice in archive.notices]
    assert beside(asides(path)[0], "-wal").read_bytes() == commits
    assert all(archive.original(message.identity) == message.raw for message in conversation.messages)


@pytest.mark.parametrize("stage", ["_renewed", "_named", "_clear", "_copy"])
def test_row_03_a_rescue_that_is_killed_goes_on_at_the_next_start(stage, sound, tmp_path, monkeypatch):
    data, conversation = sound
    path = tmp_path / "archive.db"
    path.write_bytes(data[: len(data) * 3 // 4])
    damaged = path.read_bytes()

    def die(_):
        monkeypatch.setattr(rescue, stage, lambda *_: os.kill(os.getpid(), 9))
        Archive(path).keep(conversation)

    assert heard(*child(die))[1] == -9
    archive = Archive(path)
    archive.keep(conversation)
    assert len(asides(path)) == 1
    assert asides(path)[0].read_bytes() == damaged
    assert sorted(file.name for file in tmp_path.iterdir() if "damaged" not in file.name) == [
        "archive.db",
        "archive.db-shm",
        "archive.db-wal",
    ]
    assert list(archive.recall(("nobody",)) or ()) == []


def racing(path, number, meet, queue):
    meet.wait(20)
    archive, session = Archive(path, wait=30), Session().user(f"by {number}")
    names = []
    for at in range(10):
        archive.keep(session.assistant(f"{number}-{at}").conversation())
        names = [message.identity for message in session.conversation().messages]
    queue.put((names, len(archive.notices)))


@pytest.mark.parametrize("harm", [cut_off, zeroed])
def test_row_03_of_several_that_find_it_damaged_one_replaces_it_and_nothing_is_lost(harm, sound, tmp_path):
    context = multiprocessing.get_context("fork")
    path, meet, queue = tmp_path / "archive.db", context.Barrier(4), context.Queue()
    path.write_bytes(harm(sound[0], random.Random(4)))
    workers = [context.Process(target=racing, args=(path, number, meet, queue)) for number in range(4)]
    [worker.start() for worker in workers]
    answers = [queue.get(timeout=60) for _ in workers]
    [worker.join(30) for worker in workers]
    archive = Archive(path)
    assert all(archive.original(name) is not None for names, _ in answers for name in names)
    assert sum(count for _, count in answers) == len(asides(path)) <= 1


def test_row_03_whoever_has_the_old_file_open_writes_to_the_new_one(sound, tmp_path):
    path, conversation = tmp_path / "archive.db", talk(turns=9).conversation()
    path.write_bytes(sound[0])
    early, other = Archive(path), Archive(path)
    early.keep(conversation.with_messages(conversation.messages[:3]))
    rescue.rescue(path, other._store, Corrupt("told"), 1.0)
    early.keep(conversation)
    assert early.path.stat().st_ino == early._store.file[1]
    late = Archive(path)
    assert all(late.original(message.identity) == message.raw for message in conversation.messages)


def test_a_file_that_was_deleted_is_begun_anew(tmp_path):
    path, conversation = tmp_path / "archive.db", talk().conversation()
    archive = Archive(path)
    archive.keep(conversation)
    for file in tmp_path.iterdir():
        file.unlink()
    archive.keep(conversation)
    assert Archive(path).original(conversation.messages[0].identity) == conversation.messages[0].raw


def test_row_04_while_one_replaces_it_others_wait_and_then_say_busy(tmp_path):
    from foldline.archive.place import holding

    path = tmp_path / "archive.db"
    with holding(path, 1.0, alone=True), pytest.raises(Busy, match=r"another process is replacing .*try again"):
        Archive(path, wait=0.05)
    Archive(path, wait=0.05)


def test_opening_it_twice_in_one_process_keeps_the_locks_of_the_first(tmp_path):
    """Closing a file lets go of all locks that a process has on it: another process must still find it held."""
    path = tmp_path / "archive.db"
    first = Archive(path)
    first.keep(talk().conversation())
    Archive(path)
    process, reading = child(lambda say: say(_locked(path)))
    answer = b""
    with open(reading, "rb", buffering=0) as pipe:
        answer = pipe.read(100)
    os.waitpid(process, 0)
    assert answer == b"held"


def _locked(path):
    other = sqlite3.connect(path, timeout=0)
    try:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError:
        return "held"
    return "free"


# --- one byte: row 6 -----------------------------------------------------------------------------------------------


def test_row_06_verify_names_the_message_of_which_a_byte_was_changed(tmp_path):
    """Each message in turn: a byte of it is flipped in the file, and verify names that one and no other."""
    path, session = tmp_path / "archive.db", Session()
    for number in range(6):
        session.user(f"question {number} {'x' * 30}").tools(("Bash", "{}", random.Random(number).randbytes(900).hex()))
    conversation = session.conversation()
    archive = Archive(path)
    name = archive.append(conversation)
    saved(archive, "a", made(), covered=[conversation.messages[0].identity])
    archive.close()
    data = path.read_bytes()
    raw = sqlite3.connect(path)
    blobs = dict(raw.execute("SELECT hash, data FROM blobs").fetchall())
    raw.close()
    for at, message in enumerate(conversation.messages):
        stored = blobs[bytes.fromhex(message.identity)]
        place = data.index(stored[-60:]) + 20
        path.write_bytes(data[:place] + bytes((data[place] ^ 1,)) + data[place + 1 :])
        found = list(Archive(path).verify())
        assert [(trouble.where, trouble.ref) for trouble in found] == [("message", message.identity[:16])]
        assert f"message {at} of session {name}" in found[0].what
    path.write_bytes(data)
    assert list(Archive(path).verify()) == []


CHANGES = {
    "UPDATE nodes SET key = x'00' WHERE position = 2": ("message", "its words no longer give the key"),
    "UPDATE nodes SET position = 77 WHERE position = 2": ("message", "stored as 77"),
    "UPDATE nodes SET role = 'assistant', origin = 'assistant' WHERE position = 0": ("message", "is stored as the"),
    "DELETE FROM nodes WHERE position = 1": ("session", "messages lead to its end"),
    "DELETE FROM sessions": ("message", "no session leads to it"),
    "UPDATE sessions SET forked = 99": ("session", "branched off is not there"),
    "DELETE FROM blobs WHERE id = (SELECT blob FROM versions)": ("message", "versions are missing"),
    "UPDATE results SET ref = 'ffffffffffffffff' WHERE node = 3": ("result", "has no such result"),
    "UPDATE versions SET node = 999": ("versions", "belongs to is not there"),
    "UPDATE checkpoints SET parent = 'nobody'": ("checkpoint", "that it builds on is not there"),
    "UPDATE checkpoints SET ref = 'other'": ("checkpoint", "gives another reference"),
    "UPDATE checkpoints SET text_hash = x'00'": ("checkpoint", "not found by what it says"),
    "UPDATE checkpoints SET blob = 1": ("checkpoint", "cannot be read"),
    "DELETE FROM blobs WHERE id = (SELECT blob FROM nodes WHERE position = 0)": ("checkpoint", "which is not there"),
    "UPDATE plans SET data = '{}'": ("plan", "cannot be read"),
    "UPDATE plans SET checkpoint = 'nobody'": ("plan", "is not there"),
    "UPDATE active SET plan = 99": ("plan", "is in use"),
    "DELETE FROM said WHERE node = 1": ("search", "cannot be found by searching"),
    "UPDATE blobs SET size = 1 WHERE id = 1": ("message", "bytes where 1 were stored"),
    "UPDATE blobs SET gone = 1 WHERE id = 1": ("message", "its bytes are still there"),
    "INSERT INTO blobs VALUES (999, x'00', 0, 1, x'00', NULL)": ("blob", "nothing refers to it"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_row_06_whatever_is_changed_in_a_table_is_named(change, tmp_path):
    path, conversation = tmp_path / "archive.db", talk(turns=2).conversation()
    archive = Archive(path)
    archive.append(conversation)
    marked = Message("user", Origin.USER, (Text("question 0"),), raw=b'{"role": "user", "content":  "question 0"}')
    archive.append(conversation.with_messages((marked, *conversation.messages[1:])))
    saved(archive, "a", made(), covered=[conversation.messages[0].identity])
    assert list(archive.verify()) == []
    raw = sqlite3.connect(path, isolation_level=None)
    assert raw.execute(change).rowcount > 0
    where, what = CHANGES[change]
    found = [(trouble.where, trouble.what) for trouble in archive.verify()]
    assert any(kind == where and what in told for kind, told in found), found
