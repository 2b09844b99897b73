"""What is indexed later than it is kept: found by whoever searches, whatever happens in between."""

import io
import os
import signal
import sqlite3
import tempfile
import threading
import time
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nobody import as_nobody

from foldline import Archive
from foldline.archive import later, schema
from foldline.archive.blobs import LOST
from foldline.archive.index import INDEXED, Index
from foldline.archive.listing import openings
from foldline.archive.nodes import FEW
from foldline.conformance import DIALECTS, talk
from foldline.errors import Busy, Full
from foldline.testing import Session

from .crashing import Bomb, child, heard
from .test_semantic import needs_extra

WORDS = ("flange", "gasket", "sprocket", "bearing", "washer", "rivet")


def said(*texts):
    session = Session()
    for text in texts:
        session.user(text).assistant(f"as to {text}: done")
    return session.conversation()


def keep_late(archive, *texts):
    archive.keep_all([(said(*texts), "")], findable=False)


def positions(archive, query, **filters):
    return sorted(found.position for found in archive.search(query, **filters))


def waiting(archive):
    with archive._store.reading() as connection:
        return later.waiting(connection)


def mark(connection):
    return connection.execute("SELECT value FROM meta WHERE key = ?", (INDEXED,)).fetchone()


class TestFinding:
    def test_it_is_kept_without_a_word_to_the_index(self, archive):
        statements = []
        with archive._store.reading() as connection:
            connection.set_trace_callback(statements.append)
        keep_late(archive, "a loose flange")
        assert "COMMIT" in statements
        assert not [one for one in statements if "finds" in one or "said" in one or "meta" in one]
        assert waiting(archive)

    def test_whoever_searches_finds_it_and_once(self, archive, connection):
        keep_late(archive, "a loose flange", "a worn gasket")
        assert positions(archive, "flange") == [0, 1]
        assert not waiting(archive)
        assert positions(archive, "gasket") == [2, 3]
        assert mark(connection) == ("4",)

    def test_another_process_finds_it_at_once(self, archive):
        keep_late(archive, "a loose flange")

        def task(say):
            other = Archive(archive.path)
            say(f"found {positions(other, 'flange')}\n")

        said, code = heard(*child(task))
        assert code == 0
        assert said == [("found", "[0,", "1]")]

    def test_other_filters_and_lists_have_it_too(self, archive):
        session = Session().user("first words").tools(("Read", '{"file_path": "src/app/loader.py"}', "def load()"))
        archive.keep_all([(session.conversation(), "")], findable=False)
        assert openings(archive, [archive.sessions()[0].name]) == {archive.sessions()[0].name: "first words"}
        other = Session().user("other words").tools(("Read", '{"file_path": "src/app/writer.py"}', "def write()"))
        archive.keep_all([(other.conversation(), "")], findable=False)
        assert positions(archive, "def", file="app/writer.py") == [2]
        assert positions(archive, "def", tool="Read") == [2, 2]

    def test_who_keeps_something_findable_does_the_rest_too(self, archive):
        keep_late(archive, "a loose flange")
        archive.keep(said("a worn gasket"))
        assert not waiting(archive)
        assert positions(archive, "flange") == [0, 1]

    def test_it_is_done_in_pieces_and_none_is_left_out(self, archive):
        keep_late(archive, *WORDS)
        assert [archive.catch_up(5), archive.catch_up(5), archive.catch_up(5), archive.catch_up(5)] == [
            False,
            False,
            True,
            True,
        ]
        assert all(positions(archive, word) for word in WORDS)

    def test_a_whole_history_is_indexed_with_its_messages(self, archive):
        archive.keep_all([(said(*(f"part {n}" for n in range(FEW))), "")], findable=False)
        with archive._store.reading() as connection:
            assert connection.execute("SELECT count(*) FROM said").fetchone() == (2 * FEW,)
        assert positions(archive, "part", limit=1000) == list(range(2 * FEW))

    def test_where_secrets_are_masked_at_rest_nothing_is_left_for_later(self, tmp_path):
        masking = Archive(tmp_path / "masked.db", redact_at_rest=True)
        keep_late(masking, "a loose flange")
        assert not waiting(masking)
        assert positions(masking, "flange") == [0, 1]

    def test_of_large_messages_a_piece_is_fewer(self, archive, connection):
        keep_late(archive, *(f"{word} " * later.EACH for word in WORDS))
        assert archive.catch_up(8) is False
        assert connection.execute("SELECT count(*) FROM said").fetchone() == (2,)
        archive.catch_up()
        assert all(positions(archive, word) for word in WORDS)

    def test_a_piece_of_nothing_is_one_message(self, archive):
        keep_late(archive, "a loose flange")
        assert [archive.catch_up(0) for _ in range(3)] == [False, False, True]

    def test_of_all_that_waits_only_a_piece_is_in_memory(self, archive, monkeypatch):
        monkeypatch.setattr(later, "PIECE", 5)
        keep_late(archive, *WORDS)
        archive._index = Counting()
        assert archive.catch_up()
        assert archive._index.counts == [5, 5, 2]
        assert all(positions(archive, word) for word in WORDS)

    @pytest.mark.parametrize("depth", [400, 500, 700, 900])
    def test_a_message_nested_deeper_than_can_be_followed_is_found_and_holds_up_nobody(self, archive, depth):
        arguments = f'{{"a": {"[" * depth}"flange"{"]" * depth}}}'
        deep = Session("openai-chat").user("a question").tools(("Read", arguments, "a worn gasket"))
        archive.keep_all([(deep.conversation(), "")], findable=False)
        archive.keep(said("a bent sprocket"))
        assert positions(archive, "flange") == [1]
        assert positions(archive, "gasket") == [2]
        assert positions(archive, "sprocket") == [0, 1]
        assert list(archive.verify()) == []

    @pytest.mark.parametrize("dialect", DIALECTS)
    def test_what_is_read_again_is_indexed_as_it_would_have_been(self, dialect, tmp_path):
        soon, late = Archive(tmp_path / "soon.db"), Archive(tmp_path / "late.db")
        conversation = talk(dialect).conversation()
        soon.keep(conversation)
        late.keep_all([(conversation, "")], findable=False)
        late.catch_up()
        assert indexed(soon) == indexed(late)


