"""`make demo`: what a first user sees is there, right, and read from where it says."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from foldline import Budget, Compactor

EXAMPLES = Path(__file__).parents[1] / "examples"
OFFLINE = """
import runpy, socket
socket.socket.connect = socket.getaddrinfo = None
runpy.run_path({!r}, run_name="__main__")
"""


def load(name: str):
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def show(columns: int) -> str:
    """The demo as it is run, with neither keys nor a network."""
    env = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    line = [sys.executable, "-c", OFFLINE.format(str(EXAMPLES / "demo.py"))]
    ran = subprocess.run(line, env={**env, "COLUMNS": str(columns)}, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.fixture(scope="module")
def shown() -> str:
    return show(100)


@pytest.fixture(scope="module")
def request_():
    return json.loads((EXAMPLES / "coding-session.anthropic.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def folded(request_):
    demo = load("demo")
    return Compactor(Budget(window=demo.SMALL)).compact(request_, pivot=len(request_["messages"]) - demo.LAST_STEP)


def squeezed(text: str) -> str:
    """Without white space, which is where lines are broken."""
    return re.sub(r"\s+", "", text)


def told(shown: str, name: str) -> str:
    """What stands beside a name, its lines joined."""
    found = re.search(rf"^  {name}  +(.*(?:\n {{18}}\S.*)*)", shown, re.M)
    return re.sub(r"\n +", " ", found[1])


def prompts(request) -> list[str]:
    return [message["content"] for message in request["messages"] if isinstance(message["content"], str)]


def calls(request, name: str, messages: int | None = None) -> list[dict]:
    lists = (m["content"] for m in request["messages"][:messages] if isinstance(m["content"], list))
    return [block["input"] for blocks in lists for block in blocks if block.get("name") == name]


def test_the_bars_have_the_sizes_of_the_session_and_its_views(shown, request_, folded):
    rows = re.findall(r"^  (.+?) +(█+) +([\d,]+) tokens +(\d+) messages$", shown, re.M)
    pruned = Compactor(Budget.for_model(request_["model"])).fit(request_)
    assert [(name, tokens, int(messages)) for name, _, tokens, messages in rows] == [
        ("as it came", f"{folded.receipt.tokens_before:,}", len(request_["messages"])),
        ("in 200,000", f"{pruned.receipt.tokens_after:,}", len(request_["messages"])),
        ("in 64,000", f"{folded.receipt.tokens_after:,}", len(folded.messages)),
    ]
    assert [len(bar) for _, bar, _, _ in rows] == sorted((len(bar) for _, bar, _, _ in rows), reverse=True)
    assert folded.receipt.tokens_before > 64_000


def test_everything_told_of_the_checkpoint_stands_in_its_text(shown, folded):
    text = squeezed(folded.checkpoint.text)
    for name in ("goal", "house rules", "decided", "failing", "now"):
        for piece in re.split(r"…|\[\d+\]", told(shown, name)):
            assert squeezed(piece) in text, name


def test_the_goal_is_what_was_asked_first(shown, request_):
    assert prompts(request_)[0][:60] in told(shown, "goal")


def test_the_standing_rule_is_there_word_for_word(shown, folded, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from session.act02_money import RULE

    assert RULE in folded.checkpoint.text
    assert RULE in told(shown, "house rules")


def test_the_change_of_mind_is_told_in_its_order(shown, request_):
    decided = told(shown, "decided")
    assert 0 <= decided.index("Put a Redis cache") < decided.index("Scrap Redis") < decided.index("a table in SQLite")
    assert any("Scrap Redis" in prompt for prompt in prompts(request_))


def test_the_files_are_those_changed_last(shown, request_):
    last = [call["file_path"] for call in calls(request_, "Write", -2)][-2:]
    assert last
    assert told(shown, "files").split(", ")[-2:] == [path.removeprefix("/home/mara/code/waybill/") for path in last]


def test_the_failing_test_is_the_one_that_fails(shown, request_):
    results = [block["content"] for block in request_["messages"][-1]["content"] if block["type"] == "tool_result"]
    [failing] = re.findall(r"^FAILED (\S+?\[[^\]]+\])", "\n".join(results), re.M)
    assert squeezed(failing) in squeezed(told(shown, "failing"))
    assert "not seen to be cured" in told(shown, "failing")


def test_the_open_tasks_are_those_of_the_last_list(shown, request_):
    entries = [entry for entry in calls(request_, "TodoWrite")[-1]["todos"] if entry["status"] != "completed"]
    assert told(shown, "to do").startswith(f"{len(entries)} open: {entries[0]['content']}")


def test_the_immediate_task_is_what_was_asked_last(shown, request_):
    assert told(shown, "now").startswith(f"CONTINUE: “{prompts(request_)[-1][:60]}")


def test_the_receipt_is_shown_whole(shown, folded):
    for line in str(folded.receipt).splitlines():
        assert f"\n  {line}\n" in shown


def test_all_checks_are_passed(shown, request_):
    checks = re.findall(r"^  (.) (.*)$", shown[shown.index("Checked just now") :], re.M)[:4]
    assert [mark for mark, _ in checks] == ["✓"] * 4
    assert "the provider's rules accept both views" in checks[0][1]
    assert "fits" in checks[1][1]
    size = int(re.search(r"stub [0-9a-f]{16} comes back: ([\d,]+) characters", checks[2][1])[1].replace(",", ""))
    lists = (m["content"] for m in request_["messages"] if isinstance(m["content"], list))
    assert size in {len(b["content"]) for blocks in lists for b in blocks if b["type"] == "tool_result"}
    assert f"all {len(request_['messages']) - 2} folded messages come back" in checks[3][1]


def test_a_check_that_fails_ends_the_demo(capsys):
    with pytest.raises(SystemExit, match="the demo failed: it fits"):
        load("demo").check("it fits", False)
    assert capsys.readouterr().out == "  ✗ it fits\n"


def test_what_to_try_next_can_be_tried(shown):
    lines = re.findall(r"^  \.venv/bin/foldline (\w+) (\S+)", shown, re.M)
    assert [command for command, _ in lines] == ["inspect", "compact", "handoff"]
    assert all((EXAMPLES.parent / path).is_file() for _, path in lines)


@pytest.mark.parametrize("columns", [80, 120])
def test_it_fits_on_a_screen_and_a_half(columns):
    lines = show(columns).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= columns


@pytest.mark.speed
def test_it_takes_less_than_two_seconds():
    assert min(seconds(80) for _ in range(3)) < 2.0


def seconds(columns: int) -> float:
    """What the demo takes of a processor, whoever else is using it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    show(columns)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
