"""Both archives do what every archive must, and so does a file that is opened again before each question."""

import pytest

from foldline import Archive, MemoryArchive
from foldline.archive.history import Shelf
from foldline.testing import ArchiveSuite, ShelfSuite


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


def test_the_suite_is_for_others_too():
    assert issubclass(ShelfSuite, ArchiveSuite)
    with pytest.raises(NotImplementedError, match="an empty archive"):
        ArchiveSuite().make()
