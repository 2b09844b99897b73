"""An archive in a file of its own, and a second way into that file."""

import sqlite3

import pytest

from foldline.archive import Archive


@pytest.fixture
def archive(tmp_path):
    archive = Archive(tmp_path / "archive.db")
    yield archive
    archive.close()


@pytest.fixture
def connection(archive):
    connection = sqlite3.connect(archive.path, isolation_level=None)
    yield connection
    connection.close()
