"""Taking out on request: forgotten is in no file, told is who else held it, and nothing goes by itself."""

import base64
import gzip
import multiprocessing
import os
import sqlite3
import zlib

import pytest

from foldline import Archive, Budget, Compactor, sources
from foldline.archive import care
from foldline.archive.index import Index
from foldline.conformance import DIALECTS, talk
from foldline.errors import ArchiveError, Busy, Full
from foldline.testing import Session

CANARY = "xyzzy canary seven"


def forms(text):
    """What a text could look like in a file."""
    data = text.encode()
    return {data, base64.b64encode(data), data.hex().encode(), data[::-1], gzip.compress(data), zlib.compress(data)}


def files_with(path, *texts):
    """The archive's files in which one of these texts is, plain, in a stored text that is packed, or by its words."""
    found = set()
    for file in path.parent.iterdir():
        data = file.read_bytes()
        found |= {file.name for text in texts for form in forms(text) if form in data}
    connection = sqlite3.connect(path)
    for table, column in (("blobs", "data"), ("parts", "data"), ("said", "text"), ("sessions", "title")):
        for (value,) in connection.execute(f"SELECT {column} FROM {table}"):
            found |= {table for text in texts if text.encode() in _plain(value)}
    connection.close()
    return found


def _plain(value):
    data = value.encode() if isinstance(value, str) else value
    for start in (0, 1):
        try:
            return zlib.decompress(data[start:])
        except zlib.error:
            continue
    return data


def folded(path, *, dialect="anthropic", extra=""):
    """An archive with a folded session that says the canary at its beginning."""
    archive, session = Archive(path), Session(dialect)
    compactor = Compactor(Budget(window=4_000, reserve=500), archive=archive)
    session.user(f"my rule is: always say {CANARY}{extra}")
    for number in range(10):
        session.user(f"question {number}").tools(("Bash", "{}", f"line {number}\n" * 150))
        compactor.fit(session.request())
    return archive, session.conversation()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_forgotten_message_is_in_no_file(dialect, tmp_path):
    path = tmp_path / "archive.db"
    archive, conversation = folded(path, dialect=dialect)
    assert files_with(path, CANARY), "it was there before"
    message = next(message for message in conversation.messages if CANARY in message.text)
    done = archive.forget(message.identity[:16])
    assert done.refs == (message.identity[:16],)
    assert done.checkpoints, "they may have quoted it"
    assert files_with(path, CANARY, "xyzzy", "canary") == set()
    assert list(archive.verify()) == []
    assert archive.search("canary") == []


def test_a_tombstone_says_when_and_the_rest_of_the_session_is_there(tmp_path):
    archive = Archive(tmp_path / "archive.db")
    conversation = talk(turns=4).conversation()
    name = archive.append(conversation)
    gone = conversation.messages[4]
    archive.forget(gone.identity)
    found = list(archive.messages(name))
    assert found[4].message.text.startswith("[forgotten on request on 20")
    assert [stored.raw for stored in found if stored.position != 4] == [
        message.raw for at, message in enumerate(conversation.messages) if at != 4
    ]
    with pytest.raises(ArchiveError, match=r"forgotten on request on 20\d\d-"):
        archive.original(gone.identity)
    assert archive.forget(gone.identity).messages == 0, "asking again does no harm"


def test_what_is_forgotten_stays_so_in_whatever_bytes_it_comes_again(tmp_path):
    path = tmp_path / "archive.db"
    request = Session().user(CANARY).assistant("yes").user("go on").request()
    archive, other = Archive(path), Archive(path)
    for one in (archive, other):
        one.keep(sources.read(request))
    archive.forget(sources.read(request).messages[0].identity)
    for one in (archive, other, Archive(path)):
        one.keep(sources.read(request))
        marked = {"role": "user", "content": [{"type": "text", "text": CANARY, "cache_control": {"type": "ephemeral"}}]}
        one.keep(sources.read({**request, "messages": [marked, *request["messages"][1:]]}))
    [one.close() for one in (archive, other)]
    assert files_with(path, CANARY) == set()
    assert list(Archive(path).verify()) == []


def test_a_title_that_may_quote_goes_along_and_is_not_told_again(tmp_path):
    path = tmp_path / "archive.db"
    archive = Archive(path)
    conversation = Session().user(CANARY).assistant("yes").conversation()
    name = archive.append(conversation, title=f"about {CANARY}")
    other = archive.append(talk().conversation(), title="another")
    archive.forget(conversation.messages[0].identity)
    assert archive.get(name).title.startswith("title forgotten on request on 20")
    longer = Session().user(CANARY).assistant("yes").user("go on").conversation()
    for again in (conversation, longer):
        archive.append(again, title=f"about {CANARY}", project="/ours")
    assert files_with(path, CANARY) == set()
    assert (archive.get(name).project, archive.get(other).title) == ("/ours", "another")
    archive.forget(name)
    archive.append(longer, title=f"about {CANARY}", project="/ours")
    assert files_with(path, CANARY) == set()


