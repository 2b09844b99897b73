"""`foldline compact`: the checkpoint shown, the view written where it was told to, and never a half of it."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.conversations import LONG, anthropic, chat, claude_code
from cli.provider import HANGS, NAME, REFUSES, asks, model  # noqa: F401  # model is a fixture
from foldline import read, validate
from foldline.cli.asking import lost
from foldline.cli.compacting import proved
from foldline.cli.exits import CannotWrite
from foldline.cli.main import COMMANDS
from foldline.cli.options import Given
from foldline.model import Message, Origin, Text
from foldline.testing import Session

EXAMPLES = Path(__file__).parents[2] / "examples"
OPENING = "# Notes on the conversation so far"


@pytest.fixture
def file(tmp_path):
    (tmp_path / "session.json").write_bytes(anthropic(steps=20))
    return tmp_path / "session.json"


@pytest.fixture(params=sorted(EXAMPLES.glob("*-session.*.json*")), ids=lambda path: path.name)
def example(request):
    return request.param


def rules(foldline, path) -> set[str]:
    """The rules it breaks."""
    return {found["rule"] for found in json.loads(foldline("validate", path, "--json").out)["violations"]}


def smaller(foldline, example) -> int:
    """Three fifths of its tokens."""
    return json.loads(foldline("inspect", example, "--json").out)["tokens"] * 3 // 5


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_it_shows_checkpoint_receipt_and_bars_and_writes_nothing(foldline, file):
    before = file.read_bytes()
    ran = foldline("compact", file, "--to", 20_000)
    text = ran.out.decode()
    assert ran.code == 0
    assert [line.split()[0] for line in ran.err.splitlines()] == ["kept", "`foldline"]
    assert text.startswith(OPENING)
    assert re.search(r"\nReceipt\ncompact: asked for\ntokens +[\d,]+ → [\d,]+\n", text)
    bars = dict(re.findall(r"^(before|after) +(█+)", text, re.M))
    assert len(bars["before"]) > 2 * len(bars["after"]) > 0
    assert [path.name for path in file.parent.iterdir()] == ["session.json"]
    assert file.read_bytes() == before


@pytest.mark.parametrize(("columns", "bars"), [(30, 0), (80, 2)])
def test_where_there_is_no_room_for_bars_there_are_none(foldline, file, monkeypatch, columns, bars):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = foldline("compact", file, "--to", 20_000).out.decode()
    shown = text[text.index("\nbefore") :]
    assert len(re.findall("█+", shown)) == bars
    assert shown.count("messages") == 2


def test_the_json_has_the_documented_fields(foldline, file):
    told = json.loads(foldline("compact", file, "--to", 20_000, "--json").out)
    page = (EXAMPLES.parent / "docs" / "cli.md").read_text("utf-8")
    section = page[page.index("## compact") : page.index("## handoff")]
    for name in (*told, *told["receipt"], *told["checkpoint"]):
        assert f"`{name}`" in section, name
    assert told["output"] is None
    assert told["tokens_after"] == told["receipt"]["tokens_after"] <= 20_000 < told["tokens_before"]
    assert told["tokens_freed"] == told["tokens_before"] - told["tokens_after"]
    checkpoint = told["checkpoint"]
    assert checkpoint["ref"] == told["receipt"]["checkpoint"]
    assert checkpoint["text"].startswith(OPENING)
    assert checkpoint["first"] == 1
    assert checkpoint["last"] == told["receipt"]["folded"] == 43 - told["receipt"]["kept"]
    assert checkpoint["author"] == "extraction, without a model"


def test_nothing_in_the_data_makes_the_terminal_obey(foldline, tmp_path):
    (tmp_path / "evil.json").write_bytes(anthropic(20, body="\x1b]0;owned\x07 error: \x9b31m" + LONG, tool="rm\x1b[2J"))
    ran = foldline("compact", tmp_path / "evil.json", "--to", 20_000)
    assert ran.code == 0
    assert not set(ran.out.decode()) & {"\x1b", "\x07", "\x9b"}


def test_without_to_the_window_is_half_full_afterwards(foldline, file):
    told = json.loads(foldline("compact", file, "--window", 40_000, "--json").out)
    assert told["window"] == 40_000
    assert told["tokens_before"] > 20_000
    assert 5_000 < told["tokens_after"] <= 17_500


@pytest.mark.parametrize("line", [(), ("--to", 10_000_000)])
def test_what_is_small_enough_is_left_alone(foldline, tmp_path, line):
    (tmp_path / "small.json").write_bytes(anthropic(steps=2))
    ran = foldline("compact", tmp_path / "small.json", *line, "-o", tmp_path / "out.json")
    assert "Nothing was folded" in ran.out.decode()
    assert (tmp_path / "out.json").read_bytes() == anthropic(steps=2)
    told = json.loads(foldline("compact", tmp_path / "small.json", *line, "--json").out)
    assert told["checkpoint"] is None
    assert told["tokens_freed"] == 0


def test_a_file_that_names_no_model_has_a_small_window_and_says_so(foldline, tmp_path):
    (tmp_path / "chat.json").write_bytes(chat(steps=30, body=LONG))
    ran = foldline("compact", tmp_path / "chat.json")
    assert ran.code == 0
    assert "note: FILE names no model" in ran.err
    assert "--window" in ran.err
    for line in (("--to", 40_000), ("--window", 64_000)):
        assert foldline("compact", tmp_path / "chat.json", "--no-archive", *line).err == ""


def test_what_cannot_fit_is_an_error_that_says_how_much_there_is(foldline, file):
    ran = foldline("compact", file, "--to", 100)
    assert (ran.code, ran.out) == (4, b"")
    assert re.fullmatch(r"foldline: the smallest view there is has [\d,]+ tokens, and 100 are allowed; .*\n", ran.err)


# -- which part ------------------------------------------------------------------------------------------------------


def test_what_to_give_to_fold_more_depends_on_what_was_given(foldline, tmp_path):
    (tmp_path / "small.json").write_bytes(anthropic(steps=2))
    advice = {
        (): "--to with fewer tokens.",
        ("--up-to", 1): "--up-to with a larger number.",
        ("--from", 7): "--from with a smaller number.",
    }
    for line, said in advice.items():
        ran = foldline("compact", tmp_path / "small.json", *line)
        assert f"Nothing was folded; to fold more, give {said}" in ran.out.decode(), line


def test_without_a_key_the_option_that_needs_it_is_named(foldline, file, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    for option in ("--model", "--fallback"):
        ran = foldline("compact", file, option, "anthropic:claude-haiku-4-5")
        assert ran.code == 4
        assert f"set ANTHROPIC_API_KEY, or leave out {option} to do without one" in ran.err


def test_up_to_folds_that_message_and_all_before_it(foldline, file):
    told = json.loads(foldline("compact", file, "--up-to", 21, "--json").out)
    assert (told["checkpoint"]["first"], told["checkpoint"]["last"]) == (1, 21)
    assert told["receipt"]["kept"] == 43 - 21


def test_a_number_inside_a_tool_cycle_means_the_cycle_before(foldline, file):
    told = json.loads(foldline("compact", file, "--up-to", 22, "--json").out)
    assert told["checkpoint"]["last"] == 21


def test_from_folds_that_message_and_all_after_it(foldline, tmp_path):
    request = json.loads(anthropic(steps=20))
    request["messages"] = request["messages"][:-2]  # the user spoke last in the first message
    (tmp_path / "a.json").write_text(json.dumps(request))
    out = tmp_path / "out.json"
    told = json.loads(foldline("compact", tmp_path / "a.json", "--from", 12, "-o", out, "--json").out)
    assert (told["checkpoint"]["first"], told["checkpoint"]["last"]) == (12, 41)
    kept = json.loads(out.read_bytes())["messages"]
    assert kept[:11] == request["messages"][:11]
    assert len(kept) == 12
    assert validate(json.loads(out.read_bytes())) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (("--from", 3, "--up-to", 4), "exclude each other"),
        (("--up-to", 44), "--up-to is 44, and there are 43 messages"),
        (("--from", 44), "--from is 44, and there are 43 messages"),
        (("--from", 0), "--from"),
        (("--to", 0), "--to"),
        (("--style", "poem"), "--style"),
        (("--kind", "odd"), "--kind"),
        (("--model", "nobody"), "names no model"),
        (("--model", "nobody:x"), "names no model"),
        (("--model", NAME), f"--model {NAME} needs the address of its server; give it with --base-url"),
        (("--fallback", NAME), f"--fallback {NAME} needs the address of its server; only --model can have one"),
        (("--model", NAME, "--base-url", "ftp://x"), "base URL"),
        (("--base-url", "http://127.0.0.1:9"), "give --model too"),
        (("-o", "x", "--in-place"), "exclude each other"),
        (("--archive", "x", "--no-archive"), "exclude each other"),
    ],
)
def test_wrong_usage(foldline, file, line, complaint):
    ran = foldline("compact", file, *line)
    assert (ran.code, ran.out) == (2, b"")
    assert complaint in ran.err


def test_the_help_says_that_nothing_is_written_unless_it_is_said_where(foldline):
    told = " ".join(foldline("compact", "--help").out.decode().split())
    assert "Write to this file; else to nowhere." in told


def test_a_window_that_is_smaller_than_what_is_asked_for_is_the_limit(foldline, file):
    line = ("compact", file, "--window", 20_000, "--to", 500_000, "--kind", "mid-loop", "--json")
    told = json.loads(foldline(*line).out)
    assert told["tokens_before"] > told["receipt"]["room"] >= told["tokens_after"]
    assert told["checkpoint"]["kind"] == "mid-loop"


def test_kind_and_manner_shape_the_continuation(foldline, file):
    shown = {
        line: foldline("compact", file, "--to", 20_000, *line).out.decode()
        for line in [(), ("--voiced",), ("--kind", "emergency"), ("--approval",), ("--no-questions",)]
    }
    ends = {text[text.index("## How to go on") : text.index("\nReceipt")] for text in shown.values()}
    assert len(ends) == 5
    assert "approv" in shown["--approval",][shown["--approval",].index("## How to go on") :]


# -- what is written -------------------------------------------------------------------------------------------------


def test_the_view_is_a_document_of_its_dialect_that_opens_with_the_checkpoint(foldline, example, tmp_path):
    out = tmp_path / example.name
    ran = foldline("compact", example, "--to", smaller(foldline, example), "-o", out, "--json")
    told = json.loads(ran.out)
    assert told["output"] == str(out)
    view = read(out)
    assert view.dialect == read(example).dialect
    assert len(view) == told["messages_after"]
    first = next(message for message in view.messages if message.role != "system")
    assert first.text == told["checkpoint"]["text"]
    assert foldline("validate", out).code == 0
    again = json.loads(foldline("inspect", out, "--json").out)
    assert abs(again["tokens"] - told["tokens_after"]) <= 0.01 * told["tokens_after"] + 8


def test_a_transcript_that_was_folded_can_be_folded_again(foldline, tmp_path):
    sizes = []
    path = EXAMPLES / "coding-session.claude-code.jsonl"
    for to in (60_000, 20_000, 9_000):
        out = tmp_path / f"{to}.jsonl"
        told = json.loads(foldline("compact", path, "--to", to, "-o", out, "--json").out)
        sizes.append(told["tokens_after"])
        assert read(out).messages[0].origin is Origin.SUMMARY
        assert foldline("validate", out).code == 0
        path = out
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 9_000


def test_a_summary_is_lost_only_when_no_line_of_it_is_left():
    old = Message("user", Origin.SUMMARY, (Text("What was found out:\n- the parser drops the last row of a feed"),))
    said = Message("user", Origin.USER, (Text("a user's words that are nowhere in the new text"),))
    assert lost([old, said], "- the parser drops the last row of a feed, and more") == ()
    [notice] = lost([said, old], "What was found out:")
    assert "61 characters" in str(notice)
    assert "--model" in str(notice)


steps = st.lists(st.tuples(st.text(max_size=30), st.integers(0, 4_000)), min_size=3, max_size=8)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["anthropic", "openai-chat", "openai-responses", "gemini"]), steps, st.text(max_size=50))
def test_whatever_is_folded_is_valid_and_reads_again(foldline, tmp_path, dialect, steps, words):
    session = Session(dialect, system="Be careful.")
    for said, length in steps:
        session.user(said.strip() or "go on")
        session.tools(("read", json.dumps({"path": said}), words + "x y " * length), text="Looking.")
    session.user("And now?")
    (tmp_path / "a.json").write_text(json.dumps(session.request()))
    out = tmp_path / "out.json"
    tokens = json.loads(foldline("inspect", tmp_path / "a.json", "--json").out)["tokens"]
    told = ("compact", tmp_path / "a.json", "--dialect", dialect, "--to", tokens * 4 // 5, "-o", out, "--force")
    ran = foldline(*told)
    assert ran.code in (0, 4), ran.err
    if ran.code == 0:
        assert rules(foldline, out) <= rules(foldline, tmp_path / "a.json")
    else:
        assert "the smallest view there is" in ran.err


def test_the_document_may_go_to_standard_output(foldline, file):
    ran = foldline("compact", file, "--to", 20_000, "-o", "-")
    assert json.loads(ran.out)["messages"][0]["content"][0]["text"].startswith(OPENING)
    assert "Receipt" in ran.err
    ran = foldline("compact", file, "--to", 20_000, "-o", "-", "--json")
    assert json.loads(ran.err)["checkpoint"]["text"] in json.loads(ran.out)["messages"][0]["content"][0]["text"]


def test_in_place_replaces_the_file_and_keeps_its_mode(foldline, file):
    file.chmod(0o640)
    ran = foldline("compact", file, "--to", 20_000, "--in-place")
    assert ran.code == 0
    assert OPENING in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_an_existing_file_is_replaced_only_by_force(foldline, file, tmp_path):
    (tmp_path / "there").write_text("precious")
    assert foldline("compact", file, "--to", 20_000, "-o", tmp_path / "there").code == 2
    assert (tmp_path / "there").read_text() == "precious"
    assert foldline("compact", file, "--to", 20_000, "-o", tmp_path / "there", "--force").code == 0


def test_what_lies_behind_an_old_compaction_is_shown_but_not_written(foldline, tmp_path):
    path = EXAMPLES / "compacted-session.claude-code.jsonl"
    line = ("compact", path, "--history", "all", "--to", 8_000)
    assert foldline(*line).out.decode().startswith(OPENING)
    ran = foldline(*line, "-o", tmp_path / "out.jsonl")
    assert (ran.code, ran.out) == (2, b"")
    assert "compacted before" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_document_that_would_not_read_back_is_not_written():
    session = read(claude_code())
    view = session.with_messages([*session.messages[3:], *session.messages[:3]])  # rows keep the order of the file
    with pytest.raises(CannotWrite, match="nothing was written"):
        proved(view, Given("-"))
    assert proved(session, Given("-")) == claude_code()


# -- who writes the summary ------------------------------------------------------------------------------------------


def test_a_transcript_that_was_copied_onto_its_own_end_is_folded_as_the_one_it_is(foldline, tmp_path):
    (tmp_path / "once.jsonl").write_bytes(claude_code(steps=20))
    (tmp_path / "twice.jsonl").write_bytes(claude_code(steps=20) * 2)
    for name in ("once", "twice"):
        ran = foldline("compact", tmp_path / f"{name}.jsonl", "--to", 3_000, "-o", tmp_path / f"{name}.out")
        assert ran.code == 0, ran.err
    assert (tmp_path / "twice.out").read_bytes() == (tmp_path / "once.out").read_bytes()


def test_a_model_writes_the_summary(foldline, file, model):  # noqa: F811
    told = json.loads(foldline("compact", file, "--to", 20_000, *asks(model), "--focus", "the bug", "--json").out)
    assert told["checkpoint"]["author"] == NAME
    assert "The goal, as told." in told["checkpoint"]["text"]
    asked = "".join(heard.body.decode() for heard in model.heard)
    assert "the bug" in asked
    assert "some line of a file" in asked


@pytest.mark.parametrize(("option", "shown"), [([], False), (["--no-mask-secrets"], True)])
@pytest.mark.parametrize("command", ["compact", "handoff"])
def test_a_model_is_shown_masks_unless_told_otherwise(foldline, tmp_path, model, command, option, shown):  # noqa: F811
    key = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
    (tmp_path / "session.json").write_bytes(anthropic(steps=20).replace(b"some line of a file", key.encode()))
    assert foldline(command, tmp_path / "session.json", *asks(model), *option).code == 0
    asked = "".join(heard.body.decode() for heard in model.heard)
    assert (key in asked) is shown
    assert ("[masked github-token " in asked) is not shown


def test_a_key_from_the_environment_goes_to_no_other_address(foldline, file, model, monkeypatch):  # noqa: F811
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-secret-of-mine")
    ran = foldline("compact", file, "--to", 20_000, "--model", "openai:test", "--base-url", f"{model.url}/v1")
    assert ran.code == 0
    assert model.heard
    assert all("secret-of-mine" not in str(heard.headers) for heard in model.heard)
    assert b"secret-of-mine" not in ran.out + ran.err.encode()


def test_a_missing_key_is_one_line_that_says_what_to_set(foldline, file, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ran = foldline("compact", file, "--model", "anthropic:claude-haiku-4-5")
    assert (ran.code, ran.out) == (4, b"")
    assert ran.err.count("\n") == 1
    assert "set ANTHROPIC_API_KEY" in ran.err
    assert "--model" in ran.err


def test_a_key_that_cannot_be_sent_is_not_shown(foldline, file, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-clé")
    ran = foldline("compact", file, "--model", "anthropic:claude-haiku-4-5")
    assert (ran.code, ran.out) == (4, b"")
    assert ran.err.count("\n") == 1
    assert "clé" not in ran.err


def test_when_no_model_can_be_had_it_is_extracted_and_that_is_said(foldline, file, model):  # noqa: F811
    model.says(REFUSES)
    ran = foldline("compact", file, "--to", 20_000, *asks(model))
    assert ran.code == 0
    assert f"note: {NAME} wrote no summary: AuthRejected" in ran.err
    assert "extracted without a model" in ran.err
    assert "nobody-should-see-this-key" not in ran.err + ran.out.decode()
    assert "by extraction, without a model" in ran.out.decode()


def test_a_summary_that_does_not_fit_is_said_to_be_left(foldline, file, model):  # noqa: F811
    told = json.loads(foldline("compact", file, "--to", 370, "--json", *asks(model)).out)
    assert told["receipt"]["author"] == "extraction, without a model"
    ran = foldline("compact", file, "--to", 370, *asks(model))
    assert f"note: what {NAME} wrote was not taken: a view with it has" in ran.err
    assert "wrote no summary" not in ran.err


def test_what_is_small_enough_for_to_is_left_alone_however_full_the_window_is(foldline):
    day = EXAMPLES / "coding-session.anthropic.json"
    said = json.loads(foldline("compact", day, "--to", 161_000, "--no-archive", "--json").out)
    assert said["tokens_before"] == said["tokens_after"] > 0.8 * said["receipt"]["room"]
    assert (said["receipt"]["action"], said["receipt"]["stubbed"], said["checkpoint"]) == ("rest", 0, None)


def test_a_dry_run_asks_nobody_and_writes_nothing(foldline, file, model):  # noqa: F811
    ran = foldline("compact", file, "--to", 20_000, *asks(model), "--dry-run", "-o", file.parent / "out.json")
    assert ran.code == 0
    assert "compact: asked for" in ran.out.decode()
    assert model.heard == []
    assert not (file.parent / "out.json").exists()


def test_an_interrupt_while_a_model_is_waited_for_leaves_nothing_behind(file, model):  # noqa: F811
    model.says(HANGS)
    out = file.parent / "out.json"
    line = [sys.executable, "-m", "foldline.cli.main", "compact", file, "--to", "20000", *asks(model), "-o", out]
    process = subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        end = time.monotonic() + 30
        while not model.heard and time.monotonic() < end:
            time.sleep(0.05)
        assert model.heard
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=15)
    finally:
        process.kill()
    assert process.returncode == 130
    assert told == (b"", b"foldline: interrupted\n")
    assert [path.name for path in file.parent.iterdir()] == ["session.json"]


def test_every_command_is_in_the_help(foldline):
    assert {"compact", "handoff"} <= set(COMMANDS)
    for name in ("compact", "handoff"):
        assert b"--focus" in foldline(name, "--help").out
