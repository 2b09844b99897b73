"""`foldline eval`, as people call it."""

from __future__ import annotations

import json

import pytest
from tests.evals.sessions import write

from foldline.cli.main import run

FAST = ("--quick", "--cuts", "1", "--shortest", "1000", "--jobs", "1", "--budget", "10%", "--strategy", "foldline",
        "--strategy", "sliding window")  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, range(2), steps=30)
    return tmp_path


def test_a_table_goes_to_the_terminal(folder, tmp_path, capsys):
    assert run(["eval", str(folder), *FAST, "--no-cache"]) == 0
    out = capsys.readouterr().out
    assert "foldline" in out
    assert "sliding window" in out


def test_json_goes_to_programs_and_the_page_to_its_file(folder, tmp_path_factory, capsys):
    page = tmp_path_factory.mktemp("out") / "report.html"
    cache = tmp_path_factory.mktemp("cache")
    assert run(["eval", str(folder), *FAST, "--json", "--cache", str(cache), "--report", str(page)]) == 0
    assert json.loads(capsys.readouterr().out)["sessions"] == 2
    assert page.read_text().startswith("<!doctype html>")
    assert list(cache.rglob("*.json"))


def test_an_existing_report_is_not_replaced_unasked(folder, tmp_path_factory, capsys):
    page = tmp_path_factory.mktemp("out") / "report.html"
    page.write_text("mine")
    assert run(["eval", str(folder), *FAST, "--no-cache", "--report", str(page)]) == 2
    assert page.read_text() == "mine"


def test_what_is_too_short_ends_with_the_reason(folder, capsys):
    assert run(["eval", str(folder), "--quick", "--no-cache", "--jobs", "1"]) == 3
    assert "--shortest" in capsys.readouterr().err


def test_an_unknown_strategy_ends_with_the_known_ones(folder, capsys):
    assert run(["eval", str(folder), "--strategy", "nope"]) == 3
    assert "sliding window" in capsys.readouterr().err
