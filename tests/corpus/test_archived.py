"""Real sessions in an archive on disk: imported, folded three times while they grow, brought back, undone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from corpus.test_corpus import FILES, unpacked
from foldline import Archive, MemoryArchive, sources
from foldline.archive.folders import OPEN, Importer
from foldline.core.account import View
from foldline.core.engine import turn
from foldline.core.options import Options
from foldline.dialects import several
from foldline.drive import World, run
from foldline.errors import CannotFit
from foldline.model import Conversation
from foldline.models import Budget
from foldline.tokens import meter_for

FOLDS = 3
ROOMY = 10_000_000
"""A window into which every session fits as it is."""
WORTH_IT = 20_000
"""Tokens from which on a session must have been folded at least once; a small one may not get any smaller."""

pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not FILES, reason="no real sessions beside the checkout")]


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def path(request) -> Path:
    return request.param


@pytest.fixture
def name(tmp_path) -> Path:
    return tmp_path / "archive.db"


def shown(archive: Archive | MemoryArchive, conversation: Conversation, options: Options) -> View:
    return run(turn(conversation, options, meter_for(conversation.head.model)), World(archive, {}))


def folded(archive: Archive, conversation: Conversation) -> list[View]:
    """The views of a session that is folded to half its size each time it has grown by a third."""
    views = []
    for part in range(1, FOLDS + 1):
        so_far = conversation.with_messages(conversation.messages[: len(conversation) * part // FOLDS])
        tokens = meter_for(conversation.head.model).count(so_far).tokens
        views.append(_smaller(archive, so_far, max(tokens // 2, WORTH_IT // 2)))
    return views


def _smaller(archive: Archive, conversation: Conversation, to: int) -> View:
    """Folded to so many tokens, or where that is too few to twice the fewest there can be."""
    try:
        return shown(archive, conversation, Options(Budget(ROOMY), secret=b"s", force=True, to=to))
    except CannotFit as cannot:
        return shown(archive, conversation, Options(Budget(ROOMY), secret=b"s", force=True, to=2 * cannot.tokens))


def test_what_is_imported_comes_back_byte_for_byte(path, name):
    archive = Archive(name)
    later = time.time() + 2 * OPEN  # a step that nobody answers is left out while the file is fresh
    brought = Importer(archive, lambda given: sources.read(given, history="all"), lambda: later).bring([path])
    assert brought.failed == ()
    archive.close()
    archive = Archive(name)
    for session, conversation in zip(brought.sessions, several(sources.read(path, history="all")), strict=True):
        kept = list(archive.messages(session))
        assert [stored.raw for stored in kept] == [message.raw for message in conversation.messages]
        assert [stored.message for stored in kept] == list(conversation.messages)
    archive.close()


def test_what_is_folded_comes_back_byte_for_byte_and_undone_it_is_the_input(path, name):
    for number, conversation in enumerate(several(sources.read(path))):
        archive = Archive(name.with_name(f"{number}.db"))
        views = folded(archive, conversation)
        archive.close()
        archive = Archive(name.with_name(f"{number}.db"))
        _comes_back(archive, conversation, views[-1])
        _is_undone(archive, conversation, views[-1], unpacked(path))
        archive.close()


def _comes_back(archive: Archive, conversation: Conversation, view: View) -> None:
    if view.checkpoint is None:
        assert meter_for(conversation.head.model).count(conversation).tokens < WORTH_IT
        return
    assert view.plan is not None
    expected = conversation.messages[: view.plan.start]
    back = archive.expand(view.checkpoint.ref)
    assert [message.raw for message in back] == [message.raw for message in expected]
    assert back == expected


def _is_undone(archive: Archive, conversation: Conversation, view: View, data: bytes) -> None:
    if view.checkpoint is not None:
        first = archive.lineage(view.checkpoint.ref)[-1]
        assert shown(archive, conversation, Options(Budget(ROOMY), secret=b"s")).checkpoint == view.checkpoint
        assert archive.undo(first) is None
    plain = shown(archive, conversation, Options(Budget(ROOMY), secret=b"s"))
    never = shown(MemoryArchive(), conversation, Options(Budget(ROOMY), secret=b"s"))
    assert plain.checkpoint is None
    assert plain.conversation.messages == never.conversation.messages
    assert plain.receipt.repairs or sources.write(plain.conversation) == data
