"""Both archives do what every archive must, and so does a file that is opened again before each question."""

import json

import pytest

from foldline import Archive, MemoryArchive
from foldline.archive.history import Shelf, lines
from foldline.testing import ArchiveSuite, Session, ShelfSuite

KEY = "sk-proj-aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW"
"""Looks like a key; was never one."""


class TestMemory(ShelfSuite):
    def make(self):
        return MemoryArchive()


class TestFile(ShelfSuite):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder, self.count = tmp_path, 0

    def make(self):
        self.count += 1
        return Archive(self.folder / f"{self.count}.db")


class Forgetful:
    """An archive that knows only what is in its file: each call is answered by a new one."""

    def __init__(self, path):
        self.path = path

    def __getattr__(self, name):
        def call(*args, **kwargs):
            archive = Archive(self.path)
            try:
                return getattr(archive, name)(*args, **kwargs)
            finally:
                archive.close()

        if not hasattr(Shelf, name):
            raise AttributeError(name)
        return call


class TestReopened(TestFile):
    def make(self):
        self.count += 1
        return Forgetful(self.folder / f"{self.count}.db")


@pytest.fixture(params=["memory", "file"])
def archive(request, tmp_path):
    made = MemoryArchive() if request.param == "memory" else Archive(tmp_path / "archive.db")
    yield made
    made.close()


def test_projects_that_begin_with_the_same_words_do_not_meet(archive):
    ours = archive.append(
        Session().user("hello").assistant("hi").user("the code is tangerine").conversation(), project="/a"
    )
    theirs = archive.append(Session().user("hello").conversation(), project="/b", title="theirs")
    assert archive.append(Session().user("hello").assistant("hi").conversation(), project="/b") == theirs != ours
    assert {info.name: (info.project, info.title, info.messages) for info in archive.sessions()} == {
        ours: ("/a", "", 3),
        theirs: ("/b", "theirs", 2),
    }
    assert archive.search("tangerine", project="/b") == []
    assert [[found.position for found in archive.search("hello", project=each)] for each in ("/a", "/b")] == [[0], [0]]


def test_the_beginning_of_a_session_does_not_rename_it(archive):
    whole = Session().user("hello").assistant("hi").user("more").conversation()
    name = archive.append(whole, project="/a", title="the whole", source="one")
    assert archive.append(whole.with_messages(whole.messages[:1]), project="/a", title="another", source="two") == name
    assert (archive.get(name).title, archive.get(name).source) == ("the whole", "one")


def test_the_newest_of_equals_is_first_whenever_it_was_stored(archive):
    for time in (3_000.0, 1_000.0, 2_000.0):
        archive.append(Session().user(f"asked at {time}").assistant("a loose flange").conversation(), time=time)
    assert [found.time for found in archive.search("flange")] == [3_000.0, 2_000.0, 1_000.0]
    assert [found.time for found in archive.search("")] == [3_000.0, 3_000.0, 2_000.0, 2_000.0, 1_000.0, 1_000.0]
    assert [found.time for found in archive.search("flange", limit=2)] == [3_000.0, 2_000.0]


@pytest.mark.parametrize("before", [0, 60, 75, 90, 225, 235])
def test_no_glance_and_no_snippet_shows_a_piece_of_a_secret(before, archive):
    said = f"{(60 * 'word ')[:before]}{KEY} and more"
    session = Session().user(said).tools(("Bash", json.dumps({"command": said}), said))
    name = archive.append(session.conversation())
    shown = [line.glance for line in lines(enumerate(stored.message for stored in archive.messages(name)))]
    shown += [found.snippet for query in ("", "more") for found in archive.search(query)]
    assert len(shown) > 4
    assert not [text for text in shown if KEY[:10] in text]
    assert archive.search(f'"{KEY}"') == []


@pytest.mark.parametrize("field", ["scope", "project", "title", "source", "tool"])
def test_halves_of_characters_in_a_name_are_no_hindrance(field, archive):
    tool = "Ba\ud800sh" if field == "tool" else "Bash"
    conversation = Session().user("go").tools((tool, "{}", "done")).conversation()
    name = archive.append(conversation, **{"scope": "s", field: "half \ud800"} if field != "tool" else {})
    assert [info.name for info in archive.sessions()] == [name]
    if field in ("scope", "project"):
        assert archive.search("done", **{field: "half \ud800"})
        assert not archive.search("done", **{field: "half \ud801"})
        assert archive.recall(("x",), "half \ud800") is None


def test_the_suite_is_for_others_too():
    assert issubclass(ShelfSuite, ArchiveSuite)
    with pytest.raises(NotImplementedError, match="an empty archive"):
        ArchiveSuite().make()
