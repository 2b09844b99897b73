"""`foldline select`: whole messages, chosen by a strategy that can be saved and overridden."""

from __future__ import annotations

import json

import pytest

from cli.conversations import anthropic, chat
from foldline.core.select import Strategy
from foldline.validators import check


@pytest.fixture
def file(tmp_path):
    (tmp_path / "session.json").write_bytes(anthropic(steps=8, body="fine"))
    return tmp_path / "session.json"


def kept(ran) -> int:
    assert ran.code == 0
    return len(json.loads(ran.out)["messages"])


def test_only_what_matters_is_kept_and_is_still_valid(foldline, file):
    ran = foldline("select", file, "--no-tool-results", "--keep-recent", 2)
    assert check(json.loads(ran.out), "anthropic") == []
    assert kept(ran) < 6
    assert " of 19 messages kept: " in ran.err


def test_by_default_tool_results_are_kept(foldline, file):
    assert kept(foldline("select", file)) == 19


def test_keywords_replace_the_usual_ones(foldline, file):
    small = ("--no-tool-results", "--keep-recent", "1")
    with_bug = json.loads(foldline("select", file, *small).out)["messages"]
    assert with_bug[0]["content"] == "Please find the bug in the parser."
    told = json.loads(foldline("select", file, *small, "--keyword", "mend", "--keyword", "part", "--json").err)
    assert {reason for reason in told["kept"].values() if reason.startswith("keyword")} == {"keyword part"}


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_a_saved_strategy_is_used_and_options_win_over_it(foldline, file, tmp_path, ending):
    strategy = Strategy(keep_recent=1, keep_keywords=(), keep_tool_results=False)
    saved = tmp_path / f"strategy.{ending}"
    saved.write_text(strategy.to_json() if ending == "json" else strategy.to_toml())
    assert kept(foldline("select", file, "--strategy", saved)) == 1
    assert kept(foldline("select", file, "--strategy", saved, "--keep-recent", 4)) == 5


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", "{", "JSON"),
        ("a.toml", "=", "TOML"),
        ("a.json", '{"keep": 1}', "no setting 'keep'; it has keep_recent, keep_keywords, "),
        ("a.json", "\ud800", "not UTF-8"),
        ("none.json", None, "No such file"),
    ],
)
def test_a_strategy_that_cannot_be_read_is_named(foldline, file, tmp_path, name, text, why):
    if text is not None:
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    ran = foldline("select", file, "--strategy", tmp_path / name)
    assert ran.code == 3
    assert name in ran.err
    assert why in ran.err


def test_the_reasons_are_told_to_programs(foldline, tmp_path):
    (tmp_path / "a.json").write_bytes(chat())
    ran = foldline("select", tmp_path / "a.json", "--json", "--keep-recent", 0, "-o", tmp_path / "out.json")
    told = json.loads(ran.out)
    assert told["kept"]["0"] == "system"
    assert told["kept"]["8"] == "newest user message"
    assert [notice["code"] for notice in told["notices"]] == ["keep-newest-user"]
    assert (told["messages_before"], told["messages_after"]) == (9, len(told["kept"]))
