"""`foldline validate`: what the provider would refuse, and an exit code for scripts."""

from __future__ import annotations

import json

import pytest

from cli.conversations import anthropic, broken, chat, claude_code


@pytest.mark.parametrize("data", [anthropic(), chat(), claude_code()], ids=["anthropic", "chat", "claude-code"])
def test_a_valid_conversation_ends_with_0(foldline, data):
    ran = foldline("validate", "-", stdin=data)
    assert (ran.code, ran.out) == (0, b"")
    assert "no violations" in ran.err


def test_a_violation_is_told_with_its_place_and_rule(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(broken())
    ran = foldline("validate", tmp_path / "a.json")
    assert ran.code == 1
    assert ran.out.count(b"\n") == 1
    assert ran.out.startswith(b"messages[1].content[1]")
    assert b"[call-unanswered]" in ran.out
    assert "1 violation of the rules of anthropic" in ran.err


def test_violations_as_json(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(broken())
    ran = foldline("validate", tmp_path / "a.json", "--json")
    assert (ran.code, ran.err) == (1, "")
    told = json.loads(ran.out)
    assert (told["valid"], told["dialect"], told["api"], told["messages"]) == (False, "anthropic", "anthropic", 9)
    assert [(v["rule"], v["message"]) for v in told["violations"]] == [("call-unanswered", 1)]


def test_a_transcript_is_checked_as_a_request_of_its_api(foldline, tmp_path):
    rows = claude_code().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(b"".join(rows[:2] + rows[3:]))
    told = json.loads(foldline("validate", tmp_path / "a.jsonl", "--json").out)
    assert (told["dialect"], told["api"], told["valid"]) == ("claude-code", "anthropic", False)
    assert told["violations"][0]["rule"] == "call-unanswered"


def test_data_in_a_violation_is_made_harmless(foldline, tmp_path):
    request = json.loads(broken())
    request["messages"][1]["content"][1]["id"] = "\x1b[2J"
    (tmp_path / "a.json").write_text(json.dumps(request))
    ran = foldline("validate", tmp_path / "a.json")
    assert ran.code == 1
    assert b"\x1b" not in ran.out
