"""Everything kept can be found again; secrets, what was forgotten, and other people's sessions cannot."""

import json
import sqlite3
import time
import zlib

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foldline import Archive
from foldline.archive import schema
from foldline.archive.base import Filters
from foldline.archive.index import Index, said, touched
from foldline.archive.search import RANKED, search
from foldline.core.words.searchtext import MARKS
from foldline.errors import ArchiveError, InvalidSetting
from foldline.model import Media, Message, Origin, Text, Thinking, ToolCall
from foldline.testing import Session

EVERYDAY = ("flange", "7", "é", "数", "x_y", "loader.py")
SIGNS = ('"', "*", "^", "(", ")", "NEAR(", "AND", "NOT", "text:", "-", "\0", "{", "\ud800", "'", ";--")
pieces = st.sampled_from(EVERYDAY) | st.sampled_from(SIGNS) | st.text(st.characters(), max_size=8)
queries = st.lists(pieces, min_size=1, max_size=8).map(" ".join)
KEY = "ghp_a8Fk2Lq9Zx0PwB7vNc3RtY6uHs1JdG5mKe4Q"


def story():
    """Two turns of a coding agent."""
    return (
        Session()
        .user("Please fix parseConfig in the loader")
        .tools(("Read", json.dumps({"file_path": "src/app/loader.py"}), "def parse_config(path):\n    return 1"))
        .tools(("Bash", json.dumps({"command": "pytest -q"}), "E   ZeroDivisionError: division by zero"))
        .assistant("The flange was loose; 数据库连接 is fine.")
    )


def positions(archive, query, **filters):
    return [found.position for found in archive.search(query, **filters)]


class TestFinding:
    @pytest.fixture(autouse=True)
    def kept(self, archive):
        self.name = archive.append(story().conversation(), project="/work/app", time=1_000.0)

    def test_words_phrases_paths_identifiers_and_errors(self, archive):
        assert set(positions(archive, "parse_config")) == {0, 2}
        assert set(positions(archive, "parseConfig")) == {0, 2}
        assert positions(archive, "app/loader.py") == [1]
        assert positions(archive, '"division by zero"') == [4]
        assert positions(archive, "ZeroDivisionError: division by zero!") == [4]
        assert positions(archive, "连接") == [5]
        assert positions(archive, "Bash") == [3]
        assert positions(archive, "unheard-of") == []

    def test_a_find_says_where_it_is_and_how_to_get_it(self, archive):
        (found,) = archive.search("flange")
        assert (found.session, found.project, found.role, found.time) == (self.name, "/work/app", "assistant", 1_000.0)
        assert "The ⟪flange⟫ was loose" in found.snippet
        assert archive.get(found.ref).message.text.startswith("The flange was loose")

    def test_if_no_message_has_all_words_those_with_some_are_found(self, archive):
        assert positions(archive, "flange unheard-of") == [5]

    def test_nothing_asked_is_nothing_found_unless_filters_ask(self, archive):
        assert positions(archive, "!!") == []
        assert positions(archive, "", limit=2) == [5, 4]
        assert positions(archive, " ", tool="Bash") == [4, 3]

    def test_a_tools_filter_finds_calls_and_answers(self, archive):
        assert positions(archive, "path", tool="read") == [2]
        assert positions(archive, "zero", tool="Read") == []

    def test_a_role_is_who_speaks(self, archive):
        assert positions(archive, "parse_config", role="user") == [0]
        assert positions(archive, "parse_config", role="tool") == [2]
        assert positions(archive, "parse_config", role="assistant") == []

    def test_a_file_filter_finds_the_call_and_its_answer(self, archive):
        for path in ("src/app/loader.py", "loader.py", "/home/me/src/app/loader.py"):
            assert positions(archive, "", file=path) == [2, 1]
        assert positions(archive, "parse_config", file="loader.py") == [2]
        assert positions(archive, "", file="app/other/loader.py") == []
        assert positions(archive, "", file="der.py") == []

    def test_times_bound_it(self, archive):
        assert positions(archive, "flange", after=1_000.0, before=1_001.0) == [5]
        assert positions(archive, "flange", after=1_000.5) == []
        assert positions(archive, "flange", before=1_000.0) == []

    def test_projects_and_scopes_are_apart(self, archive):
        other = Session().user("another flange").conversation()
        archive.append(other, scope="team", project="/work/other", time=2_000.0)
        assert [found.project for found in archive.search("flange", project="/work/app")] == ["/work/app"]
        assert [found.project for found in archive.search("flange", scope="team")] == ["/work/other"]
        assert archive.search("flange", scope="nobody") == []

    def test_a_session_is_all_on_the_way_to_its_end(self, archive):
        fork = story()
        short = fork.conversation()
        forked = archive.append(short.with_messages(short.messages[:4]).append(
            *Session().assistant("a loose widget").conversation().messages
        ))  # fmt: skip
        assert forked != self.name
        assert [found.session for found in archive.search("loose", session=forked)] == [forked]
        assert positions(archive, "parse_config", session=forked) == positions(archive, "parse_config")
        assert positions(archive, "flange", session=forked) == []
        assert positions(archive, "widget", session=self.name) == []

    def test_an_unknown_session_is_said_to_be_unknown(self, archive):
        with pytest.raises(ArchiveError, match="no session"):
            archive.search("flange", session="nope")

    def test_hostile_filters_are_only_values(self, archive):
        for hostile in ("'; DROP TABLE nodes; --", '" OR 1=1', "%", "\0"):
            for name in ("project", "scope", "tool", "file"):
                assert archive.search("flange", **{name: hostile}) == []
            with pytest.raises(InvalidSetting, match="give one of system, user, assistant, tool"):
                archive.search("flange", role=hostile)
        assert positions(archive, "flange") == [5]

    @settings(max_examples=60, deadline=None)
    @given(queries)
    def test_any_text_is_a_query_and_finds_what_has_a_word_of_it(self, query):
        found = search(self.everyday(), query, Filters(), 20)
        words = query.partition('"')[0].split()
        assume(not set(words).isdisjoint(EVERYDAY))
        assert [one.position for one in found] == [0]
        assert MARKS[0] in found[0].snippet

    def test_a_word_among_such_signs_is_found(self):
        for word in EVERYDAY:
            (found,) = search(self.everyday(), " ".join(("unheard-of", *SIGNS[1:], word, *SIGNS)), Filters(), 20)
            assert f"{MARKS[0]}{word}{MARKS[1]}" in found.snippet

    def everyday(self):
        if not hasattr(type(self), "_connection"):
            connection = sqlite3.connect(":memory:")
            fill(connection, [Message("user", Origin.USER, (Text(" ".join(EVERYDAY)),))])
            type(self)._connection = connection
        return type(self)._connection