class Counting(Index):
    """Writes down how many messages it is given at a time."""

    def __init__(self):
        super().__init__()
        self.counts = []

    def add(self, connection, messages):
        these = list(messages)
        self.counts.append(len(these))
        super().add(connection, these)


def indexed(archive):
    tables = ("said", "files", "uncoded")
    with archive._store.reading() as connection:
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.integers(0, 3), st.sampled_from(WORDS)),
        st.tuples(st.just("late"), st.integers(0, 3), st.sampled_from(WORDS)),
        st.tuples(st.just("index"), st.integers(1, 4), st.none()),
        st.tuples(st.just("forget"), st.integers(0, 9), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_in_whatever_order_it_is_done_the_same_is_found(steps):
    """One archive indexes at once, one when it comes to it: no search can tell them apart."""
    with tempfile.TemporaryDirectory() as folder:
        soon, late = Archive(Path(folder) / "soon.db"), Archive(Path(folder) / "late.db")
        talks = [[f"talk {number}"] for number in range(4)]
        for what, number, word in steps:
            if what == "index":
                late.catch_up(number)
            elif what == "forget":
                for archive in (soon, late):
                    forget(archive, number)
            else:
                talks[number].append(f"the {word} of {len(talks[number])}")
                soon.keep(said(*talks[number]))
                late.keep_all([(said(*talks[number]), "")], findable=what == "keep")
        assert [str(trouble) for trouble in late.verify()] == []
        for word in (*WORDS, "talk", ""):
            assert hits(late, word) == hits(soon, word)
        assert list(late.verify()) == []
        soon.close()
        late.close()


def forget(archive, number):
    with archive._store.reading() as connection:
        rows = connection.execute("SELECT lower(hex(hash)) FROM blobs WHERE gone IS NULL ORDER BY id").fetchall()
    if number < len(rows):
        archive.forget(rows[number][0])


def hits(archive, word):
    return sorted((found.ref, found.session, found.position, found.snippet) for found in archive.search(word, limit=99))


class TestWithoutWriting:
    """Where the index cannot be filled, a search has tables of its own, and leaves nothing behind."""

    @pytest.fixture(autouse=True)
    def kept(self, archive):
        archive.keep(said("a flange that was there before"))
        keep_late(archive, "a loose flange", "a worn gasket")

    def unchanged(self, archive, connection):
        with archive._store.reading() as own:
            assert own.execute("SELECT name FROM temp.sqlite_master").fetchall() == []
        assert mark(connection) == ("2",)
        assert connection.execute("SELECT count(*) FROM said").fetchone() == (2,)

    def test_while_another_process_holds_the_file(self, archive, connection):
        impatient = Archive(archive.path, wait=0.05)
        connection.execute("BEGIN IMMEDIATE")
        assert positions(impatient, "flange") == [0, 0, 1, 1]
        assert positions(impatient, "gasket loose") == [0, 1, 2, 3], "some have the one, some the other"
        connection.execute("ROLLBACK")
        self.unchanged(impatient, connection)
        assert positions(impatient, "gasket") == [2, 3]
        impatient.close()

    def test_over_its_cap(self, archive, connection):
        keep_late(archive, " ".join(f"gasket{number}" for number in range(5_000)))
        full = Archive(archive.path, cap=4096)
        assert positions(full, "gasket4711") == [0, 1]
        self.unchanged(full, connection)
        with pytest.raises(Full):
            full.catch_up()
        full.close()

    def test_in_a_file_of_a_newer_version(self, archive, connection):
        archive.close()
        connection.execute("PRAGMA user_version = 99")
        newer = Archive(archive.path)
        assert positions(newer, "gasket") == [2, 3]
        self.unchanged(newer, connection)
        with newer._store.reading() as own, pytest.raises(sqlite3.OperationalError, match="readonly"):
            own.execute("CREATE TABLE more(x)")
        newer.close()

    @pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
    def test_by_a_user_who_may_only_read(self, archive, connection, tmp_path):
        archive.close()
        for parent in (tmp_path, *takewhile(lambda one: "pytest" in str(one), tmp_path.parents)):
            parent.chmod(0o755)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        archive.path.chmod(0o644)
        assert as_nobody(lambda: positions(Archive(archive.path), "gasket")) == "[2, 3]"

    @needs_extra
    def test_by_meaning_too(self, archive, connection):
        impatient = Archive(archive.path, wait=0.05)
        connection.execute("BEGIN IMMEDIATE")
        found = {hit.position for hit in impatient.search("gasket", semantic=True)}
        connection.execute("ROLLBACK")
        assert {2, 3} <= found
        assert impatient.uncoded() == 6
        assert {2, 3} <= {hit.position for hit in impatient.search("gasket", semantic=True)}
        assert impatient.uncoded() == 0
        impatient.close()

    @needs_extra
    def test_what_is_there_already_is_not_copied_to_be_searched_by_meaning(self, archive):
        from foldline.archive import semantic

        with archive._store.reading() as own, later.beside(own):
            plan = own.execute(f"EXPLAIN QUERY PLAN {semantic._UNCODED}", (-1,)).fetchall()
        assert not [row for row in plan if "MATERIALIZE" in row[3] or "SCAN main.said" in row[3]]

    def test_no_search_waits_for_another_process(self, archive, connection):
        connection.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert positions(archive, "gasket") == [2, 3]
        assert openings(archive, ["none"]) == {}
        assert time.monotonic() - began < archive._store.wait / 2
        connection.execute("ROLLBACK")

    def test_what_another_process_indexes_meanwhile_is_found_once(self, archive):
        other = Archive(archive.path)
        with archive._store.reading() as own, later.beside(own):
            assert other.catch_up()
            assert own.execute("SELECT node FROM said ORDER BY node").fetchall() == [(n,) for n in range(1, 7)]
        other.close()

    def test_nobody_who_reads_waits_while_the_index_is_filled(self, archive):
        archive._index = gate = Gate()
        filling = threading.Thread(target=archive.catch_up, kwargs={"patient": False})
        filling.start()
        assert gate.entered.wait(10)
        began = time.monotonic()
        assert archive.recall(["0" * 32]) is None
        assert len(archive.sessions()) == 2
        assert time.monotonic() - began < Gate.LONG / 2
        gate.open.set()
        filling.join(10)
        assert not waiting(archive)

    def test_who_is_in_a_hurry_hears_busy_at_once(self, archive, connection):
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy):
            archive.catch_up(patient=False)
        connection.execute("ROLLBACK")
        assert archive.catch_up(patient=False)
        with archive._store.reading() as own:
            assert own.execute("PRAGMA busy_timeout").fetchone() == (5_000,)


