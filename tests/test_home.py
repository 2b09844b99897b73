"""One folder for everything Foldline keeps, wherever the user puts it."""

from contextlib import closing
from pathlib import Path

import pytest

from foldline import Archive, home
from foldline.agenda.store import Log

HERE = Path.home()


@pytest.mark.parametrize(
    ("said", "folder"),
    [
        ("", HERE / ".local/share/foldline"),
        ("~/elsewhere", HERE / "elsewhere"),
        ("/srv/foldline", Path("/srv/foldline")),
    ],
)
def test_all_files_lie_in_one_folder(said, folder, monkeypatch):
    monkeypatch.setenv("FOLDLINE_HOME", said)
    assert [home.archive(), home.agenda(), home.proxies()] == [
        folder / "archive.db",
        folder / "agenda.db",
        folder / "proxies",
    ]
    assert Log().path == folder / "agenda.db"


def test_the_agenda_lies_beside_the_archive_that_is_named():
    assert home.agenda("~/work/a.db") == HERE / "work/agenda.db"


def test_an_archive_without_a_path_lies_in_that_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FOLDLINE_HOME", "~/kept")
    with closing(Archive()) as archive:
        assert archive.path == tmp_path / "kept" / "archive.db"


@pytest.mark.parametrize(("said", "wanted"), [("", False), ("0", False), ("1", True), ("yes", True)])
def test_tracebacks_are_shown_where_they_are_asked_for(said, wanted, monkeypatch):
    monkeypatch.setenv("FOLDLINE_DEBUG", said)
    assert home.debugging() is wanted
