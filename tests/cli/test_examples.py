"""The example sessions through every command: whatever comes out is again a document that the provider accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLES = sorted(
    path for path in (Path(__file__).parents[2] / "examples").glob("*-session.*") if path.suffix in (".json", ".jsonl")
)


@pytest.fixture(params=EXAMPLES, ids=[path.name for path in EXAMPLES])
def example(request):
    return request.param


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


def test_an_example_can_be_inspected(foldline, example):
    found = json.loads(foldline("inspect", example, "--json").out)
    assert found["tokens"] > 1_000
    assert found["repairs"] == {}


@pytest.mark.parametrize("history", ["live", "all"])
@pytest.mark.parametrize(
    "line", [("prune",), ("prune", "--protect", 0, "--limit", 100), ("select", "--no-tool-results")]
)
def test_what_was_made_smaller_is_valid_and_smaller(foldline, example, tmp_path, line, history):
    out = tmp_path / f"small{example.suffix}"
    told = json.loads(foldline(*line, example, "--history", history, "-o", out, "--json").out)
    assert told["tokens_freed"] >= 0
    again = json.loads(foldline("inspect", out, "--history", history, "--json").out)
    assert again["messages"] == told["messages_after"]
    assert foldline("validate", out).code == 0


def test_what_nothing_was_done_to_comes_back_byte_for_byte(foldline, example):
    assert foldline("prune", example, "--worthwhile", 1 << 30).out == example.read_bytes()
    assert foldline("select", example, "--keep-recent", 1 << 20).out == example.read_bytes()