class Gate(Index):
    """Lets nothing in before it is opened, or a long time has passed."""

    LONG = 8

    def __init__(self):
        super().__init__()
        self.entered, self.open = threading.Event(), threading.Event()

    def add(self, connection, messages):
        self.entered.set()
        self.open.wait(self.LONG)
        super().add(connection, messages)


class TestPieces:
    """Each commit leaves a piece of the index. They are put together evenly, not many of them in some commit."""

    def merged(self, connection):
        return dict(connection.execute("SELECT k, v FROM finds_config")).get("automerge")

    def test_there_are_never_many(self, archive, connection):
        with archive._store.reading() as own:
            own.execute("PRAGMA synchronous = OFF")
        for number in range(200):
            keep_late(archive, f"part {number} {' '.join(f'word{number * n % 999}' for n in range(60))}")
            archive.catch_up(1)
        assert self.merged(connection) == 0
        assert connection.execute("SELECT count(DISTINCT segid) FROM finds_idx").fetchone()[0] < 20
        assert all(positions(archive, f'"part {number}"') == [0, 1] for number in (0, 7, 99, 199))

    def test_an_older_file_is_told_so_too(self, archive, connection):
        archive.close()
        connection.execute("DELETE FROM finds_config WHERE k = 'automerge'")
        connection.execute("PRAGMA user_version = 3")
        Archive(archive.path).close()
        assert self.merged(connection) == 0


