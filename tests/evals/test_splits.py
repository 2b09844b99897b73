"""Where sessions are cut."""

from __future__ import annotations

import json

import pytest
from tests.evals.sessions import coding, small, transcript, write

from foldline import sources
from foldline.errors import InputError
from foldline.evals import said
from foldline.evals.splits import (
    FUTURE_TURNS,
    LEAST_FUTURE,
    Place,
    Session,
    faults,
    files,
    load,
    prepared,
    size,
    splits,
)
from foldline.model import Media, Message, Origin, Text, Thinking, ToolResult


def session(number: int = 0, steps: int = 60) -> Session:
    return Session("one", coding(number, steps).conversation())


def folded(**how) -> Session:
    return Session("folded", sources.read(transcript(**how).encode(), history="all"))


def test_the_same_seed_cuts_at_the_same_places_and_another_elsewhere():
    cuts = {seed: [split.at for split in splits(session(), 5, seed, 1_000)] for seed in (0, 1)}
    assert cuts[0] == [split.at for split in splits(session(), 5, 0, 1_000)]
    assert cuts[0] != cuts[1]


def test_prefix_and_future_are_one_session_without_gap_or_overlap():
    whole = session()
    for split in splits(whole, 4, 0, 1_000):
        assert said.plain(split.prefix.messages) == said.plain(whole.whole.messages[: split.at])
        assert split.future == whole.whole.messages[split.at : split.at + len(split.future)]


def test_a_future_is_forty_turns_of_the_agent_or_what_there_is():
    for split in splits(session(steps=80), 6, 0, 1_000):
        turns = len(said.steps(split.future))
        assert LEAST_FUTURE <= turns <= FUTURE_TURNS
        assert split.future[0].role == "assistant"


def test_a_prefix_has_its_least_tokens():
    assert all(split.tokens >= 6_000 for split in splits(session(), 9, 0, 6_000))
    assert not list(splits(session(), 9, 0, 1_000_000))


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_a_prefix_is_a_request_its_provider_accepts(dialect):
    whole = Session("one", coding(2, 40, dialect).conversation())
    for split in splits(whole, 3, 0, 1_000):
        assert not faults(split.prefix)


def test_a_real_compaction_is_a_cut_with_what_it_left():
    first = next(splits(folded(), 0, 0, 1_000))
    assert first.real is not None
    assert said.plain(first.real) == "The user wants the ledger faster."
    assert said.agents(first.future)
    assert "The user wants the ledger faster." not in said.plain(first.future)


def test_a_cut_reaches_back_to_the_last_compaction_and_forward_to_the_next():
    whole = folded(steps=80, fold_at=40)
    fold = whole.whole.compactions[0].at
    for split in splits(whole, 30, 0, 1_000):
        if split.real is None and split.at < fold:
            assert split.at + len(split.future) <= fold
        elif split.real is None:
            assert said.plain(split.prefix.messages).startswith("The user wants the ledger faster.")


def test_a_prepared_prefix_has_neither_thinking_nor_pictures():
    picture = Media("image", "image/png", "aGk=")
    messages = (
        Message("user", Origin.USER, (Text("look"), picture)),
        Message("assistant", Origin.ASSISTANT, (Thinking("hm", "seal"), Text("I see"))),
        Message("user", Origin.TOOL, (ToolResult("c9", (picture,)),)),
    )
    found = prepared(small(*messages), messages)
    kinds = {type(part) for message in found.messages for part in message.parts}
    assert kinds == {Text}  # the answer nobody asked for is quoted when the prefix is mended
    assert not faults(found)


def test_sizes_leave_the_system_prompt_out():
    whole = coding(0, 5, "openai-chat").conversation()
    assert size(whole.messages) == size(whole.messages[1:])


def test_files_come_once_and_in_order_however_they_are_named(tmp_path):
    paths = write(tmp_path, range(3), steps=2)
    assert files([tmp_path, *reversed(paths)]) == files(paths) == paths


def test_what_is_no_conversation_is_named(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("<html>")
    with pytest.raises(InputError, match=r"bad\.json"):
        load(bad)


def test_a_file_of_many_sessions_is_taken_apart_once_however_many_are_asked_for(tmp_path, monkeypatch):
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"traj": [{"role": "user", "content": f"task {n}"}]} for n in range(9)]))
    opened, read = [], sources.read
    monkeypatch.setattr(sources, "read", lambda given, **rest: opened.append(given) or read(given, **rest))
    assert [load(Place(path, n)).whole.messages[0].text for n in range(9)] == [f"task {n}" for n in range(9)]
    assert load(Place(path, 1)).digest == Session("x", read(path, pick=1)).digest
    assert opened.count(path) == 1
