"""Real sessions: all of them are read, written back byte for byte, rebuilt from their parts, and folded."""

from __future__ import annotations

import gzip
import json
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
    """A document, or its records where it is one of lines; what cannot be decoded stays as it is."""
    try:
        return [mending.decode(data)]
    except MalformedInput:
        return [record for line in data.splitlines() for record in _records(line)]


def _records(line: bytes) -> list:
    """A line has several where a break between them was lost."""
    try:
        return [mending.decode(line)]
    except MalformedInput:
        return _glued(line) or [line]


def _glued(line: bytes) -> list:
    text, found, at = line.decode("utf-8", "replace"), [], 0
    while at < len(text):
        try:
            record, at = json.JSONDecoder().raw_decode(text, at)
        except ValueError:
            return []
        found.append(record)
    return found


@pytest.mark.parametrize("history", ["live", "all"])
def test_it_is_written_as_it_was(path, history):
    conversation = read(path, history)
    assert conversation.dialect == DIALECTS.get(path.parent.name, path.parent.name)
    assert len(conversation) > 1
    assert sources.write(conversation) == unpacked(path)


@pytest.mark.parametrize("history", ["live", "all"])
def test_it_is_rebuilt_from_its_parts_up_to_layout(path, history):
    conversation = read(path, history)
    bare = conversation.with_messages([replace(message, raw=None) for message in conversation.messages])
    assert values(sources.write(bare)) == values(unpacked(path))


@pytest.mark.parametrize("folded", [file for file in FILES if ".folds" in file.name], ids=lambda path: path.name)
def test_it_has_as_many_compactions_as_its_name_says(folded):
    assert len(read(folded, "all").compactions) == int(folded.name.split(".folds")[1].split(".")[0])


def test_its_compactions_point_at_their_summaries(path):
    conversation = read(path, "all")
    told = [fold for fold in conversation.compactions if fold.summary]
    assert [conversation.messages[fold.at].text for fold in told] == [fold.summary for fold in told]
    assert all(fold.at <= len(conversation) for fold in conversation.compactions)
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