class TestAfterACrash:
    @pytest.mark.parametrize("statement", [1, 2, 3, 5, 8, 12, 20, 30, 45])
    def test_killed_while_it_is_indexed_all_is_found_and_once(self, tmp_path, statement):
        path = tmp_path / "archive.db"

        def task(say):
            archive, bomb = Archive(path), Bomb("inside", statement)
            keep_late(archive, *WORDS)
            say("kept all\n")
            with archive._store.reading() as connection:
                connection.set_trace_callback(lambda _: bomb("inside"))
            while not archive.catch_up(4):
                pass
            os.kill(os.getpid(), signal.SIGKILL)

        acknowledged, code = heard(*child(task))
        assert (acknowledged, code) == ([("kept", "all")], -9)
        archive = Archive(path)
        assert list(archive.verify()) == []
        for number, word in enumerate(WORDS):
            assert positions(archive, word) == [2 * number, 2 * number + 1]
        assert list(archive.verify()) == []

    def test_two_who_index_at_once_do_it_once(self, archive):
        keep_late(archive, *WORDS)
        others = [Archive(archive.path) for _ in range(4)]
        threads = [threading.Thread(target=other.catch_up, args=(1,)) for other in others for _ in range(3)]
        [thread.start() for thread in threads]
        [thread.join(30) for thread in threads]
        assert not waiting(archive)
        assert all(len(positions(archive, word)) == 2 for word in WORDS)

    def test_of_a_damaged_file_what_was_waiting_is_found(self, archive):
        keep_late(archive, "a loose flange", "a worn gasket")
        archive.close()
        with archive.path.open("r+b") as file:
            file.write(b"no database at all")
        again = Archive(archive.path)
        assert [notice.code for notice in again.notices] == ["archive-damaged"]
        assert not waiting(again)
        assert positions(again, "gasket") == [2, 3]
        assert list(again.verify()) == []
        again.close()


