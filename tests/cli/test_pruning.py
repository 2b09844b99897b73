"""`foldline prune`: the document out, the figures beside it, the input untouched."""

from __future__ import annotations

import json
import stat

import pytest

from cli.conversations import LONG, anthropic, chat, claude_code
from foldline.validators import check


@pytest.fixture
def file(tmp_path):
    (tmp_path / "session.json").write_bytes(anthropic())
    return tmp_path / "session.json"


def test_the_document_goes_to_standard_output_and_the_figures_beside_it(foldline, file):
    before = file.read_bytes()
    ran = foldline("prune", file)
    assert ran.code == 0
    request = json.loads(ran.out)
    assert len(ran.out) < len(before) / 2
    assert check(request, "anthropic") == []
    assert len(request["messages"]) == 15
    assert "5 results shortened: " in ran.err
    assert file.read_bytes() == before


def test_what_is_not_bulky_is_left_byte_for_byte(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(chat())
    ran = foldline("prune", tmp_path / "a.json")
    assert ran.out == chat()
    assert "0 results shortened: " in ran.err


def test_a_transcript_stays_one(foldline, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(claude_code())
    ran = foldline("prune", tmp_path / "a.jsonl")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [row["uuid"] for row in rows] == [f"row-{number}" for number in range(12)]
    assert len(ran.out) < len(claude_code()) / 2


def test_standard_input_to_standard_output(foldline):
    ran = foldline("prune", "-", stdin=anthropic())
    assert json.loads(ran.out)["model"] == "claude-sonnet-4-5"


def test_an_output_file_is_written_and_the_figures_go_to_people(foldline, file, tmp_path):
    ran = foldline("prune", file, "-o", tmp_path / "small.json")
    assert (ran.code, ran.out) == (0, b"")
    assert f"written to {tmp_path / 'small.json'}" in ran.err
    assert len((tmp_path / "small.json").read_bytes()) < len(file.read_bytes()) / 2


def test_the_figures_as_json(foldline, file, tmp_path):
    ran = foldline("prune", file, "-o", tmp_path / "small.json", "--json")
    told = json.loads(ran.out)
    assert ran.err == ""
    assert told["results_shortened"] == 5
    assert told["tokens_freed"] == told["tokens_before"] - told["tokens_after"] > 0
    assert (told["messages_before"], told["messages_after"]) == (15, 15)
    assert told["output"] == str(tmp_path / "small.json")


def test_the_figures_as_json_go_beside_a_document_on_standard_output(foldline, file):
    ran = foldline("prune", file, "--json")
    assert json.loads(ran.err)["results_shortened"] == 5
    assert "messages" in json.loads(ran.out)


def test_in_place_replaces_the_file_and_keeps_its_mode(foldline, file):
    file.chmod(0o600)
    whole = file.read_bytes()
    assert foldline("prune", file, "--in-place").code == 0
    assert len(file.read_bytes()) < len(whole) / 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [f.name for f in file.parent.iterdir()] == ["session.json"]


def test_an_existing_output_is_refused_before_any_work(foldline, file, tmp_path):
    (tmp_path / "mine.json").write_text("precious")
    ran = foldline("prune", file, "-o", tmp_path / "mine.json")
    assert ran.code == 2
    assert "--force" in ran.err
    assert (tmp_path / "mine.json").read_text() == "precious"
    assert foldline("prune", file, "-o", tmp_path / "mine.json", "--force").code == 0


def test_the_input_is_refused_as_output(foldline, file):
    assert foldline("prune", file, "-o", file, "--force").code == 2


def test_an_output_that_cannot_be_written_ends_with_4(foldline, file, tmp_path):
    ran = foldline("prune", file, "-o", tmp_path / "none" / "x.json")
    assert ran.code == 4
    assert "cannot be written" in ran.err


def test_the_settings_are_obeyed(foldline, file):
    assert "0 results" in foldline("prune", file, "--limit", len(LONG) + 100).err
    assert "0 results" in foldline("prune", file, "--worthwhile", 10_000_000).err
    assert "6 results" in foldline("prune", file, "--protect", 0).err
    shortest = foldline("prune", file, "--head", 10, "--tail", 10).out
    assert len(shortest) < len(foldline("prune", file).out)
