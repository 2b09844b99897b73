"""`foldline eval`, as people call it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.evals.plugs import plug
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


def test_sessions_that_give_the_generic_text_are_named(tmp_path, capsys):
    write(tmp_path, range(6), steps=30)
    assert run(["eval", str(tmp_path), *FAST, "--no-cache", "--json"]) == 0
    held_out = json.loads(capsys.readouterr().out)["held_out"]
    assert run(["eval", str(tmp_path), *FAST, "--no-cache"]) == 0
    said = f"note: 1 session was not measured, but read for the generic text of XF ({held_out[0]})"
    assert said in capsys.readouterr().err.splitlines()


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
    assert run(["eval", str(folder), "--strategy", "nope"]) == 2
    assert ", 'sliding window'," in capsys.readouterr().err, "some names have commas in them"


def test_a_budget_that_is_none_is_wrong_usage(folder, capsys):
    assert run(["eval", str(folder), "--budget", "abc"]) == 2
    assert "'abc' is no budget; give a share" in capsys.readouterr().err


@pytest.mark.parametrize("budget", ["9" * 400, "\u0663\u0663%", "0", "0%", "0.0k"])
def test_a_budget_of_nothing_or_beyond_all_measure_is_wrong_usage_too(folder, budget, capsys):
    assert run(["eval", str(folder), "--budget", budget]) == 2
    assert "is no budget" in capsys.readouterr().err


def test_a_report_never_replaces_a_session(folder, capsys):
    session = folder / "session-0.json"
    before = session.read_bytes()
    for named in (folder, session):
        assert run(["eval", str(named), *FAST, "--no-cache", "--report", str(session), "--force"]) == 2
        assert "one of the sessions" in capsys.readouterr().err
    assert session.read_bytes() == before


def test_a_report_beside_the_sessions_may_be_replaced(folder):
    page = folder / "report.html"
    page.write_text("<!doctype html>old")
    assert run(["eval", str(folder), *FAST, "--no-cache", "--report", str(page), "--force"]) == 0
    assert "old" not in page.read_text()[:30]


def test_a_report_does_not_come_between_the_tables(folder, capsys):
    assert run(["eval", str(folder), *FAST, "--no-cache", "--json", "--report", "-"]) == 2
    assert "name a file for the report" in capsys.readouterr().err


def test_a_report_without_a_folder_is_refused_before_any_work(folder, capsys, monkeypatch):
    monkeypatch.setattr("foldline.evals.run.files", lambda _: pytest.fail("began to work"))
    assert run(["eval", str(folder), *FAST, "--no-cache", "--report", str(folder / "no" / "report.html")]) == 4
    assert "cannot be written: No such file" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not take such names")
def test_a_name_that_is_not_utf8_stands_in_the_report(folder, tmp_path_factory):
    page = tmp_path_factory.mktemp("out") / "report.html"
    os.rename(folder / "session-0.json", os.fsencode(folder) + b"/caf\xe9.json")
    assert run(["eval", str(folder), *FAST, "--no-cache", "--report", str(page)]) == 0
    assert "caf\ufffd.json" in page.read_text("utf-8")


def test_a_strategy_that_was_asked_for_and_failed_is_told_at_the_end(folder, capsys, monkeypatch):
    plug(monkeypatch, "raises")
    assert run(["eval", str(folder), *FAST, "--no-cache", "--strategy", "raises"]) == 4
    told = capsys.readouterr()
    assert "sliding window" in told.out
    assert told.err.count("note: the strategy 'raises' failed in 2 rows: ValueError: out of tea") == 1


def test_what_a_plug_in_prints_does_not_come_between(folder, capfd, monkeypatch):
    plug(monkeypatch, "prints")
    assert run(["eval", str(folder), *FAST, "--no-cache", "--strategy", "prints", "--json"]) == 0
    told = capfd.readouterr()
    assert json.loads(told.out)["failed"] == []
    assert "printed by python" in told.err
    assert "printed by a program" in told.err


def test_budgets_none_of_which_apply_end_with_a_reason(folder, capsys):
    assert run(["eval", str(folder), *FAST[:7], "--budget", "200%", "--strategy", "foldline", "--no-cache"]) == 3
    assert "less than the whole history" in capsys.readouterr().err
    assert run(["eval", str(folder), *FAST[:7], "--budget", "200%", "--strategy", "foldline prune", "--no-cache"]) == 4
    assert "note: the budget 200% applies at no cut" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are found in /proc")
def test_processes_end_with_their_parent(tmp_path):
    write(tmp_path, range(4), steps=60)
    asked = ["eval", str(tmp_path), "--shortest", "1000", "--cuts", "20", "--jobs", "2", "--no-cache"]
    parent = subprocess.Popen([sys.executable, "-m", "foldline.cli.main", *asked], stdout=subprocess.DEVNULL)
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    assert _soon(lambda: len(children.read_text().split()) >= 2)
    workers = children.read_text().split()
    time.sleep(0.5)
    parent.send_signal(signal.SIGTERM)
    assert parent.wait(10) == -signal.SIGTERM
    ended = _soon(lambda: not any(map(_runs, workers)))
    for pid in filter(_runs, workers):
        os.kill(int(pid), signal.SIGKILL)
    assert ended


def _runs(pid: str) -> bool:
    """It is there, and not only because nobody has asked for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _soon(true, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.05)
    return found