class TestRanking:
    def test_the_better_answer_first_and_the_newer_of_equals(self, archive):
        said = ["flange", "flange flange", "a flange among many other words that say nothing", "flange"]
        session = Session()
        for text in said:
            session.user(text).assistant("ok")
        archive.append(session.conversation())
        assert positions(archive, "flange") == [2, 6, 0, 4]
        scores = [found.score for found in archive.search("flange")]
        assert scores == sorted(scores, reverse=True)

    def test_of_a_common_word_the_newest_are_ranked(self):
        connection = sqlite3.connect(":memory:")
        messages = [Message("user", Origin.USER, (Text(f"flange number{n}"),)) for n in range(RANKED + 50)]
        messages[10] = Message("user", Origin.USER, (Text("flange flange flange"),))
        fill(connection, messages)
        found = search(connection, "flange", Filters(), 3)
        assert [one.position for one in found] == [RANKED + 49, RANKED + 48, RANKED + 47]
        assert search(connection, "number11 flange", Filters(), 20)[0].position == 11


def fill(connection, messages):
    """Messages in one line, without an archive around them."""
    schema.migrate(connection)
    connection.execute("INSERT INTO sessions VALUES (1,'s','','','','','',1,?,NULL,NULL,0,0,0)", (len(messages),))
    for at, message in enumerate(messages):
        node = at + 1
        connection.execute(
            "INSERT INTO nodes VALUES (?, ?, x'00', ?, 1, ?, ?, ?, 'anthropic', '', ?)",
            (node, at, node, at, message.role, message.origin.value, float(at)),
        )
        connection.execute("INSERT INTO blobs VALUES (?, ?, 0, 0, x'', NULL)", (node, node.to_bytes(16)))
    Index().add(connection, list(enumerate(messages, 1)))


class TestSecrets:
    def test_no_secret_is_indexed_shown_or_stored_by_the_index(self, archive, connection):
        archive.append(
            Session()
            .user(f"my key is {KEY}")
            .tools(("Bash", json.dumps({"command": f"curl -u {KEY}", "password": "hunter22"}), f"used {KEY}"))
            .conversation()
        )
        assert archive.search(KEY) == []
        assert archive.search("hunter22") == []
        (found,) = archive.search('"my key is"')
        assert "[masked github-token" in found.snippet
        assert not [word for word in words(connection) if "lq9zx" in word or "hunter" in word]
        shown = "".join(zlib.decompress(text).decode() for (text,) in connection.execute("SELECT text FROM said"))
        assert "my key is" in shown
        assert "Lq9Zx" not in shown
        assert "hunter" not in shown

    def test_a_secret_in_a_path_is_masked_too(self, connection, archive):
        arguments = json.dumps({"file_path": f"/tmp/{KEY}"})
        archive.append(Session().user("go").tools(("Read", arguments, "x")).conversation())
        rows = connection.execute("SELECT name, path FROM files").fetchall()
        assert rows
        assert KEY not in str(rows)


