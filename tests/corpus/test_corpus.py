"""Real sessions: all of them are read, written back byte for byte, rebuilt from their parts, and folded."""

from __future__ import annotations

import gzip
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from foldline import sources
from foldline.dialects import mending
from foldline.errors import MalformedInput
from foldline.model import Message, Origin, Text

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
FILES = sorted(CORPUS.glob("*/*.gz"))
DIALECTS = {"openai-chat": "trajectories"}
"""Folders named otherwise than the dialect of their files."""

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not FILES, reason=f"no real sessions in {CORPUS}"),
]


@pytest.fixture(params=FILES, ids=lambda path: path.name, scope="module")
def path(request) -> Path:
    return request.param


@lru_cache(maxsize=1)
def unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


@lru_cache(maxsize=2)
def read(path: Path, history: str):
    return sources.read(path, history=history)


def values(data: bytes) -> list:
    """A document, or its lines where it is one of lines; what cannot be decoded stays as it is."""
    try:
        return [mending.decode(data)]
    except MalformedInput:
        return [_value(line) for line in data.splitlines()]


def _value(line: bytes):
    try:
        return mending.decode(line)
    except MalformedInput:
        return line


@pytest.mark.parametrize("history", ["live", "all"])
def test_it_is_written_as_it_was_and_rebuilt_from_its_parts(path, history):
    conversation = read(path, history)
    assert conversation.dialect == DIALECTS.get(path.parent.name, path.parent.name)
    assert len(conversation) > 1
    assert sources.write(conversation) == unpacked(path)
    bare = conversation.with_messages([replace(message, raw=None) for message in conversation.messages])
    again = sources.write(bare)
    assert again == unpacked(path) or values(again) == values(unpacked(path))


def test_its_compactions_point_at_their_summaries(path):
    conversation = read(path, "all")
    folds = path.name.split(".folds")[1].split(".")[0] if ".folds" in path.name else None
    assert folds is None or len(conversation.compactions) == int(folds)
    for fold in conversation.compactions:
        assert fold.at <= len(conversation)
        assert not fold.summary or conversation.messages[fold.at].text == fold.summary
    assert read(path, "live").compactions == conversation.compactions


def test_no_row_is_part_of_two_messages_and_no_call_is_made_twice(path):
    conversation = read(path, "all")
    if conversation.dialect not in ("claude-code", "pi"):
        pytest.skip("messages share rows here, or ids repeat in the file itself")
    rows = [row for message in conversation.messages for row in dict.fromkeys(message.rows)]
    calls = [call.id for message in conversation.messages for call in message.calls]
    assert len(rows) == len(set(rows))
    assert len(calls) == len(set(calls))


def test_it_can_be_folded_in_the_middle_and_read_again(path):
    conversation = read(path, "live")
    later = conversation.messages[len(conversation) // 2 :]
    first = next((n for n, m in enumerate(later) if m.role == "assistant" or m.origin is Origin.USER), len(later))
    made = Message("user", Origin.SUMMARY, (Text("What was done before."),))
    data = sources.write(conversation.with_messages([made, *later[first:]]))
    again = sources.read(data, conversation.dialect)
    assert [m.parts for m in again.messages] == [made.parts, *(m.parts for m in later[first:])]