def test_whoever_asks_to_forget_a_result_is_told_which_message_has_it(tmp_path):
    archive = Archive(tmp_path / "archive.db")
    conversation = talk().conversation()
    archive.keep(conversation)
    holder = next(message for message in conversation.messages if message.results)
    ref = holder.results[0].ref
    with pytest.raises(ArchiveError, match=f"{ref} is a tool result in message {holder.identity[:16]}"):
        archive.forget(ref)
    archive.forget(holder.identity[:16])
    with pytest.raises(ArchiveError, match=r"nothing in this archive .*; a search or a session shows what there is"):
        archive.get(ref)


def test_all_versions_of_a_message_go_and_all_sessions_that_held_it_are_told(tmp_path):
    path = tmp_path / "archive.db"
    archive = Archive(path)
    request = Session().user(CANARY).assistant("yes").request()
    first = archive.append(sources.read(request))
    marked = {"role": "user", "content": [{"type": "text", "text": CANARY, "cache_control": {"type": "ephemeral"}}]}
    archive.append(sources.read({**request, "messages": [marked, *request["messages"][1:]]}))
    fork = archive.append(
        sources.read({**request, "messages": [*request["messages"][:1], {"role": "user", "content": "no"}]})
    )
    done = archive.forget(sources.read(request).messages[0].identity[:16])
    assert (done.messages, done.sessions, done.shared) == (2, (first, fork), (fork,))
    assert files_with(path, CANARY) == set()


def test_a_forgotten_session_leaves_what_it_shares_and_says_so(tmp_path):
    path = tmp_path / "archive.db"
    archive = Archive(path)
    shared = Session().user("shared beginning").assistant("shared answer")
    name = archive.append(shared.conversation(), title="a title with a canary in it")
    other = Session().user("shared beginning").assistant("shared answer").user(CANARY)
    fork = archive.append(other.conversation())
    archive.append(Session().user("shared beginning").assistant("shared answer").user("kept").conversation())
    assert fork == name, "it grew"
    done = archive.forget(name)
    assert (done.messages, done.kept, len(done.shared)) == (1, 2, 1)
    assert files_with(path, CANARY, "a title with a canary") == set()
    assert archive.get(name).title.startswith("forgotten on request on 20")
    assert next(stored.message.text for stored in archive.messages(done.shared[0])) == "shared beginning"
    assert list(archive.verify()) == []


def test_a_session_that_is_forgotten_takes_its_checkpoints_along(tmp_path):
    path = tmp_path / "archive.db"
    archive, conversation = folded(path)
    name = archive.sessions()[0].name
    done = archive.forget(name)
    assert done.messages == len(conversation)
    assert files_with(path, CANARY, "question 3", "line 7") == set()
    ref = done.checkpoints[0]
    with pytest.raises(ArchiveError, match="forgotten on request"):
        archive.redo(ref)
    with pytest.raises(ArchiveError, match="forgotten on request"):
        archive.get(ref)
    fitted = Compactor(Budget(window=100_000), archive=archive).fit(Session().user("new").request())
    assert fitted.receipt.notices == ()
    assert list(archive.verify()) == []


@pytest.mark.parametrize("ref", ["", "zz", "abc", "f" * 32, "../x", "0123456789abcdef"])
def test_nothing_is_forgotten_that_is_not_there(ref, tmp_path):
    archive = Archive(tmp_path / "archive.db")
    archive.keep(talk().conversation())
    with pytest.raises(ArchiveError):
        archive.forget(ref)
    assert all(archive.original(message.identity) for message in talk().conversation().messages)


def reading(path, opened, done):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM blobs").fetchone()
    opened.set()
    done.wait(30)


def test_bytes_that_another_process_still_reads_are_said_to_be_there(tmp_path):
    context = multiprocessing.get_context("fork")
    path, opened, done = tmp_path / "archive.db", context.Event(), context.Event()
    archive = Archive(path)
    archive.keep(Session().user(CANARY).conversation())
    archive.close()  # or the child, which inherits it, closes it some time, and so lets go of its own lock
    worker = context.Process(target=reading, args=(path, opened, done))
    worker.start()
    opened.wait(30)
    archive = Archive(path, wait=0.1)
    name = Session().user(CANARY).conversation().messages[0].identity
    with pytest.raises(Busy, match="forget it again"):
        archive.forget(name)
    commits = path.with_name("archive.db-wal")
    before = commits.stat().st_size
    for _ in range(2):
        Archive(path, wait=0.1)
    assert commits.stat().st_size == before, "each who opens it writes the whole file anew"
    done.set()
    worker.join(30)
    Archive(path)
    assert files_with(path, CANARY) == set()
    archive.forget(name)
    assert files_with(path, CANARY) == set()


# --- the cap -------------------------------------------------------------------------------------------------------


def bulky(number, turns=4):
    session = Session().user(f"session {number}")
    for _ in range(turns):
        session.tools(("Bash", "{}", os.urandom(10_000).hex()))
    return session.conversation()