def words(connection):
    """Every word the index has."""
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, finds, 'row')")
    found = [word for (word,) in connection.execute("SELECT term FROM temp.words")]
    connection.execute("DROP TABLE temp.words")
    return found


class TestRemoving:
    def test_what_is_removed_is_found_no_more_and_the_rest_is(self, archive, connection):
        archive.append(story().conversation())
        nodes = [node for (node,) in connection.execute("SELECT id FROM nodes WHERE position IN (1, 5)")]
        index = Index()
        with connection:
            index.remove(connection, [*nodes, 12_345])
        assert positions(archive, "flange") == []
        assert positions(archive, "连接") == []
        assert positions(archive, "", file="loader.py") == []
        assert set(positions(archive, "parse_config")) == {0, 2}
        connection.execute("INSERT INTO finds(finds) VALUES ('integrity-check')")

    def test_after_a_purge_its_words_are_gone_from_the_file(self, archive, connection):
        archive.append(story().conversation())

        def pages():
            return b"".join(row[0] for row in connection.execute("SELECT block FROM finds_data"))

        assert "flang" in words(connection)
        assert b"lang" in pages()  # words that begin alike share their beginning
        node = connection.execute("SELECT id FROM nodes WHERE position = 5").fetchone()[0]
        with connection:
            Index().remove(connection, [node])
            Index().purge(connection)
        assert b"lang" not in pages()
        assert "zerodivisionerror" in words(connection)


class TestWhatIsIndexed:
    def test_text_thinking_and_arguments_but_not_their_names(self):
        call = ToolCall("1", "Write", json.dumps({"file_path": "a.py", "edits": [{"new": "x\ny", "count": 3}]}))
        message = Message(
            "assistant",
            Origin.ASSISTANT,
            (Thinking("hm"), Media("image", data="aGk="), Text("so"), call, ToolCall("2", "sh", "ls -l")),
        )
        assert said(message) == "hm\nso\na.py\nx\ny\nls -l"

    def test_lone_surrogates_are_replaced(self, archive):
        archive.append(Session().user("broken \ud800 flange").conversation())
        assert positions(archive, "flange") == [0]

    def test_files_of_calls_and_commands(self):
        calls = (
            ToolCall("1", "Edit", json.dumps({"file_path": "a.py"})),
            ToolCall("2", "Bash", json.dumps({"command": "mv b.py c.py"})),
        )
        assert touched(Message("assistant", Origin.ASSISTANT, calls)) == ("a.py", "b.py", "c.py")

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.text(), min_size=1, max_size=5))
    def test_whatever_was_added_can_be_removed_without_a_trace(self, texts):
        connection = sqlite3.connect(":memory:")
        fill(connection, [Message("user", Origin.USER, (Text(text),)) for text in texts])
        Index().remove(connection, range(1, len(texts) + 1))
        Index().purge(connection)
        assert connection.execute("SELECT count(*) FROM said").fetchone() == (0,)
        assert words(connection) == []


@pytest.mark.speed
def test_twenty_thousand_messages_are_indexed_and_asked_quickly():
    connection = sqlite3.connect(":memory:")
    words = [f"w{number % 7_919}x" for number in range(60)]
    messages = [
        Message("user", Origin.USER, (Text(f"common needle{at} " + " ".join(words[at % 50 :]) * 2),))
        for at in range(20_000)
    ]
    before = time.process_time()
    fill(connection, messages)
    assert time.process_time() - before < 12
    for query, most in (("needle12345", 0.01), ("common", 0.25)):
        spent = []
        for _ in range(3):
            before = time.process_time()
            assert search(connection, query, Filters(), 20)
            spent.append(time.process_time() - before)
        assert min(spent) < most


def test_a_filter_that_is_misspelt_is_no_reason_to_look_for_damage(tmp_path):
    archive, said = Archive(tmp_path / "archive.db"), []
    with archive._store.reading() as connection:
        connection.set_trace_callback(said.append)
    for semantic in (False, True):
        with pytest.raises(TypeError, match="sesion"):
            archive.search("commas", sesion="one", semantic=semantic)
    assert said == []
