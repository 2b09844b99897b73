"""What was said in other words is found too; secrets and what was forgotten leave no codes.

Most of this needs foldline[semantic], which is too large to ask of everyone: 150 MB, most of it numpy. To run it all,
`pip install -e '.[dev,semantic]'`.
"""

import json
import sqlite3
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foldline.archive
from archive.test_search import fill
from foldline import Archive
from foldline.archive import schema
from foldline.archive.index import Index, said
from foldline.cli.main import run
from foldline.errors import ArchiveError
from foldline.model import Message, Origin, Text
from foldline.testing import Session

INSTALLED = all(map(find_spec, ("numpy", "tokenizers", "wordllama")))
needs_extra = pytest.mark.skipif(not INSTALLED, reason="foldline[semantic] is not installed")
KEY = "ghp_a8Fk2Lq9Zx0PwB7vNc3RtY6uHs1JdG5mKe4Q"

SAID_OTHERWISE = (
    ("The build broke after upgrading the compiler to the newest release.", "compilation errors caused by a toolchain"),
    ("Memory usage keeps growing until the process is killed.", "leak eats all RAM"),
    ("Use tabs rather than spaces in this repository.", "indentation style preference"),
    ("The user wants all error texts translated into German.", "localise failure messages for another language"),
    ("Password hashing was switched from MD5 to bcrypt.", "stronger protection for stored credentials"),
    ("The button is invisible on small phones.", "mobile layout hides a control"),
    ("Deploy only after the reviewer has approved.", "wait with a release until somebody signs off"),
    ("The socket closes whenever the client is idle for a minute.", "connection dropped through inactivity timeout"),
    ("We dropped support for Windows.", "platform no longer maintained: Microsoft operating system"),
    ("Sorting the list before bisecting made the lookup fast.", "speed up search by ordering elements"),
    ("The cache returned stale prices for an hour.", "outdated cost values were served"),
    ("I split the huge function into four smaller ones.", "refactor long method to short pieces"),
    ("Never touch the billing tables by hand.", "forbidden: manual edits of payment data"),
    ("The test passes alone and fails when run with the others.", "flaky because of order dependence between specs"),
    ("The emails land in the spam folder.", "mail treated as junk"),
    ("Camera footage is deleted after thirty days.", "video recordings retention period"),
    ("The kitchen printer jams on long receipts.", "paper stuck in a device at this restaurant"),
    ("Add pagination so that a thousand rows do not arrive at once.", "limit how many records one response contains"),
    ("The certificate of the staging server ran out on Sunday.", "TLS expired in a test environment"),
    ("The boss prefers the chart in blue.", "manager's favourite colour in a graph"),
)
"""Messages, and the same in words of which none matters that the message has."""


def tell(archive, *texts, **about):
    """Keeps texts as what a user said, one after the other."""
    session = Session()
    for text in texts:
        session.user(text).assistant("ok")
    return archive.append(session.conversation(), **about)


def positions(archive, query, **filters):
    return [found.position for found in archive.search(query, semantic=True, **filters)]


def count(connection, table):
    return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


class TestWithoutTheExtra:
    @pytest.fixture(autouse=True)
    def absent(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "numpy", None)
        for name in ("semantic", "vectors"):
            monkeypatch.delitem(sys.modules, f"foldline.archive.{name}", raising=False)
            monkeypatch.delattr(foldline.archive, name, raising=False)

    def test_it_is_said_what_to_install(self, archive):
        tell(archive, "a loose flange")
        with pytest.raises(ArchiveError, match=r"needs numpy; install it: pip install 'foldline\[semantic\]'"):
            archive.search("flange", semantic=True)
        assert [found.position for found in archive.search("flange")] == [0]

    def test_on_the_command_line_too(self, archive, capsys):
        tell(archive, "a loose flange")
        assert run(["search", "--semantic", "--archive", str(archive.path), "flange"]) != 0
        assert "pip install 'foldline[semantic]'" in capsys.readouterr().err

    def test_what_is_kept_is_noted_for_those_who_get_it_later(self, archive, connection):
        tell(archive, "one", "two")
        assert count(connection, "uncoded") == 4
        assert count(connection, "codes") == 0

    def test_forgetting_removes_the_note(self, archive, connection):
        tell(archive, "one", "two")
        archive.forget(archive.search("two")[0].ref)
        assert connection.execute("SELECT node FROM uncoded").fetchall() == [(1,), (2,), (4,)]

    def test_an_older_archive_is_brought_up_to_date(self, archive):
        tell(archive, "one", "two")
        archive.close()
        older(archive.path)
        again = Archive(archive.path)
        with sqlite3.connect(archive.path) as connection:
            assert schema.version_of(connection) == len(schema.MIGRATIONS)
            assert connection.execute("SELECT node FROM uncoded").fetchall() == [(1,), (2,), (3,), (4,)]
        assert list(again.verify()) == []
        again.close()