class TestOtherDoors:
    def test_verify_finds_no_fault_with_what_waits_and_names_what_is_missing(self, archive, connection):
        keep_late(archive, "a loose flange")
        assert list(archive.verify()) == []
        connection.execute("UPDATE meta SET value = '1' WHERE key = ?", (INDEXED,))
        assert [(trouble.where, trouble.what) for trouble in archive.verify()] == [
            ("search", "it cannot be found by searching")
        ]

    def test_a_mark_that_claims_too_much_is_named(self, archive, connection):
        archive.keep(said("a loose flange"))
        connection.execute("UPDATE meta SET value = '7' WHERE key = ?", (INDEXED,))
        assert ["claims to have it" in trouble.what for trouble in archive.verify()] == [True]

    @pytest.mark.parametrize("value", [None, "x", "-3", ""])
    def test_a_mark_that_is_lost_costs_a_look_at_everything(self, value, archive, connection):
        archive.keep(said("a worn gasket"))
        keep_late(archive, "a loose flange")
        connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value or "", INDEXED))
        if value is None:
            connection.execute("DELETE FROM meta WHERE key = ?", (INDEXED,))
        assert positions(archive, "flange") == positions(archive, "gasket") == [0, 1]
        assert mark(connection) == ("4",)

    def test_an_older_file_has_nothing_waiting(self, archive, connection):
        archive.keep(said("a loose flange"))
        archive.close()
        connection.execute("DELETE FROM meta WHERE key = ?", (INDEXED,))
        connection.execute("PRAGMA user_version = 3")
        assert not later.waiting(connection), "nor has one that cannot be brought up to date"
        again = Archive(archive.path)
        assert schema.version_of(connection) == len(schema.MIGRATIONS)
        assert mark(connection) == ("2",)
        keep_late(again, "a worn gasket")
        assert positions(again, "gasket") == positions(again, "flange") == [0, 1]
        assert list(again.verify()) == []
        again.close()

    def test_a_program_from_before_that_still_has_it_open_is_no_trouble(self, archive, connection):
        """It indexes what it keeps, and knows nothing of a mark."""
        archive.keep(said("a loose flange", "a worn gasket"))
        connection.execute("UPDATE meta SET value = '1' WHERE key = ?", (INDEXED,))
        assert positions(archive, "gasket") == [2, 3]
        assert not waiting(archive)

    def test_an_export_has_it_and_an_import_indexes_what_waits(self, archive, tmp_path):
        keep_late(archive, "a loose flange")
        file = io.BytesIO()
        assert archive.export(file, mask=False).messages == 2
        other = Archive(tmp_path / "other.db")
        keep_late(other, "a worn gasket")
        other.import_(io.BytesIO(file.getvalue()))
        assert not waiting(other)
        assert positions(other, "gasket") == positions(other, "flange") == [0, 1]
        assert list(other.verify()) == []
        other.close()

    def test_what_is_forgotten_while_it_waits_is_not_indexed(self, archive, connection):
        keep_late(archive, "a loose flange", "a worn gasket")
        archive.forget(said("a loose flange").messages[0].identity)
        assert positions(archive, "flange") == [1]
        assert connection.execute("SELECT node FROM said").fetchall() == [(2,), (3,), (4,)]

    def test_what_was_lost_while_it_waited_is_found_when_it_comes_again(self, archive, connection):
        keep_late(archive, "a loose flange")
        connection.execute("UPDATE blobs SET codec = ?, size = 0, data = x'' WHERE id = 1", (LOST,))
        archive.catch_up()
        assert positions(archive, "flange") == [1]
        again = Archive(archive.path)
        keep_late(again, "a loose flange")
        assert positions(again, "flange") == [0, 1]
        assert list(again.verify()) == []
        again.close()

    def test_bytes_that_cannot_be_read_hold_up_nobody_and_are_named(self, archive, connection):
        keep_late(archive, "a loose flange")
        connection.execute("UPDATE blobs SET data = x'00' WHERE id = 1")
        archive.keep(said("a worn gasket"))
        assert positions(archive, "flange") == [1]
        assert positions(archive, "gasket") == [0, 1]
        assert {trouble.where for trouble in archive.verify()} == {"message", "search"}
