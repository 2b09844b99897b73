"""`foldline inspect`, for people and for programs."""

from __future__ import annotations

import json
import os
import re

import pytest

from cli.conversations import anthropic, broken, chat, claude_code

EVIL = "\x1b]0;owned\x07\x1b[2Jrm"


@pytest.fixture
def file(tmp_path):
    (tmp_path / "session.json").write_bytes(anthropic())
    return tmp_path / "session.json"


def test_the_json_has_the_documented_shape(foldline, file):
    ran = foldline("inspect", file, "--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert list(found)[:7] == ["file", "history", "pick", "dialect", "model", "window", "full"]
    assert (found["dialect"], found["model"], found["window"]) == ("anthropic", "claude-sonnet-4-5", 200_000)
    assert found["messages"] == 15
    assert found["low"] <= found["tokens"] <= found["high"]
    assert [tier["name"] for tier in found["tiers"]][:2] == ["prune", "select"]
    assert set(found["by_tool"][0]) == {"name", "count", "tokens"}


def test_people_see_a_table_of_everything(foldline, file):
    ran = foldline("inspect", file)
    assert (ran.code, ran.err) == (0, "")
    text = ran.out.decode()
    for heading in ("Who and what", "Tools", "Age", "Results by tokens", "What would free tokens"):
        assert f"\n{heading} " in text
    for fact in ("session.json · anthropic · claude-sonnet-4-5", "15 messages · 6 tool cycles", "of 200,000: "):
        assert fact in text
    assert "repairs needed: none" in text


@pytest.mark.parametrize("columns", [20, 30, 40, 59, 60, 80, 120, 300])
def test_no_line_is_wider_than_the_terminal(foldline, file, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = foldline("inspect", file).out.decode().splitlines()
    assert max(map(len, lines)) <= columns
    assert any(line.startswith("tool resu") and "19,463" in line for line in lines)


def test_a_terminal_that_knows_no_blocks_gets_hash_signs(program, file):
    ran = program("inspect", file, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert ran.returncode == 0
    assert b"####" in ran.stdout
    assert ran.stdout.isascii()


def test_commands_for_a_terminal_in_a_tools_name_are_shown_not_sent(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(anthropic(tool=EVIL))
    ran = foldline("inspect", tmp_path / "a.json")
    assert ran.code == 0
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", ran.out)
    assert b"\\x1b]0;owned" in ran.out


def test_commands_for_a_terminal_in_a_files_name_are_shown_not_sent(foldline, tmp_path):
    ran = foldline("inspect", tmp_path / EVIL.replace("/", ""))
    assert ran.code == 3
    assert "\x1b" not in ran.err


def test_the_json_is_plain_ascii(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(anthropic(tool=EVIL + "ü\ud800".encode("utf-8", "replace").decode()))
    ran = foldline("inspect", tmp_path / "a.json", "--json")
    assert ran.out.isascii()
    assert b"\x1b" not in ran.out


def test_without_a_model_the_window_is_asked_for(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(chat())
    text = foldline("inspect", tmp_path / "a.json").out.decode()
    assert "give --model or --window" in " ".join(text.split())


def test_a_window_and_a_model_can_be_told(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(chat())
    told = json.loads(foldline("inspect", tmp_path / "a.json", "--json", "--window", 1000, "--model", "gpt-4o").out)
    assert (told["model"], told["window"]) == ("gpt-4o", 1000)
    assert told["full"] == round(told["tokens"] / 1000, 4)


def test_a_model_nobody_knows_is_said(foldline, file):
    told = json.loads(foldline("inspect", file, "--json", "--model", "nobody-9").out)
    assert told["notices"][-1]["code"] == "model-unknown"


def test_needed_repairs_are_shown(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(broken())
    assert b"repairs needed: 1 \xc3\x97 missing-result" in foldline("inspect", tmp_path / "a.json").out


def test_many_tools_are_gathered_for_people_and_listed_for_programs(foldline, tmp_path):
    request = json.loads(anthropic(steps=14))
    calls = [block for message in request["messages"] for block in message["content"] if isinstance(block, dict)]
    for number, call in enumerate(block for block in calls if block["type"] == "tool_use"):
        call["name"] = f"tool_{number}"
    (tmp_path / "a.json").write_text(json.dumps(request))
    assert b"4 others" in foldline("inspect", tmp_path / "a.json").out
    assert len(json.loads(foldline("inspect", tmp_path / "a.json", "--json").out)["by_tool"]) == 14


def test_damage_in_a_transcript_is_told_but_not_for_pages(foldline, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(claude_code() + b'{"torn": \n' * 12)
    ran = foldline("inspect", tmp_path / "a.jsonl")
    assert ran.code == 0
    assert ran.out.count(b"note: line ") == 5
    assert b"note: and 7 more" in ran.out
    assert len(json.loads(foldline("inspect", tmp_path / "a.jsonl", "--json").out)["notices"]) == 12