def test_over_its_cap_nothing_is_kept_and_nothing_goes_until_it_is_trimmed(tmp_path):
    archive, kept = Archive(tmp_path / "archive.db", cap=600_000), []
    with pytest.raises(Full, match=r"it may hold 600,000 bytes, and trim\(\) takes the oldest sessions out"):
        kept.extend(archive.append(bulky(number), time=float(number)) for number in range(50))
    assert len(archive.sessions()) == len(kept) > 3, "what was kept is kept"
    done = archive.trim(to=300_000)
    assert done.after <= 300_000 < done.before
    assert done.sessions == tuple(kept[: len(done.sessions)]), "the oldest first"
    assert 0 < len(done.sessions) < len(kept)
    archive.append(bulky(99))
    assert list(archive.verify()) == []
    assert archive.get(done.sessions[0]).title.startswith("forgotten")


def test_the_newest_session_is_never_trimmed(tmp_path):
    archive = Archive(tmp_path / "archive.db")
    names = [archive.append(bulky(number), time=float(number)) for number in range(3)]
    assert archive.trim(to=0).sessions == tuple(names[:-1])
    assert archive.trim(to=0).sessions == (), "what is gone is gone once"
    assert all(len(stored.raw) for stored in archive.messages(names[-1]))


def test_an_archive_below_its_aim_is_left_alone(tmp_path):
    archive = Archive(tmp_path / "archive.db")
    archive.keep(talk().conversation())
    assert archive.trim(to=1 << 40).sessions == ()


# --- cut short, or held twice --------------------------------------------------------------------------------------


def test_what_only_forgotten_sessions_hold_is_gone(tmp_path):
    path = tmp_path / "archive.db"
    archive = Archive(path)
    names = [archive.append(Session().user(f"question {n}").assistant(CANARY).conversation()) for n in range(3)]
    first = archive.forget(names[0])
    assert (first.messages, first.kept, first.shared) == (1, 1, (names[1],))
    assert {found.session for found in archive.search("canary")} == set(names[1:]), "it is no longer theirs"
    assert list(archive.verify()) == []
    archive.forget(names[0])
    archive.forget(names[1])
    assert archive.forget(names[2]).messages == 2
    assert files_with(path, CANARY) == set()
    archive.append(Session().user("question 0").assistant(CANARY).conversation())
    assert files_with(path, CANARY) == set()
    assert list(archive.verify()) == []


def test_a_result_that_another_session_holds_is_still_found_there(tmp_path):
    archive = Archive(tmp_path / "archive.db")
    sessions = [Session().user(f"go {number}").tools(("Bash", "{}", "the very same")) for number in range(2)]
    names = [archive.append(session.conversation()) for session in sessions]
    archive.forget(names[0])
    for message in sessions[1].conversation().messages:
        assert archive.original(message.identity) == message.raw
        assert all(archive.original(result.ref) == b"the very same" for result in message.results)
    assert list(archive.verify()) == []


def test_forgetting_that_was_cut_short_goes_on_when_the_archive_is_opened(tmp_path, monkeypatch):
    path = tmp_path / "archive.db"
    for number in range(3):
        Archive(path).keep(Session().user(f"{CANARY} {number}").conversation())
    name = Session().user(f"{CANARY} 1").conversation().messages[0].identity

    def killed(connection):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(care, "scrub", killed)
        with pytest.raises(KeyboardInterrupt):
            Archive(path).forget(name)
    archive = Archive(path)
    with archive._store.reading() as connection:
        assert not care.is_due(connection)
        assert connection.execute("SELECT freelist_count FROM pragma_freelist_count").fetchone() == (0,)
    assert files_with(path, f"{CANARY} 1") == set()
    assert len(archive.search("canary")) == 2


def test_what_is_forgotten_on_a_full_disk_is_forgotten_and_its_bytes_go_when_there_is_room(tmp_path, monkeypatch):
    path = tmp_path / "archive.db"
    archive, conversation = folded(path)
    with monkeypatch.context() as patch:
        patch.setattr(care, "Index", Crowded)
        with pytest.raises(Full, match=r"it is forgotten, but .* its bytes go when"):
            archive.forget(conversation.messages[0].identity)
    assert "forgotten" in next(archive.messages(archive.sessions()[0].name)).message.text
    Archive(path)
    assert list(archive.verify()) == []
    with archive._store.reading() as connection:
        assert not care.is_due(connection)


class Crowded(Index):
    """The disk is full by the time that the file is written anew."""

    def purge(self, connection):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error


def test_what_else_a_forgotten_checkpoint_stood_for_is_still_brought_back(tmp_path):
    archive, conversation = folded(tmp_path / "archive.db")
    ref = archive.forget(conversation.messages[0].identity).checkpoints[-1]
    found = archive.expand(ref)
    assert "forgotten on request" in found[0].text
    assert found[1:] == conversation.messages[1 : len(found)]
    assert len(found) > 2
    with pytest.raises(ArchiveError, match=f"checkpoint {ref} was forgotten on request"):
        archive.diff(ref)


def test_a_checkpoint_that_another_process_forgot_is_shown_no_more(tmp_path):
    archive, _ = folded(tmp_path / "archive.db")
    other = Archive(tmp_path / "archive.db")
    ref = other.forget(other.sessions()[0].name).checkpoints[0]
    with pytest.raises(ArchiveError, match="forgotten on request"):
        archive.checkpoint(ref)