def older(path, version=2):
    """Makes the file what it was before there were codes."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TABLE codes")
    connection.execute("DROP TABLE uncoded")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


@needs_extra
class TestFinding:
    def test_most_of_what_was_said_otherwise_is_found_where_words_find_little(self, archive):
        tell(archive, *(said for said, _ in SAID_OTHERWISE))
        by_words = by_meaning = 0
        for number, (_, query) in enumerate(SAID_OTHERWISE):
            by_words += 2 * number in [found.position for found in archive.search(query, limit=3)]
            by_meaning += 2 * number in positions(archive, query, limit=3)
        assert by_words == 0
        assert by_meaning >= 12

    def test_the_words_themselves_still_come_first(self, archive):
        tell(archive, "the valve leaks", "zq81 is the part", "a pump drips", "the flange is loose")
        assert positions(archive, "zq81")[0] == 2
        assert archive.search("flange is loose", semantic=True)[0].score == 1.0

    def test_what_is_like_nothing_is_not_found(self, archive):
        tell(archive, "The emails land in the spam folder.")
        assert positions(archive, "geological strata of basalt") == []

    def test_filters_hold(self, archive):
        first = tell(archive, "The emails land in the spam folder.", project="/a", scope="one", time=1_000.0)
        tell(archive, "All mail is treated as junk.", project="/b", scope="two", time=2_000.0)
        query = "messages classified as spam"
        assert {found.project for found in archive.search(query, semantic=True)} == {"/a", "/b"}
        for filters in ({"session": first}, {"project": "/a"}, {"scope": "one"}, {"before": 1_500.0}):
            assert {found.project for found in archive.search(query, semantic=True, **filters)} == {"/a"}
        assert positions(archive, query, role="assistant") == []
        assert positions(archive, query, tool="Bash") == []
        with pytest.raises(TypeError):
            archive.search(query, semantic=True, colour="red")

    def test_an_empty_query_finds_the_newest_as_ever(self, archive):
        tell(archive, "one", "two")
        assert positions(archive, "", limit=2) == [3, 2]
        assert positions(archive, "!!") == []

    def test_no_more_than_asked_for(self, archive):
        tell(archive, *(f"mail number {number} is junk" for number in range(30)))
        assert len(positions(archive, "junk mail", limit=7)) == 7

    @settings(max_examples=40, deadline=None)
    @given(st.text(st.characters(codec=None)))
    def test_any_text_is_a_query(self, query):
        from foldline.archive import semantic

        if not hasattr(type(self), "_connection"):
            type(self)._connection = sqlite3.connect(":memory:")
            fill(type(self)._connection, [by_user("a b c 1 2 3 é 数 x_y"), by_user("mail"), by_user("")])
        for found in semantic.search(self._connection, query):
            assert found.ref

    def test_people_are_answered_on_the_command_line(self, archive, monkeypatch, capsys):
        monkeypatch.setattr("foldline.cli.listing.LONG", 2)
        tell(archive, "The emails land in the spam folder.", "The flange is loose.")
        for told in ("reading 4 messages for their meaning", ""):
            line = ["search", "--semantic", "--json", "--archive", str(archive.path), "mail treated", "as junk"]
            assert run(line) == 0
            shown = capsys.readouterr()
            assert [found["position"] for found in json.loads(shown.out)["found"]] == [0]
            assert told in shown.err
            assert bool(told) == bool(shown.err)


def by_user(text):
    return Message("user", Origin.USER, (Text(text),))


@needs_extra
class TestCodes:
    def test_they_are_made_once_and_for_what_is_new(self, archive, connection):
        tell(archive, "one", "two")
        positions(archive, "one")
        assert (count(connection, "uncoded"), count(connection, "codes")) == (0, 4)
        connection.execute("UPDATE codes SET code = zeroblob(32) WHERE node = 1")
        tell(archive, "one", "two", "three")
        assert archive.uncoded() == 2
        positions(archive, "one")
        assert (count(connection, "uncoded"), count(connection, "codes")) == (0, 6)
        assert connection.execute("SELECT code FROM codes WHERE node = 1").fetchone() == (bytes(32),)

    def test_cut_short_they_are_gone_on_with(self, archive, connection, monkeypatch):
        from foldline.archive import semantic

        tell(archive, *(f"mail {number} is junk" for number in range(10)))
        embed, calls = semantic.vectors.embed, iter(range(100))

        def interrupted(texts):
            if next(calls) == 3:
                raise KeyboardInterrupt
            return embed(texts)

        monkeypatch.setattr(semantic, "BATCH", 3)
        monkeypatch.setattr(semantic.vectors, "embed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            archive.search("spam", semantic=True)
        assert (count(connection, "uncoded"), count(connection, "codes")) == (11, 9)
        assert positions(archive, "spam")
        assert (count(connection, "uncoded"), count(connection, "codes")) == (0, 20)

    def test_what_is_forgotten_while_codes_are_made_gets_none(self, archive, connection, monkeypatch):
        from foldline.archive import semantic

        tell(archive, "one", "two")
        ref = archive.search("two")[0].ref
        embed, other = semantic.vectors.embed, Archive(archive.path)

        def meanwhile(texts):
            if other.search("two"):
                other.forget(ref)
            return embed(texts)

        monkeypatch.setattr(semantic.vectors, "embed", meanwhile)
        positions(archive, "one")
        other.close()
        assert connection.execute("SELECT node FROM codes").fetchall() == [(1,), (2,), (4,)]

    def test_forgetting_removes_them(self, archive, connection):
        first = tell(archive, "one", "two")
        tell(archive, "three")
        positions(archive, "one")
        before = count(connection, "codes")
        archive.forget(archive.search("two")[0].ref)
        assert count(connection, "codes") == before - 1
        archive.forget(first)
        left = connection.execute("SELECT node FROM said ORDER BY node").fetchall()
        assert connection.execute("SELECT node FROM codes ORDER BY node").fetchall() == left
        assert {(1,), (3,)}.isdisjoint(left)

    def test_they_are_made_of_masked_text(self, archive, connection):
        from foldline.archive import vectors

        tell(archive, f"my key is {KEY}")
        positions(archive, "key")
        (code,) = connection.execute("SELECT code FROM codes WHERE node = 1").fetchone()
        assert [code] == vectors.codes(vectors.embed([said(by_user(f"my key is {KEY}"))]))
        assert [code] != vectors.codes(vectors.embed([f"my key is {KEY}"]))

    def test_a_message_that_comes_back_gets_a_new_one(self, archive, connection):
        tell(archive, "one", "two")
        positions(archive, "one")
        index, message = Index(), next(iter(archive.messages(archive.sessions()[0].name))).message
        index.remove(connection, [1])
        index.add(connection, [(1, message)])
        assert archive.uncoded() == 1
        assert 0 in positions(archive, "one")

    def test_where_there_is_no_room_for_them_the_search_works_all_the_same(self, tmp_path):
        archive = Archive(tmp_path / "archive.db")
        tell(archive, "The emails land in the spam folder.", *(f"part {number}" for number in range(3_000)))
        archive.close()
        full = Archive(archive.path, cap=archive.path.stat().st_size)
        assert positions(full, "mail treated as junk", limit=1) == [0]
        assert full.uncoded() > 0
        full.close()

    def test_in_a_file_that_cannot_be_written_too(self, archive, connection):
        tell(archive, "The emails land in the spam folder.")
        archive.close()
        connection.execute("PRAGMA user_version = 99")
        again = Archive(archive.path)
        assert positions(again, "mail treated as junk") == [0]
        assert again.uncoded() == 2
        again.close()

    def test_a_read_only_file_from_before_them_says_so(self, archive, connection):
        from foldline.archive import semantic

        tell(archive, "one")
        archive.close()
        older(archive.path)
        with pytest.raises(ArchiveError, match=r"older Foldline and is read-only.*search it by words"):
            semantic.uncoded(connection)

    def test_a_damaged_one_is_left_out(self, archive, connection):
        tell(archive, "The emails land in the spam folder.", "The flange is loose.")
        positions(archive, "flange")
        connection.execute("UPDATE codes SET code = x'00' WHERE node = 3")
        assert positions(archive, "mail treated as junk") == [0]


@needs_extra
class TestVectors:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.text(max_size=200), max_size=5))
    def test_each_has_length_one_or_says_nothing(self, texts):
        import numpy as np

        from foldline.archive import vectors

        made = vectors.embed(texts)
        assert made.shape == (len(texts), vectors.DIMENSIONS)
        for text, length, code in zip(texts, np.linalg.norm(made, axis=1), vectors.codes(made), strict=True):
            assert abs(length - bool(text.strip())) < 1e-4
            assert len(code) == (vectors.BYTES if text.strip() else 0)

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 2**32), st.integers(1, 40))
    def test_nearness_is_the_vector_times_the_signs(self, seed, many):
        import numpy as np

        from foldline.archive import vectors

        source = np.random.default_rng(seed)
        them, vector = source.normal(size=(many, 256)), source.normal(size=256).astype(np.float32)
        found = vectors.near(vectors.unpacked(vectors.codes(them)), vector)
        assert np.allclose(found, np.where(them > 0, 1, -1) @ vector, atol=1e-3)

    def test_only_the_beginning_of_a_text_counts(self):
        from foldline.archive import vectors

        text = "mail " * 200
        assert (vectors.embed([text]) == vectors.embed([text + "flange " * 100_000])).all()

    def test_the_wheels_code_is_not_run_and_nothing_is_asked_of_the_network(self, archive):
        tell(archive, "The emails land in the spam folder.")
        script = (
            "import socket, sys\n"
            "def no(*_, **__): raise AssertionError('the network was asked')\n"
            "socket.socket = socket.create_connection = socket.getaddrinfo = no\n"
            "from foldline import Archive\n"
            "assert Archive(sys.argv[1]).search('junk mail', semantic=True)\n"
            "assert 'wordllama' not in sys.modules and 'huggingface_hub' not in sys.modules\n"
        )
        done = subprocess.run([sys.executable, "-c", script, archive.path], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")

    def test_weights_that_are_missing_or_other_are_said(self, tmp_path, monkeypatch):
        from foldline.archive import vectors

        (tmp_path / "wordllama" / "weights").mkdir(parents=True)
        (tmp_path / "wordllama" / "__init__.py").touch()
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(ArchiveError, match=r"needs the weights of wordllama 0\.4.*foldline\[semantic\]"):
            vectors._matrix.__wrapped__()
        head = json.dumps({"embedding.weight": {"dtype": "F32", "shape": [2, 64], "data_offsets": [0, 512]}}).encode()
        other = len(head).to_bytes(8, "little") + head + bytes(512)
        (tmp_path / "wordllama" / vectors._WEIGHTS).write_bytes(other)
        with pytest.raises(ArchiveError, match=r"holds F32 \[2, 64\]"):
            vectors._matrix.__wrapped__()


@needs_extra
@pytest.mark.speed
def test_a_thousand_messages_get_their_codes_in_a_second():
    from foldline.archive import vectors

    texts = [f"{said} Number {number}, and {asked}. " * 3 for number in range(50) for said, asked in SAID_OTHERWISE]
    vectors.embed(texts[:10])
    before = time.process_time()
    vectors.codes(vectors.embed(texts))
    assert time.process_time() - before < 1
