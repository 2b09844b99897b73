"""What an archive is asked takes as long as it holds much: twice as much twice the time, not four times."""

import io

import pytest

from foldline import Archive
from foldline.archive import transfer, ways
from foldline.archive.verify import verify
from foldline.conformance import made, saved, talk


def filled(path, turns, plans):
    """An archive of so many turns and plans."""
    archive = Archive(path)
    archive.keep(talk(turns=turns).conversation())
    for number in range(plans):
        saved(archive, f"p{number}")
    return archive


def steps(archive, ask):
    """How many hundred steps SQLite takes."""
    taken = 0

    def count():
        nonlocal taken
        taken += 1

    with archive._store.looking() as connection:
        connection.set_progress_handler(count, 100)
        ask(connection)
    return taken


def test_a_list_of_sessions_does_not_look_at_their_messages(tmp_path):
    few, many = (filled(tmp_path / f"{turns}.db", turns, 0) for turns in (10, 1_000))
    for archive in (few, many):
        saved(archive, "c", made(), covered=[next(archive.messages(archive.sessions()[0].name)).message.identity])
        assert [session.checkpoints for session in archive.sessions()] == [1]
    taken = [
        steps(archive, lambda connection: ways.sessions(connection, name=None, scope=None, project=None, limit=5))
        for archive in (few, many)
    ]
    assert taken[1] - taken[0] < 20, taken


QUESTIONS = {
    "verify": (lambda connection: list(verify(connection)), {"turns": 200, "plans": 0}),
    "export": (
        lambda connection: transfer.export(connection, io.BytesIO(), None, mask=False),
        {"turns": 1, "plans": 200},
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_twice_as_much_takes_twice_as_long(question, tmp_path):
    ask, size = QUESTIONS[question]
    once = steps(filled(tmp_path / "once.db", **size), ask)
    twice = steps(filled(tmp_path / "twice.db", **{name: 2 * many for name, many in size.items()}), ask)
    assert twice < 3 * max(once, 1), (once, twice)
